//! What connects the daemon to a tmux server must never be what ends that server, or stays in it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::common::{PROMISED, TestEnvironment, Tmux, difference, is_alive, wait_for, wait_within};

/// A session that is made, filled and ended within one command: with a control client connected, that crashes servers
/// up to tmux 3.6, at least.
fn make_and_end_a_session(tmux: &Tmux, name: &str) {
    let window = format!("={name}:");
    let line = [
        vec!["new-session", "-d", "-s", name, "exec sleep 100000", ";"],
        vec!["new-window", "-t", &window, "exec sleep 100000", ";"],
        vec!["kill-session", "-t", name],
    ]
    .concat();
    tmux.run(&line);
}

#[test]
fn a_session_that_comes_and_goes_at_once_does_not_crash_the_server() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let pid = tmux.pid();
    environment.start_daemon();
    let agent = environment.agent("claude");
    for round in 0..10 {
        make_and_end_a_session(&tmux, &format!("z{round}"));
    }
    assert!(is_alive(pid) && is_alive(agent.pid()));
    assert_eq!(tmux.pid(), pid);
    agent.signal("running").ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
    wait_for("the list to be of what is there", || {
        let list = environment.get("/v1/panes?all=true");
        if list["items"].as_array().unwrap().len() == 2 { Ok(()) } else { Err(format!("{list:#}")) }
    });
}

/// I19: daemons come and are killed while sessions come and go. The server lives, and nothing piles up in it.
#[test]
fn killed_daemons_among_coming_and_going_sessions_leave_nothing() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let agent = environment.unseen_agent("claude");
    let (server, agent_pid) = (tmux.pid(), agent.pid());
    let before = tmux.traces();
    let ended = AtomicBool::new(false);
    let sessions = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::SeqCst) {
                let number = sessions.fetch_add(1, Ordering::SeqCst);
                make_and_end_a_session(&tmux, &format!("s{number}"));
            }
        });
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..30 {
                environment.start_daemon();
                environment.kill_daemon();
            }
        }));
        ended.store(true, Ordering::SeqCst);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    assert!(sessions.load(Ordering::SeqCst) >= 30);
    assert!(is_alive(server) && is_alive(agent_pid));
    // A pipe is let go of at the pane's next output.
    agent.run("echo output >/dev/tty").ok();
    wait_within(PROMISED, "tmux to be as before", || {
        let now = tmux.traces();
        if now == before { Ok(()) } else { Err(difference(&before, &now)) }
    });
    environment.assert_daemon_left_no_process();
}

/// Who chooses control clients gets the same, and the hidden session is nobody's business.
#[test]
fn control_clients_do_the_same_when_chosen() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[tmux]\nlink = \"control\"\n");
    let tmux = environment.tmux();
    let agent = environment.unseen_agent("claude");
    let before = tmux.traces();
    for end in ["stop", "kill -9"] {
        let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
        assert_eq!(list["summary"]["total"], 1, "{list:#}");
        wait_for("the hidden session", || {
            let sessions = tmux.run(&["list-sessions", "-F", "#{session_name} #{session_attached}"]);
            if sessions.contains("_agtmux 2") { Ok(()) } else { Err(sessions) }
        });
        for what in ["panes", "windows", "sessions"] {
            let shown = environment.agtmux(&["list", what, "--all", "--json"]).ok().stdout;
            assert!(!shown.contains("_agtmux"), "{shown}");
        }
        agent.run(&format!("printf '\\033]2;before {end}\\007' >/dev/tty")).ok();
        environment.wait_for_pane(&agent.pane, "the title", |pane| pane["title"] == format!("before {end}"));
        if end == "stop" {
            environment.agtmux(&["daemon", "stop"]).ok();
        } else {
            environment.kill_daemon();
            agent.run("echo output >/dev/tty").ok();
        }
        wait_within(PROMISED, &format!("tmux to be as before after {end}"), || {
            let now = tmux.traces();
            if now == before { Ok(()) } else { Err(difference(&before, &now)) }
        });
        environment.assert_daemon_left_no_process();
    }
}
