//! Files by which agents say, or betray, what they do: status files, events files, and Claude's session file.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use insta::assert_snapshot;
use rustix::process::Signal;

use crate::common::{AGTMUX, FakeAgent, PROMISED, TestEnvironment, kill, wait_for};

/// The status file that agents are told to use here.
fn status_file(environment: &TestEnvironment) -> PathBuf {
    environment.path("home/ws/.schmux/signal/s1")
}

/// An agent that was told to use a status file.
fn agent_with_status_file(environment: &TestEnvironment) -> FakeAgent {
    let file = status_file(environment);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    environment.agent_with("codex", &[("SCHMUX_STATUS_FILE", file.to_str().unwrap())])
}

/// A line of shell that writes Claude's session file as Claude would, for the shell's own process.
pub(crate) fn session(status: &str, waiting_for: &str, at: u32) -> String {
    format!(
        "mkdir -p $HOME/.claude/sessions; set -- $(cat /proc/$$/stat); \
         echo '{{\"pid\":'$$',\"procStart\":\"'${{22}}'\",\"sessionId\":\"aa04\",\"status\":\"{status}\",\
         \"waitingFor\":\"{waiting_for}\",\"statusUpdatedAt\":{at}}}' >$HOME/.claude/sessions/$$.json"
    )
}

#[test]
fn what_an_agent_writes_into_its_status_file_is_its_state() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = agent_with_status_file(&environment);
    let mut shown = String::new();
    for (line, state) in [
        ("working", "running"),
        ("needs_input Should I delete these 5 files?", "waiting_input"),
        ("working on it", "running"),
        ("needs_testing Try it", "waiting_input"),
        ("error Build failed - missing dependency", "error"),
        ("completed Implemented the login feature", "completed"),
        ("idle", "idle"),
    ] {
        agent.run(&format!("echo '{line}' > $SCHMUX_STATUS_FILE")).ok();
        let pane = environment.wait_for_pane_within(PROMISED, &agent.pane, line, |pane| pane["state"] == state);
        let text = |key: &str| pane[key].as_str().unwrap_or("-").to_owned();
        let message = pane["attention"]["message"].as_str().unwrap_or("-");
        shown.push_str(&format!("{line} => {} {} {} {message}\n", text("state"), text("reason_code"), text("source")));
    }
    assert_snapshot!(shown);
}

/// A state that nobody knows moves nothing, and is shown with the line to whoever asks why.
#[test]
fn an_invalid_state_is_ignored_and_shown() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = agent_with_status_file(&environment);
    agent.run("echo 'working' > $SCHMUX_STATUS_FILE").ok();
    environment.wait_for_pane(&agent.pane, "running", |pane| pane["state"] == "running");
    agent.run("echo 'finished: all 5 files' > $SCHMUX_STATUS_FILE").ok();
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    wait_for("the near miss to be explained", || {
        let explained = environment.agtmux(&["explain", &format!("runtime:{runtime}")]).ok().stdout;
        if explained.contains("finished: all 5 files") { Ok(()) } else { Err(explained) }
    });
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
    let log = fs::read_to_string(environment.state_dir().join("daemon.log")).unwrap();
    assert!(log.contains("finished: all 5 files"), "{log}");
}

/// The file is the state: a daemon that was away reads it and is right, and does not call anybody twice (F6).
#[test]
fn a_daemon_that_was_away_reads_the_file_and_is_right() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = agent_with_status_file(&environment);
    agent.run("echo 'needs_input Which one?' > $SCHMUX_STATUS_FILE").ok();
    let before = environment.wait_for_pane(&agent.pane, "the question", |pane| pane["state"] == "waiting_input");
    environment.kill_daemon();
    environment.start_daemon();
    // What is written next has to be read after what was there: then the question was read again.
    let after = environment.wait_for_pane(&agent.pane, "the same question", |pane| pane["state"] == "waiting_input");
    assert_eq!(after["attention"]["nudge_seq"], before["attention"]["nudge_seq"]);
    environment.kill_daemon();
    agent.run("echo 'completed The second one' > $SCHMUX_STATUS_FILE").ok();
    environment.start_daemon();
    let done =
        environment.wait_for_pane(&agent.pane, "what was written meanwhile", |pane| pane["state"] == "completed");
    assert_eq!(done["attention"]["message"], "The second one");
    assert_eq!(done["runtime_id"], before["runtime_id"]);
}

