//! The daemon's life: it starts once, says how it is, leaves nothing behind, and knows afterwards what it knew.

use std::fs;
use std::os::unix::net::UnixListener;
use std::thread;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use serde_json::Value;

use crate::common::{PROMISED, TestEnvironment, difference, is_alive, kill, raw_request, wait_for, wait_within};

/// I13: however many start it at once, one daemon runs and everybody is served by it.
#[test]
fn eight_starters_get_one_daemon() {
    let environment = TestEnvironment::with_tmux();
    environment.unseen_agent("claude");
    let runs: Vec<_> = (0..8)
        .map(|_| environment.agtmux_in_background(&["daemon", "status", "--json"]))
        .map(|run| run.finish())
        .collect();
    assert!(runs.iter().all(|run| run.code == 3), "`status` starts nothing: {runs:#?}");
    let starters: Vec<_> = (0..8).map(|_| environment.agtmux_in_background(&["list", "panes", "--json"])).collect();
    for starter in starters {
        let list = starter.finish().ok().json();
        assert_eq!(list["summary"]["total"], 1, "{list:#}");
    }
    let status = environment.agtmux(&["daemon", "status", "--json"]).ok().json();
    assert_eq!(status["epoch"], 1, "one start on this state directory: {status:#}");
    let second = environment.agtmux(&["daemon", "run"]);
    assert_eq!(second.code, 1, "{second:#?}");
    assert!(second.stderr.contains("E_STORE_OWNED"), "{second:#?}");
}

/// A daemon that died before it had read what it was asked has not acted: the next one is asked instead, also to act.
#[test]
fn a_request_that_a_dying_daemon_did_not_read_is_asked_again() {
    let environment = TestEnvironment::with_tmux();
    let agent = environment.unseen_agent("claude");
    let socket = environment.socket();
    fs::create_dir_all(socket.parent().unwrap()).unwrap();
    let dying = UnixListener::bind(&socket).unwrap();
    let run = environment.agtmux_in_background(&["adopt", &agent.pane, "--name", "api", "--json"]);
    let mut connected = [PollFd::new(&dying, PollFlags::IN)];
    assert_eq!(poll(&mut connected, None), Ok(1));
    fs::remove_file(&socket).unwrap();
    drop(dying);
    assert_eq!(run.finish().ok().json()["name"], "api");
}

#[test]
fn status_says_how_it_is() {
    let environment = TestEnvironment::with_tmux();
    let none = environment.agtmux(&["daemon", "status", "--json"]);
    assert_eq!((none.code, &none.error()["code"]), (3, &"E_DAEMON_UNREACHABLE".into()));
    assert_eq!(environment.agtmux(&["daemon", "stop"]).ok().stdout, "no daemon runs\n");

    environment.start_daemon();
    let agent = environment.agent("claude");
    let tmux = environment.tmux();
    let status = wait_for("the stream of the agent's pane", || {
        let status = environment.agtmux(&["daemon", "status", "--json"]).ok().json();
        if status["tmux_servers"][0]["streams"] == 1 { Ok(status) } else { Err(format!("{status:#}")) }
    });
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["socket"], environment.socket().display().to_string());
    assert_eq!(status["state_dir"], environment.state_dir().display().to_string());
    assert_eq!(status["problems"], Value::Array(Vec::new()));
    assert!(status["uptime_s"].is_u64() && status["seq"].as_u64().unwrap() > 0);
    let server = &status["tmux_servers"][0];
    assert_eq!((&server["status"], &server["pid"]), (&"connected".into(), &tmux.pid().into()));
    assert_eq!((&server["panes"], &server["agents"], &server["reconnects"]), (&2.into(), &1.into(), &0.into()));
    assert!(server["started_at"].is_string() && server["version"].is_string(), "{server:#}");

    agent.run("seq 1 2000 >/dev/tty").ok();
    wait_for("bytes to be read from the stream", || {
        let status = environment.agtmux(&["daemon", "status", "--json"]).ok().json();
        let bytes = status["tmux_servers"][0]["stream_bytes"].as_u64();
        if bytes > Some(5_000) { Ok(()) } else { Err(format!("{bytes:?}")) }
    });
    let health = environment.get("/v1/health");
    assert_eq!(health["status"], "ok");
    let text = environment.agtmux(&["daemon", "status"]).ok().stdout;
    assert!(text.contains("2 panes, 1 agents, 1 streams") || text.contains("2 panes, 1 agent, 1 stream"), "{text}");
}

