//! Signals: by `agtmux signal` inside a pane, and by `POST /v1/events`. Whose they are is proven, never believed.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::common::{AGTMUX, TestEnvironment, wait_for};

/// Every name that an agent may use, the canonical ones and those of schmux, and what it becomes.
#[test]
fn every_state_name_is_understood() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let mut shown = String::new();
    for name in [
        "running",
        "waiting_input",
        "waiting_approval",
        "completed",
        "idle",
        "error",
        "working",
        "needs_input",
        "needs_testing",
        "unknown",
    ] {
        let posted = agent.signal(&format!("{name} 'the message' --json")).ok().json();
        assert_eq!(posted["status"], "bound", "{name}: {posted:#}");
        // Answered means applied: no waiting here.
        let pane = environment.pane(&agent.pane).unwrap();
        assert_eq!((&pane["runtime_id"], &pane["state"]), (&posted["runtime_id"], &posted["state"]), "{name}");
        let text = |key: &str| pane[key].as_str().unwrap_or("-").to_owned();
        let attention = &pane["attention"];
        shown.push_str(&format!(
            "{name:<17} {:<17} {:<15} needs_action={:<5} nudge_seq={} {}\n",
            text("state"),
            text("reason_code"),
            attention["needs_action"],
            attention["nudge_seq"],
            attention["message"],
        ));
    }
    assert_snapshot!(shown);
    // Without --json it says nothing when all is well: hooks must not chatter.
    let quiet = agent.signal("running").ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
}

/// F38, I2: a signal is the agent's whose process sent it, whatever `TMUX_PANE` says.
#[test]
fn a_lying_pane_variable_changes_nothing() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let claude = environment.agent("claude");
    let codex = environment.agent("codex");
    let lie = format!("TMUX_PANE={} {AGTMUX} signal error 'not me' --json", codex.pane);
    let posted = claude.run(&lie).ok().json();
    let mine = environment.pane(&claude.pane).unwrap();
    assert_eq!(posted["runtime_id"], mine["runtime_id"]);
    assert_eq!(mine["state"], "error");
    assert_eq!(environment.pane(&codex.pane).unwrap()["state"], "unknown");
    // The API is no way around it: what runs in a pane is bound by its ancestors there too.
    let event = json!({ "state": "error", "pane_id": codex.pane }).to_string();
    let request = format!(
        "POST /v1/events HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\ncontent-type: application/json\\r\\ncontent-length: {}\\r\\n\\r\\n{event}",
        event.len()
    );
    let python = format!(
        "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"{}\"); s.sendall(b\"\"\"{request}\"\"\"); print(s.makefile().read())'",
        environment.socket().display()
    );
    let answer = claude.run(&python).ok().stdout;
    assert!(answer.contains(mine["runtime_id"].as_str().unwrap()), "{answer}");
    assert_eq!(environment.pane(&codex.pane).unwrap()["state"], "unknown");
}

/// A program beside tmux may say which pane it means; outside of any pane and without a name it is told so.
#[test]
fn a_program_outside_of_tmux_names_the_pane_or_the_runtime() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let refused = environment.agtmux(&["signal", "running", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (2, &"E_NOT_IN_PANE".into()), "{refused:#?}");

    let answer = environment.post_event(&json!({
        "state": "waiting_approval", "message": "go on?", "source_event_id": "req-7", "source_seq": 3,
        "event_time": "2026-01-31T09:00:00Z", "target": "local", "pane_id": agent.pane,
        "tmux_socket": environment.tmux().path(), "pid": agent.pid(), "payload": { "tool": "Bash" },
    }));
    assert_eq!(answer.status, 200, "{answer:#?}");
    let posted = answer.json();
    assert_eq!((&posted["status"], &posted["state"]), (&"bound".into(), &"waiting_approval".into()));
    for key in ["event_id", "seq", "runtime_id", "detail"] {
        assert!(!posted[key].is_null(), "{key} of {posted:#}");
    }
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["source"], &pane["evidence"]), (&"api".into(), &"reported".into()));

    let runtime = pane["runtime_id"].as_str().unwrap();
    environment.agtmux(&["signal", "running", "--runtime", &format!("runtime:{runtime}")]).ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
    // Another process than the one in the pane is no proof of anything: it waits.
    let answer = environment.post_event(&json!({ "state": "error", "pane_id": agent.pane, "pid": std::process::id() }));
    assert_eq!(answer.json()["status"], "pending_bind", "{answer:#?}");
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
}

/// I7: a repeat changes nothing, and neither does what comes late (F18).
#[test]
fn repeats_and_late_comers_change_nothing() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let post = |state: &str, key: &str, seq: u64| {
        let event = json!({ "state": state, "pane_id": agent.pane, "dedupe_key": key, "source_seq": seq });
        environment.post_event(&event).json()["status"].clone()
    };
    assert_eq!(post("waiting_input", "a", 10), "bound");
    let version = environment.pane(&agent.pane).unwrap()["state_version"].clone();
    assert_eq!(post("waiting_input", "a", 10), "duplicate");
    assert_eq!(post("running", "b", 9), "out_of_order");
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["state"], &pane["state_version"]), (&"waiting_input".into(), &version));
    assert_eq!(pane["attention"]["nudge_seq"], 1);
    assert_eq!(post("running", "c", 11), "bound");

    agent.signal("idle --dedupe-key k").ok();
    let again = agent.signal("idle --dedupe-key k --json").ok().json();
    assert_eq!(again["status"], "duplicate");
}