/// An agent may write as often as it likes: the last state is right, and the log is not drowned.
#[test]
fn ten_thousand_writes_end_in_the_right_state() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = agent_with_status_file(&environment);
    let seq = || environment.get("/v1/daemon")["seq"].as_u64();
    let before = seq();
    for n in 0..10_000 {
        let state = if n % 2 == 0 { "working" } else { "needs_input" };
        fs::write(status_file(&environment), format!("{state} {n}")).unwrap();
    }
    fs::write(status_file(&environment), "completed all").unwrap();
    let pane = environment.wait_for_pane(&agent.pane, "the last state", |pane| pane["state"] == "completed");
    assert_eq!(pane["attention"]["message"], "all");
    if let (Some(before), Some(after)) = (before, seq()) {
        assert!(after - before < 5_000, "{} events", after - before);
    }
}

/// Whatever is put in the file's place, the daemon goes on, and what it pointed to is not believed.
#[test]
fn pipes_links_and_directories_are_not_status_files() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = agent_with_status_file(&environment);
    let other = environment.agent("claude");
    agent.run("echo working >$SCHMUX_STATUS_FILE").ok();
    environment.wait_for_pane(&agent.pane, "running", |pane| pane["state"] == "running");
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    for (trick, why) in [
        ("mkfifo $SCHMUX_STATUS_FILE", "no regular file"),
        ("echo 'error of another' >$HOME/lure; ln -s $HOME/lure $SCHMUX_STATUS_FILE", "a link is on the way"),
        ("mkdir $SCHMUX_STATUS_FILE", "no regular file"),
        ("ln -s /dev/zero $SCHMUX_STATUS_FILE", "a link is on the way"),
        (
            "(echo error; head -c 100000 /dev/zero) >$HOME/big; mv $HOME/big $SCHMUX_STATUS_FILE",
            "4096 are read at most",
        ),
    ] {
        agent.run(&format!("rm -rf $SCHMUX_STATUS_FILE; {trick}")).ok();
        wait_for(trick, || {
            let explained = environment.agtmux(&["explain", &format!("runtime:{runtime}")]).ok().stdout;
            if explained.contains(why) { Ok(()) } else { Err(explained) }
        });
        assert_ne!(environment.pane(&agent.pane).unwrap()["state"], "error", "{trick}");
    }
    other.signal("waiting_input 'still there?'").ok();
    assert_eq!(environment.pane(&other.pane).unwrap()["state"], "waiting_input");
    agent.run("rm -rf $SCHMUX_STATUS_FILE; echo 'completed after all' >$SCHMUX_STATUS_FILE").ok();
    environment.wait_for_pane(&agent.pane, "a real file", |pane| pane["state"] == "completed");
}

#[test]
fn events_are_read_line_by_line() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let file = environment.path("home/ws/.schmux/events/s1.jsonl");
    let agent = environment.agent_with("gemini", &[("SCHMUX_EVENTS_FILE", file.to_str().unwrap())]);
    let say = |line: &str| {
        agent.run(&format!("mkdir -p ${{SCHMUX_EVENTS_FILE%/*}}; printf '%b' '{line}' >>$SCHMUX_EVENTS_FILE")).ok()
    };
    say("{\"type\":\"status\",\"state\":\"working\"}\\n{\"type\":\"status\",\"state\":\"needs_");
    environment.wait_for_pane(&agent.pane, "running", |pane| pane["state"] == "running");
    say("input\",\"message\":\"Which port?\"}\\n");
    let pane = environment.wait_for_pane(&agent.pane, "the question", |pane| pane["state"] == "waiting_input");
    assert_eq!((&pane["attention"]["message"], &pane["source"]), (&"Which port?".into(), &"events_file".into()));
    environment.kill_daemon();
    say(
        "{\"type\":\"status\",\"state\":\"working\"}\\n{\"type\":\"status\",\"state\":\"completed\",\"message\":\"8080\"}\\n",
    );
    environment.start_daemon();
    let pane = environment.wait_for_pane(&agent.pane, "the end", |pane| pane["state"] == "completed");
    assert_eq!(pane["attention"]["message"], "8080");
}

