//! tmux servers that are not there, come, die, come back under the same ids, hang, or are several.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{PROMISED, TestEnvironment, is_alive, kill, wait_for, wait_within};

/// The number of agents that a list shows.
fn total(environment: &TestEnvironment) -> u64 {
    environment.get("/v1/panes")["summary"]["total"].as_u64().unwrap()
}

#[test]
fn a_server_that_is_not_there_yet_is_an_ordinary_state() {
    let environment = TestEnvironment::new();
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!((&list["items"], &list["errors"]), (&Value::Array(Vec::new()), &Value::Array(Vec::new())));
    let status = environment.agtmux(&["daemon", "status", "--json"]).ok().json();
    assert_eq!(status["tmux_servers"][0]["status"], "not_running", "{status:#}");
    assert_eq!(status["problems"], Value::Array(Vec::new()));
    // Watching for a server starts none.
    assert!(!environment.tmux().is_running());
    environment.tmux().start("main");
    environment.agent("claude");
}

/// I20: with the server all its runtimes end, and the next `%0` is somebody else.
#[test]
fn a_restarted_server_inherits_nothing() {
    let environment = TestEnvironment::new();
    let tmux = environment.tmux();
    let program = environment.program("claude", crate::common::SCRIPT).display().to_string();
    let start = || {
        let variable = format!("AGENT_DIR={}", environment.agent_dir().display());
        tmux.run(&["new-session", "-d", "-s", "main", "-e", &variable, &format!("exec {program}")]);
        assert_eq!(tmux.run(&["list-panes", "-t", "=main:", "-F", "#{pane_id}"]), "%0");
        environment.start_daemon();
        environment.wait_for_pane("%0", "claude in %0", |pane| pane["agent"] == "claude")
    };
    let first = start();
    let agent = crate::common::FakeAgent::new("%0".to_owned(), environment.path("agents/0"));
    agent.signal("waiting_approval 'drop the table?'").ok();
    for gone in ["kill-server", "kill -9"] {
        let pid = tmux.pid();
        if gone == "kill-server" {
            tmux.run(&["kill-server"]);
        } else {
            kill(pid, Signal::KILL);
        }
        wait_within(PROMISED, "the runtimes to be gone", || match total(&environment) {
            0 => Ok(()),
            left => Err(left),
        });
        wait_for("the server to be gone", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
        let next = start();
        assert_ne!(next["runtime_id"], first["runtime_id"], "after {gone}");
        assert_eq!((&next["state"], &next["reason_code"]), (&"unknown".into(), &"no_signal".into()), "after {gone}");
        assert_eq!(next["attention"]["nudge_seq"], 0, "after {gone}");
    }
}

/// The same, when nobody watched while it happened: the log must not give the old state to the new `%0`.
#[test]
fn a_server_restarted_behind_our_back_inherits_nothing() {
    let environment = TestEnvironment::new();
    let tmux = environment.tmux();
    let program = environment.program("claude", crate::common::SCRIPT).display().to_string();
    let start = || {
        let variable = format!("AGENT_DIR={}", environment.agent_dir().display());
        tmux.run(&["new-session", "-d", "-s", "main", "-e", &variable, &format!("exec {program}")]);
    };
    start();
    environment.start_daemon();
    let first = environment.wait_for_pane("%0", "claude in %0", |pane| pane["agent"] == "claude");
    crate::common::FakeAgent::new("%0".to_owned(), environment.path("agents/0")).signal("error 'boom'").ok();
    environment.kill_daemon();
    let pid = tmux.pid();
    tmux.run(&["kill-server"]);
    wait_for("the server to be gone", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
    start();
    environment.start_daemon();
    let next = environment.wait_for_pane("%0", "claude in the new %0", |pane| pane["agent"] == "claude");
    assert_ne!(next["runtime_id"], first["runtime_id"]);
    assert_eq!(next["state"], "unknown");
    assert_eq!(total(&environment), 1);
}

/// Several servers at once: those of the configuration, and those that a command is run in or pointed at.
#[test]
fn several_servers_are_one_list() {
    let environment = TestEnvironment::with_tmux();
    let second = environment.tmux_at("t2");
    let third = environment.tmux_at("t3");
    second.start("main");
    third.start("other");
    environment.configure(&format!("[tmux]\nsockets = [\"{}\"]\n", second.path().display()));
    let first_agent = environment.unseen_agent("claude");
    let second_agent = environment.agent_in(&second, "main", "codex");
    let third_agent = environment.agent_in(&third, "other", "gemini");
    assert_eq!((&first_agent.pane, &second_agent.pane), (&third_agent.pane, &third_agent.pane), "the same id thrice");
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["by_agent"], serde_json::json!({ "claude": 1, "codex": 1 }), "{list:#}");
    // A command that runs in another server makes it known.
    third_agent.signal("waiting_input 'hello'").ok();
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["total"], 3, "{list:#}");
    assert_eq!(list["summary"]["by_state"]["waiting_input"], 1, "{list:#}");
    // An id that three panes have is no reference, and the refusal says what is one.
    let ambiguous = environment.agtmux(&["explain", &first_agent.pane, "--json"]);
    assert_eq!((ambiguous.code, &ambiguous.error()["code"]), (4, &"E_REF_AMBIGUOUS".into()), "{ambiguous:#?}");
    // One of them dies; the others stay.
    second.run(&["kill-server"]);
    wait_within(PROMISED, "codex to be gone", || match total(&environment) {
        2 => Ok(()),
        other => Err(other),
    });
}

