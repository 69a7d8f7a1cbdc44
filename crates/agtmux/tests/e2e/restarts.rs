//! What follows a daemon goes on when that is stopped and another one is started, or when it dies.

use std::fs;

use serde_json::Value;

use crate::common::{TestEnvironment, wait_for};

#[derive(Clone, Copy, Debug)]
enum End {
    Stopped,
    Killed,
}

/// Ends the daemon. One that is stopped is started again by somebody; one that dies is not.
fn restart(environment: &TestEnvironment, how: End) {
    match how {
        End::Stopped => {
            environment.agtmux(&["daemon", "stop"]).ok();
            environment.start_daemon();
        }
        End::Killed => environment.kill_daemon(),
    }
}

/// F58: a watcher misses nothing that happened while there was no daemon, and repeats nothing.
#[test]
fn a_watcher_goes_on() {
    for how in [End::Stopped, End::Killed] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let agent = environment.agent("claude");
        agent.signal("running 'before'").ok();
        let watcher = environment.agtmux_in_background(&["watch", "--format", "jsonl"]);
        let table = environment.agtmux_in_background(&["watch"]);
        let sessions = environment.agtmux_in_background(&["watch", "--format", "jsonl", "--scope", "sessions"]);
        let (mut text, mut shown, mut summed) = (String::new(), String::new(), String::new());
        let mut wait_for_text = |wanted: &str| {
            wait_for(&format!("{wanted:?} after {how:?}"), || {
                text.push_str(&watcher.new_output());
                shown.push_str(&table.new_output());
                summed.push_str(&sessions.new_output());
                let seen = [&text, &shown, &summed].map(|text| text.contains(wanted));
                if seen == [true; 3] { Ok(()) } else { Err(format!("{seen:?}\n{text}\n{shown}\n{summed}")) }
            });
        };
        wait_for_text("running");
        restart(&environment, how);
        agent.signal("waiting_input 'after?'").ok();
        wait_for_text("waiting_input");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let lines: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seqs: Vec<_> = lines.iter().map(|line| line["seq"].as_u64().unwrap()).collect();
        assert!(seqs.is_sorted(), "{seqs:?}");
        let present = lines.iter().filter(|line| line["change"] == "present").count();
        assert_eq!(present, 1, "the beginning is told once: {text}");
    }
}

#[test]
fn a_wait_goes_on() {
    for how in [End::Stopped, End::Killed] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let agent = environment.agent("claude");
        agent.signal("running").ok();
        let waiting = environment.agtmux_in_background(&["wait", &agent.pane, "--until", "completed", "--json"]);
        // It follows before it looks, so that it has been seen to look means that it follows.
        let watcher = environment.agtmux_in_background(&["watch", "--format", "jsonl"]);
        let mut text = String::new();
        wait_for("the watcher to follow", || {
            text.push_str(&watcher.new_output());
            if text.contains("present") { Ok(()) } else { Err(text.clone()) }
        });
        restart(&environment, how);
        agent.signal("completed 'found it'").ok();
        let run = waiting.finish();
        assert_eq!(run.code, 0, "{how:?}: {run:#?}");
        assert_eq!(run.json()["state"], "completed");
    }
}

#[test]
fn following_output_goes_on() {
    for how in [End::Stopped, End::Killed] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let agent = environment.agent("claude");
        agent.run("echo before >/dev/tty").ok();
        let log = environment.path("followed");
        let mut command = environment.command(&["view-output", &agent.pane, "--follow", "-n", "1"]);
        let mut follower = command.stdout(fs::File::create(&log).unwrap()).spawn().unwrap();
        let shows = |text: &str| {
            wait_for(text, || {
                let shown = fs::read_to_string(&log).unwrap();
                if shown == text { Ok(()) } else { Err(shown) }
            });
        };
        shows("before\n");
        restart(&environment, how);
        agent.run("echo after >/dev/tty").ok();
        shows("before\nafter\n");
        agent.tell("exit 0");
        let status = wait_for("the end", || follower.try_wait().unwrap().ok_or("not yet"));
        assert!(status.success(), "{how:?}: {status}");
    }
}

/// A daemon that was stopped is not started again by those who only look.
#[test]
fn a_stopped_daemon_stays_stopped() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let commands = [vec!["watch", "--format", "jsonl"], vec!["wait", &agent.pane, "--until", "error"], vec!["watch"]];
    let followers = commands.map(|arguments| environment.agtmux_in_background(&arguments));
    let mut text = String::new();
    wait_for("a watcher to follow", || {
        text.push_str(&followers[2].new_output());
        if text.contains("claude") { Ok(()) } else { Err(text.clone()) }
    });
    environment.agtmux(&["daemon", "stop"]).ok();
    for follower in followers {
        let ended = follower.finish();
        assert_eq!(ended.code, 3, "{ended:#?}");
        assert!(ended.stderr.contains("was stopped, and none has come back"), "{ended:#?}");
    }
    assert_eq!(environment.agtmux(&["daemon", "status"]).code, 3);
}