/// Escape and approval fire no hook in Claude, but it rewrites its session file.
#[test]
fn claudes_session_file_says_what_its_hooks_do_not() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let mut shown = String::new();
    for (status, waiting_for, state) in [
        ("idle", "", "idle"),
        ("busy", "", "running"),
        ("waiting", "permission prompt", "waiting_approval"),
        ("busy", "", "running"),
        ("waiting", "input needed", "waiting_input"),
        ("idle", "", "idle"),
    ] {
        agent.run(&session(status, waiting_for, 1 + u32::try_from(shown.len()).unwrap())).ok();
        let what = format!("{status} {waiting_for}");
        let pane = environment.wait_for_pane_within(PROMISED, &agent.pane, &what, |pane| pane["state"] == state);
        shown.push_str(&format!("{what}: {} {} {}\n", pane["state"], pane["reason_code"], pane["source"]));
    }
    assert_snapshot!(shown);
    // What a process left that had the same pid before says nothing.
    agent.run(&session("busy", "", 5_000).replace("${22}", "1")).ok();
    agent.run("echo later >$HOME/.claude/sessions/later").ok();
    agent.signal("waiting_input 'now'").ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "waiting_input");
}

/// F-numbers aside, a file that two agents inherited is nobody's: what one says must not be believed of the other (I2).
#[test]
fn a_file_that_two_agents_inherited_speaks_for_neither() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let first = agent_with_status_file(&environment);
    first.run("echo 'error mine' >$SCHMUX_STATUS_FILE").ok();
    environment.wait_for_pane(&first.pane, "the error", |pane| pane["state"] == "error");
    let second = agent_with_status_file(&environment);
    environment.wait_for_pane(&first.pane, "it to be taken back", |pane| pane["state"] == "unknown");
    second.run("echo 'completed whose?' >$SCHMUX_STATUS_FILE").ok();
    kill(first.pid(), Signal::KILL);
    environment.wait_for_pane(&second.pane, "the second one alone", |_| environment.pane(&first.pane).is_none());
    second.run("echo 'needs_input mine' >$SCHMUX_STATUS_FILE").ok();
    environment.wait_for_pane(&second.pane, "the second one's own", |pane| pane["state"] == "waiting_input");
}

/// A user may have no instance of inotify left. Then files are looked at every second, and the daemon says so.
#[test]
fn without_an_instance_of_inotify_files_are_looked_at() {
    let environment = TestEnvironment::new();
    // A namespace of its own has limits of its own, so that nobody else is kept from watching. The agents have to be in
    // it too: across namespaces their environment cannot be read.
    let namespace = "unshare --user --map-current-user --keep-caps";
    if !environment.shell(&format!("exec {namespace} true")).status().unwrap().success() {
        println!("SKIPPED: there are no user namespaces here");
        return;
    }
    let tmux = format!("tmux -S {} -f /dev/null new-session -d -s main sleep 100000", environment.path("t").display());
    let limit = "echo 0 >/proc/sys/user/max_inotify_instances";
    let line = format!("exec {namespace} sh -c \"{tmux} && {limit} && exec {AGTMUX} daemon run\"");
    let mut command = environment.shell(&line);
    command.env("AGTMUX_TMUX_SOCKET", environment.path("t"));
    let _daemon = crate::common::Background::start(&mut command);
    wait_for("the daemon to answer", || {
        let status = environment.agtmux(&["daemon", "status", "--json"]);
        if status.code == 0 { Ok(()) } else { Err(status.stderr) }
    });
    let agent = agent_with_status_file(&environment);
    agent.run("echo 'completed all the same' >$SCHMUX_STATUS_FILE").ok();
    environment
        .wait_for_pane_within(Duration::from_secs(6), &agent.pane, "the state", |pane| pane["state"] == "completed");
    let doctor = environment.agtmux(&["doctor"]).ok().stdout;
    assert!(doctor.contains("max_user_instances"), "{doctor}");
}

/// Claude removes its session file when it ends in order. One that still stands tells a crash from an exit.
#[test]
fn an_end_without_farewell_is_a_crash() {
    for (removes_it, wanted) in [(true, "ended: exited"), (false, "ended: crashed")] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let agent = environment.agent("claude");
        agent.run(&session("idle", "", 1)).ok();
        let pane = environment.wait_for_pane(&agent.pane, "idle", |pane| pane["state"] == "idle");
        if removes_it {
            agent.run("rm $HOME/.claude/sessions/$$.json").ok();
        }
        kill(agent.pid(), Signal::KILL);
        let runtime = pane["runtime_id"].as_str().unwrap();
        wait_for(wanted, || {
            let events = environment.agtmux(&["events", "--limit", "1000"]).ok().stdout;
            let ended = events.lines().find(|line| line.contains("ended:")).unwrap_or_default().to_owned();
            if ended.contains(wanted) { Ok(()) } else { Err(format!("{runtime}: {ended:?} in\n{events}")) }
        });
    }
}