/// F94 and kin: after `daemon stop` nothing of ours is in tmux, in the file system or among the processes.
#[test]
fn stop_leaves_nothing_behind() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let agent = environment.unseen_agent("claude");
    tmux.run(&["set-hook", "-g", "pane-exited", "set-option -g @users 1"]);
    let before = tmux.traces();
    environment.start_daemon();
    agent.signal("running").ok();
    wait_for("the daemon to hold a pipe", || {
        let pipe = tmux.format(&agent.pane, "#{pane_pipe}");
        if pipe == "1" { Ok(()) } else { Err(pipe) }
    });
    assert_ne!(tmux.traces(), before, "the daemon is in tmux somehow");
    let pid = environment.daemon_pid();
    assert_eq!(environment.agtmux(&["daemon", "stop"]).ok().stdout, "stopped\n");
    assert!(!is_alive(pid), "`stop` waits for the end");
    assert_eq!(tmux.traces(), before);
    let left: Vec<_> =
        fs::read_dir(environment.path("run/agtmux")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(is_alive(agent.pid()));
    environment.assert_daemon_left_no_process();
}

/// I19: killed outright, the daemon leaves nothing in tmux either, and the agents do not notice.
#[test]
fn a_killed_daemon_leaves_nothing_in_tmux() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let agent = environment.unseen_agent("claude");
    let before = tmux.traces();
    environment.start_daemon();
    wait_for("the daemon to hold a pipe", || {
        let pipe = tmux.format(&agent.pane, "#{pane_pipe}");
        if pipe == "1" { Ok(()) } else { Err(pipe) }
    });
    environment.kill_daemon();
    // The pipe's slot is free as soon as tmux notices that nobody reads, which is at the pane's next output.
    agent.run("echo output >/dev/tty").ok();
    wait_within(PROMISED, "tmux to be as before", || {
        let now = tmux.traces();
        if now == before { Ok(()) } else { Err(difference(&before, &now)) }
    });
    assert!(is_alive(agent.pid()));
    environment.assert_daemon_left_no_process();
    // The socket that it left is no obstacle.
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["total"], 1);
}

#[test]
fn sigterm_stops_it_in_order() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let before = tmux.traces();
    for signal in [Signal::TERM, Signal::INT] {
        environment.start_daemon();
        let pid = environment.daemon_pid();
        kill(pid, signal);
        wait_for("the daemon to end", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
        assert_eq!(tmux.traces(), before, "{signal:?}");
        assert!(!environment.socket().exists());
    }
    // In the foreground it says what it does on standard error, and ends by itself on a signal, with success.
    let foreground = environment.agtmux_in_background(&["daemon", "run"]);
    wait_for("the foreground daemon", || environment.request("GET", "/v1/health", b"").map(|_| ()));
    kill(foreground.pid(), Signal::TERM);
    let run = foreground.finish();
    assert_eq!((run.code, run.stdout.as_str()), (0, ""), "{run:#?}");
    assert!(run.stderr.contains("ready"), "{run:#?}");
}

/// I19: what was known before a restart is known after it, with the same runtime, however the daemon ended.
#[test]
fn a_restart_restores_state_and_runtimes() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let claude = environment.agent("claude");
    let codex = environment.agent("codex");
    claude.signal("waiting_approval 'delete it?'").ok();
    codex.signal("completed 'done'").ok();
    let shown = |id: &str| {
        let pane = environment.pane(id).unwrap();
        ["runtime_id", "pane_epoch", "state", "reason_code", "since", "state_version", "attention", "source"]
            .map(|key| pane[key].clone())
    };
    let before = [shown(&claude.pane), shown(&codex.pane)];
    for how in ["stop", "kill"] {
        if how == "stop" {
            environment.agtmux(&["daemon", "stop"]).ok();
        } else {
            environment.kill_daemon();
        }
        let status = environment.start_daemon();
        assert_eq!([shown(&claude.pane), shown(&codex.pane)], before, "after {how}: {status:#}");
    }
    // What happened while nobody looked is seen at the start.
    environment.agtmux(&["daemon", "stop"]).ok();
    codex.tell("exit");
    wait_for("codex to end", || {
        let panes = environment.tmux().run(&["list-panes", "-a", "-F", "#{pane_id}"]);
        if panes.lines().any(|pane| pane == codex.pane) { Err(panes) } else { Ok(()) }
    });
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["total"], 1, "{list:#}");
    assert_eq!(shown(&claude.pane), before[0]);
}