/// I11: clocks order signals only as far as they can be believed. A stamp of the future, or of another boot, does not
/// make everything after it look old.
#[test]
fn a_stamp_from_the_future_silences_nobody() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let future = u64::MAX / 2;
    for stamp in [json!({ "boot_ns": future }), json!({ "boot_ns": future, "boot_id": "another-boot" })] {
        let mut event = json!({ "state": "error", "pane_id": agent.pane, "event_time": "2199-01-01T00:00:00Z" });
        event.as_object_mut().unwrap().extend(stamp.as_object().unwrap().clone());
        assert_eq!(environment.post_event(&event).json()["state"], "error");
        let posted = agent.signal("running --json").ok().json();
        assert_eq!((&posted["status"], &posted["state"]), (&"bound".into(), &"running".into()), "after {stamp}");
    }
}

/// A signal that comes before its agent is found waits for it; one that no agent claims never moves a state.
#[test]
fn a_signal_before_its_agent_waits_for_it() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    // The process that signals becomes the agent afterwards, as a launcher does.
    let launcher = environment.unseen_agent("launcher");
    let pending = launcher.signal("waiting_input 'early' --json").ok().json();
    assert_eq!((&pending["status"], &pending["runtime_id"]), (&"pending_bind".into(), &Value::Null));
    let told = launcher.signal("running").ok();
    assert!(told.stderr.contains("no agent is known here yet"), "{told:#?}");
    let claude = environment.program("claude", crate::common::SCRIPT);
    launcher.tell(&format!("exec {}", claude.display()));
    let pane = environment.wait_for_pane(&launcher.pane, "both signals to be bound", |pane| pane["state"] == "running");
    assert_eq!(pane["agent"], "claude");
    assert_eq!(pane["attention"]["nudge_seq"], 1, "the question was heard before the answer: {pane:#}");
}

#[test]
fn a_signal_that_nobody_claims_is_dropped_after_a_while() {
    let environment = TestEnvironment::with_tmux();
    environment.configure("[state]\nbind_seconds = 1\n");
    environment.start_daemon();
    let nobody = environment.unseen_agent("some-tool");
    let pending = nobody.signal("error 'boom' --json").ok().json();
    assert_eq!(pending["status"], "pending_bind");
    wait_for("the signal to be dropped", || {
        let metrics = environment.request("GET", "/v1/metrics", b"").unwrap().body;
        let dropped = metrics.lines().any(|line| line == "agtmux_signals_dropped 1");
        if dropped { Ok(()) } else { Err(metrics) }
    });
    // An agent that starts there later begins without it.
    let claude = environment.program("claude", crate::common::SCRIPT);
    nobody.tell(&format!("exec {}", claude.display()));
    let pane = environment.wait_for_pane(&nobody.pane, "claude to be found", |pane| pane["agent"] == "claude");
    assert_eq!((&pane["state"], &pane["reason_code"]), (&"unknown".into(), &"no_signal".into()));
}

/// F1, I2: what is said about a runtime that is over never reaches its successor, and the sender is told.
#[test]
fn a_signal_for_a_runtime_that_is_over_is_refused() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let first = environment.pane(&agent.pane).unwrap()["runtime_id"].as_str().unwrap().to_owned();
    let codex = environment.program("codex", crate::common::SCRIPT);
    agent.tell(&format!("exec {}", codex.display()));
    environment.wait_for_pane(&agent.pane, "codex", |pane| pane["agent"] == "codex");
    let stale = agent.signal(&format!("error 'late' --runtime {first} --json"));
    assert_eq!((stale.code, &stale.error()["code"]), (4, &"E_RUNTIME_STALE".into()), "{stale:#?}");
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "unknown");
    let answer = environment.post_event(&json!({ "state": "error", "runtime_id": first }));
    assert_eq!((answer.status, answer.code().as_str()), (409, "E_RUNTIME_STALE"));
}

/// F60 and the like: a message is a line for a person, and a secret in it is nobody's.
#[test]
fn messages_are_kept_short_and_without_secrets() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let secret = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUv";
    let message = format!("key {secret} {}", "ä".repeat(5_000));
    let answer = environment.post_event(&json!({ "state": "error", "pane_id": agent.pane, "message": message }));
    assert_eq!(answer.status, 200, "{answer:#?}");
    let pane = environment.pane(&agent.pane).unwrap();
    let kept = pane["attention"]["message"].as_str().unwrap();
    assert!(!kept.contains("AbCdEfGh"), "{kept}");
    assert!(kept.len() <= 4_200 && kept.ends_with('…'), "{} bytes", kept.len());
    let events = environment.agtmux(&["events", "--json"]).ok().stdout;
    assert!(!events.contains("AbCdEfGh"));
}

/// Whatever an agent said before, it is in the state it says now.
#[test]
fn the_last_word_of_an_agent_counts() {
    const STATES: [&str; 7] = ["running", "waiting_input", "waiting_approval", "completed", "idle", "error", "unknown"];
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let post = |state: &str| environment.post_event(&json!({ "state": state, "pane_id": agent.pane })).json();
    let mut wrong = Vec::new();
    for before in STATES {
        for after in STATES {
            post(before);
            let seen = post(after)["state"].clone();
            if seen != after {
                wrong.push(format!("{before}, then {after}: {seen}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
