//! An agent behind `agtmux wrap` is the same agent: found, bound to its own process, suspended and gone as any other.

use std::fs;

use agtmux::act::Shim;
use agtmux::act::shim::Injected;
use agtmux_core::id::ProcessKey;
use agtmux_shim::protocol::Inject;
use serde_json::Value;

use crate::common::{AGTMUX, FakeAgent, PROMISED, SCRIPT, TestEnvironment, wait_for};

/// An agent in a window, started by `agtmux wrap` with these options.
fn wrapped(environment: &TestEnvironment, options: &str) -> FakeAgent {
    let program = environment.program("claude", SCRIPT);
    let dir = environment.agent_dir();
    let line = format!("AGENT_DIR={} exec {AGTMUX} wrap {options} -- {}", dir.display(), program.display());
    let pane = environment.tmux().window("main", &line);
    let agent = FakeAgent::new(pane, dir);
    agent.pid();
    agent
}

#[test]
fn a_wrapped_agent_is_found_and_speaks_for_itself() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = wrapped(&environment, "--name reviewer");
    let found =
        environment.wait_for_pane_within(PROMISED, &agent.pane, "the wrapped claude", |pane| pane["agent"] == "claude");
    assert_eq!(found["pid"], agent.pid());
    agent.signal("waiting_input 'which?'").ok();
    environment.wait_for_pane(&agent.pane, "its state", |pane| pane["state"] == "waiting_input");
    assert_eq!(agent.run("echo $AGTMUX_NAME $AGTMUX_SHIM_DIR $AGTMUX_SHIM_ROLE").ok().stdout, "reviewer\n");
    environment.tmux().run(&["set-option", "-p", "-t", &agent.pane, "remain-on-exit", "on"]);
    agent.tell("exit 3");
    environment.wait_for_pane_within(PROMISED, &agent.pane, "its end", |pane| pane["runtime_id"].is_null());
}

/// The wrapper is found by the agent's process, and types for whoever asks.
#[test]
fn the_wrapper_of_an_agent_is_found_and_types() {
    let environment = TestEnvironment::with_tmux();
    let agent = wrapped(&environment, "");
    let bare = environment.unseen_agent("codex");
    let process = |pid: u32| ProcessKey { pid, start: agtmux::platform::process_stat(pid).unwrap().start };
    let dir = environment.path("run/agtmux/shim");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(Shim::of(&dir, process(bare.pid()))), None);
    let claude = process(agent.pid());
    let stale = ProcessKey { start: claude.start + 1, ..claude };
    assert_eq!(runtime.block_on(Shim::of(&dir, stale)), None);
    let shim = runtime.block_on(Shim::of(&dir, claude)).unwrap();
    let status = || runtime.block_on(shim.status()).unwrap();
    assert_eq!((status().child, status().draft, status().name), (agent.pid(), false, None));
    agent.tell("stty raw -echo </dev/tty; printf '\\033[?2004h' >/dev/tty; cat </dev/tty >$AGENT_DIR/log");
    wait_for("the marking of pastes", || if status().paste_mode { Ok(()) } else { Err("not yet") });
    assert_eq!(runtime.block_on(shim.state("m1")).unwrap(), None);
    let inject = Inject { id: "m1".to_owned(), ..Inject::default() };
    for _ in 0..2 {
        let injected = runtime.block_on(shim.inject(&inject, "hällo\n;".as_bytes()));
        assert_eq!(injected.unwrap(), Injected::Submitted);
    }
    assert_eq!(runtime.block_on(shim.keys("k1", "\x1b", None)).unwrap(), Injected::Submitted);
    let expected = "\x1b[200~hällo\n;\x1b[201~\r\x1b";
    wait_for("the message", || {
        let log = fs::read_to_string(agent.dir.join("log")).unwrap_or_default();
        if log == expected { Ok(()) } else { Err(log) }
    });
}

/// Ctrl-Z in the pane suspends the agent and the daemon sees it; `fg` brings both back.
#[test]
fn a_wrapped_agent_can_be_suspended() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.program("claude", SCRIPT);
    let dir = environment.agent_dir();
    let shell = format!(
        "export PATH={}:$PATH AGENT_DIR={} PS1='$ '; exec bash --norc --noprofile -i",
        environment.path("bin").display(),
        dir.display()
    );
    let tmux = environment.tmux();
    let pane = tmux.window("main", &shell);
    tmux.keys(&pane, &[&format!("{AGTMUX} wrap claude"), "Enter"]);
    let agent = FakeAgent::new(pane.clone(), dir);
    let found = environment.wait_for_pane(&pane, "claude in the shell", |pane| pane["agent"] == "claude");
    assert_eq!(found["pid"], agent.pid());
    agent.signal("running").ok();
    environment.wait_for_pane(&pane, "claude to run", |pane| pane["state"] == "running");
    tmux.keys(&pane, &["C-z"]);
    let stopped =
        environment.wait_for_pane_within(PROMISED, &pane, "claude to be suspended", |pane| pane["state"] != "running");
    assert_eq!((&stopped["reason_code"], &stopped["runtime_id"]), (&Value::from("suspended"), &found["runtime_id"]));
    tmux.keys(&pane, &["fg", "Enter"]);
    let back = environment.wait_for_pane_within(PROMISED, &pane, "claude to go on", |pane| pane["state"] == "running");
    assert_eq!(back["runtime_id"], found["runtime_id"]);
}

/// The exit status is the command's, also where there is no terminal.
#[test]
fn the_status_is_that_of_the_command() {
    let environment = TestEnvironment::new();
    let run = environment.agtmux(&["wrap", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (7, "out\n", "err\n"));
    let run = environment.agtmux(&["wrap", "--", "/no/such/command"]);
    assert_eq!(run.code, 127);
    assert_eq!(environment.agtmux(&["wrap"]).code, 2);
}

/// An agent without hooks declares a need, and the person answers it in the pane.
#[test]
fn an_answer_typed_in_the_pane_settles_a_need() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = wrapped(&environment, "");
    environment.wait_for_pane(&agent.pane, "the wrapped claude", |pane| pane["agent"] == "claude");
    agent.signal("needs_input 'which?'").ok();
    environment.wait_for_pane(&agent.pane, "its need", |pane| pane["state"] == "waiting_input");
    // The wrapper is first asked within half a second how much was typed; what comes after that is an answer.
    let answered = || {
        environment.tmux().keys(&agent.pane, &["8080", "Enter"]);
        let pane = environment.pane(&agent.pane).unwrap();
        if pane["state"] == "running" { Ok(()) } else { Err(pane.to_string()) }
    };
    wait_for("the answer to be noticed", answered);
    assert_eq!(environment.pane(&agent.pane).unwrap()["source"], "wrapper");
}