/// A server that hangs makes nobody wait, hides nobody, and is watched again when it goes on.
#[test]
fn a_hanging_server_delays_nobody() {
    let environment = TestEnvironment::with_tmux();
    let other = environment.tmux_at("t2");
    other.start("main");
    environment.start_daemon();
    let agent = environment.agent("claude");
    let hung = environment.tmux().pid();
    kill(hung, Signal::STOP);
    let started = Instant::now();
    let codex = environment.agent_in(&other, "main", "codex");
    for _ in 0..5 {
        environment.agtmux(&["list", "panes", "--json"]).ok();
    }
    assert!(started.elapsed() < Duration::from_secs(4), "five lists took {:?}", started.elapsed());
    // The other server is watched meanwhile, and its signals count.
    let posted = codex.signal("running --json").ok().json();
    assert_eq!(posted["status"], "bound", "{posted:#}");
    // What the hung server's agent says still counts: it is not tmux who tells.
    agent.signal("waiting_input 'still here'").ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "waiting_input");
    kill(hung, Signal::CONT);
    let late = environment.unseen_agent("gemini");
    environment.wait_for_pane(&late.pane, "gemini after the hang", |pane| pane["agent"] == "gemini");
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "waiting_input");
}

/// A daemon that starts while the server hangs answers all the same, and says what it waits for.
#[test]
fn a_daemon_can_start_on_a_hanging_server() {
    let environment = TestEnvironment::with_tmux();
    let hung = environment.tmux().pid();
    let agent = environment.unseen_agent("claude");
    kill(hung, Signal::STOP);
    let started = Instant::now();
    environment.agtmux(&["list", "panes", "--json"]).ok();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    kill(hung, Signal::CONT);
    environment.wait_for_pane(&agent.pane, "claude after the hang", |pane| pane["agent"] == "claude");
}

/// A daemon that is stopped while the server hangs does not wait for it; what is ours in tmux is taken out when it goes on.
#[test]
fn a_daemon_can_stop_on_a_hanging_server() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let before = tmux.traces();
    environment.start_daemon();
    assert_ne!(tmux.traces(), before, "the daemon is in tmux somehow");
    let hung = tmux.pid();
    kill(hung, Signal::STOP);
    let stopped = environment.agtmux(&["daemon", "stop"]);
    kill(hung, Signal::CONT);
    assert_eq!(stopped.ok().stdout, "stopped\n");
    let log = std::fs::read_to_string(environment.state_dir().join("daemon.log")).unwrap();
    assert!(log.contains("left to the janitor"), "{log}");
    wait_within(PROMISED, "tmux to be as before", || match tmux.traces() {
        now if now == before => Ok(()),
        now => Err(now),
    });
}