/// A user's last session still ends the server: ours does not keep it alive (tmux would have exited).
#[test]
fn the_server_still_ends_with_the_last_session() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    environment.start_daemon();
    let pid = tmux.pid();
    tmux.run(&["kill-session", "-t", "=main"]);
    wait_within(PROMISED, "the server to exit", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
    wait_within(PROMISED, "its panes to be gone", || {
        let list = environment.agtmux(&["list", "panes", "--json", "--all"]).ok().json();
        if list["items"] == Value::Array(Vec::new()) { Ok(()) } else { Err(format!("{list:#}")) }
    });
}

/// A control client whose daemon was killed must not keep the server from ending: tmux waits for its clients.
#[test]
fn a_killed_daemon_does_not_keep_the_server_alive() {
    let environment = TestEnvironment::new();
    let tmux = environment.tmux();
    for round in 0..8 {
        tmux.start("main");
        environment.start_daemon();
        environment.agent("claude").signal("running").ok();
        let (daemon, server) = (environment.daemon_pid(), tmux.pid());
        kill(daemon, Signal::KILL);
        tmux.run(&["kill-server"]);
        wait_within(PROMISED, &format!("the server to exit in round {round}"), || {
            if is_alive(server) { Err("it runs") } else { Ok(()) }
        });
        wait_for("the daemon to be gone", || if is_alive(daemon) { Err("it runs") } else { Ok(()) });
    }
    environment.assert_daemon_left_no_process();
}

/// F8: under a flood of output the daemon is killed; the pane goes on as if nothing had happened.
#[test]
fn a_killed_daemon_freezes_no_pane() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let counter = agent.dir.join("counter");
    agent.tell(&format!(
        "i=0; while :; do i=$((i+1)); echo \"$i 0123456789 0123456789 0123456789 0123456789\"; [ $((i%1000)) -gt 0 ] || echo $i >{}; done",
        counter.display()
    ));
    let count = || fs::read_to_string(&counter).ok().and_then(|text| text.trim().parse::<u64>().ok()).unwrap_or(0);
    let wait_for_more = |than: u64| {
        wait_for("the pane's counter to grow", || {
            let now = count();
            if now > than + 20_000 { Ok(now) } else { Err(format!("{now} after {than}")) }
        })
    };
    wait_for("the flood to reach the daemon", || {
        let status = environment.get("/v1/daemon");
        let bytes = status["tmux_servers"][0]["stream_bytes"].as_u64().unwrap_or(0);
        if bytes > 1_000_000 { Ok(()) } else { Err(format!("{status:#}")) }
    });
    let before = wait_for_more(0);
    environment.kill_daemon();
    let after = wait_for_more(before);
    // A new daemon takes over under the same flood, is stopped at once by SIGSTOP, and killed in that state.
    environment.start_daemon();
    let pid = environment.daemon_pid();
    kill(pid, Signal::STOP);
    let stopped = wait_for_more(after);
    kill(pid, Signal::KILL);
    wait_for_more(stopped);
    wait_for("tmux to be rid of us", || {
        let sessions = environment.tmux().run(&["list-sessions", "-F", "#{session_name}"]);
        if sessions == "main" { Ok(()) } else { Err(sessions) }
    });
}

/// Answers in time, whatever number of clients ask.
#[test]
fn many_clients_at_once_are_served() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agent("claude");
    let socket = environment.socket();
    let request = b"GET /v1/panes HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let answer = raw_request(&socket, request).unwrap();
                    assert!(String::from_utf8_lossy(&answer).contains("\"claude\""));
                }
            });
        }
    });
}
