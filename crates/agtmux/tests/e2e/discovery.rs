//! Which panes hold an agent, and what becomes of it: exec, exit, kill, Ctrl-Z.

use std::fs;
use std::os::unix::fs::symlink;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::{PROMISED, TestEnvironment, is_alive, kill, wait_for};

/// An agent that says nothing is there, and nothing is claimed about what it does (F21: no confident guess).
#[test]
fn every_built_in_agent_is_found_and_unknown_without_a_signal() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    for (program, agent) in [
        ("claude", "claude"),
        ("codex", "codex"),
        ("gemini", "gemini"),
        ("opencode", "opencode"),
        ("copilot", "copilot"),
        ("cursor-agent", "cursor"),
    ] {
        let fake = environment.unseen_agent(program);
        let pane =
            environment.wait_for_pane(&fake.pane, &format!("{agent} to be found"), |pane| pane["agent"] == agent);
        assert_eq!(pane["state"], "unknown");
        assert_eq!(pane["reason_code"], "no_signal");
        assert_eq!(pane["pane_epoch"], 1);
        assert_eq!(pane["pid"], fake.pid());
        assert_eq!(pane["source"], Value::Null);
        assert_eq!(pane["attention"]["needs_action"], false);
    }
}

/// An agent that was there before the daemon is in the very first list (F43: an empty beginning is not the truth).
#[test]
fn the_first_list_is_the_truth() {
    let environment = TestEnvironment::with_tmux();
    environment.unseen_agent("claude");
    environment.unseen_agent("codex");
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["total"], 2, "{list:#}");
}

/// An interpreter that runs an agent's package is that agent; one that runs anything else is nobody.
#[test]
fn wrappers_are_seen_through() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    // A shell under the name of node takes the script as its argument, as node does.
    let node = environment.path("bin/node");
    symlink("/bin/sh", &node).unwrap();
    let node = node.display();
    for (script, agent) in [
        ("lib/node_modules/@openai/codex/bin/codex.js", Some("codex")),
        ("lib/node_modules/@google/gemini-cli/dist/index.js", Some("gemini")),
        ("lib/node_modules/left-pad/index.js", None),
    ] {
        let script = environment.program(script, "while read -r line; do :; done\n").display().to_string();
        let pane = environment.tmux().window("main", &format!("exec {node} {script}"));
        match agent {
            Some(agent) => {
                environment.wait_for_pane(&pane, &format!("{agent} in {script}"), |pane| pane["agent"] == agent);
            }
            None => {
                let title = "printf '\\033]2;settled\\007'";
                environment.tmux().run(&["respawn-pane", "-k", "-t", &pane, &format!("{title}; exec {node} {script}")]);
                // The title is read after the pane was looked into.
                environment.wait_for_pane(&pane, "the pane's title", |pane| pane["title"] == "settled");
                let found = environment.pane(&pane).unwrap();
                assert_eq!(found["agent"], Value::Null, "{found:#}");
            }
        }
    }
}

/// A manifest of the user's makes a new agent known; a broken one is reported and harms nobody.
#[test]
fn users_add_agents_by_manifest() {
    let environment = TestEnvironment::with_tmux();
    let agents = environment.path("config/agtmux/agents");
    fs::create_dir_all(&agents).unwrap();
    let manifest =
        "contract = 1\nid = \"rover\"\nname = \"Rover\"\nrecorded = []\n\n[process]\nprograms = [\"rover-cli\"]\n";
    fs::write(agents.join("rover.toml"), manifest).unwrap();
    fs::write(agents.join("broken.toml"), "id = ").unwrap();
    let status = environment.start_daemon();
    assert!(status["problems"][0].as_str().unwrap().contains("broken.toml"), "{status:#}");
    let rover = environment.unseen_agent("rover-cli");
    environment.wait_for_pane(&rover.pane, "rover to be found", |pane| pane["agent"] == "rover");
    environment.agent("claude");
}

/// The same pane and the same pid, but another program: another runtime, and nothing of the first one's state (F1).
#[test]
fn another_agent_in_the_same_process_is_a_new_runtime() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("waiting_input 'which?'").ok();
    let before = environment.pane(&agent.pane).unwrap();
    let codex = environment.program("codex", crate::common::SCRIPT);
    agent.tell(&format!("exec {}", codex.display()));
    let after =
        environment.wait_for_pane_within(PROMISED, &agent.pane, "codex after exec", |pane| pane["agent"] == "codex");
    assert_eq!(after["pid"], before["pid"]);
    assert_ne!(after["runtime_id"], before["runtime_id"]);
    assert_eq!(after["pane_epoch"], 2);
    assert_eq!((&after["state"], &after["reason_code"]), (&"unknown".into(), &"no_signal".into()));
    assert_eq!(after["attention"]["message"], Value::Null);
}

#[test]
fn an_agent_that_exits_is_gone_at_once() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    environment.tmux().run(&["set-option", "-p", "-t", &agent.pane, "remain-on-exit", "on"]);
    agent.signal("running").ok();
    agent.tell("exit 3");
    let pane = environment
        .wait_for_pane_within(PROMISED, &agent.pane, "the runtime to end", |pane| pane["runtime_id"].is_null());
    assert_eq!(pane["state"], Value::Null);
    let list = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!(list["summary"]["total"], 0);
}

#[test]
fn an_agent_that_is_killed_is_gone_at_once_and_the_shell_around_it_stays() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, agent) = agent_in_a_shell(&environment);
    let pid = u32::try_from(agent["pid"].as_u64().unwrap()).unwrap();
    kill(pid, Signal::KILL);
    let after =
        environment.wait_for_pane_within(PROMISED, &pane, "the runtime to end", |pane| pane["runtime_id"].is_null());
    assert_eq!(after["agent"], Value::Null);
    assert!(!is_alive(pid));
    // Started again, it is another life of the same program.
    environment.tmux().keys(&pane, &["claude", "Enter"]);
    let again = environment.wait_for_pane_within(PROMISED, &pane, "claude again", |pane| pane["agent"] == "claude");
    assert_ne!(again["runtime_id"], agent["runtime_id"]);
    assert_eq!(again["pane_epoch"], 2);
}

/// Ctrl-Z and `fg` in a real shell: a suspended agent does not run, and is the same one when it goes on.
#[test]
fn a_suspended_agent_is_seen_and_comes_back() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (pane, agent) = agent_in_a_shell(&environment);
    let dir = environment.path("agents/0");
    let fake = crate::common::FakeAgent::new(pane.clone(), dir);
    fake.signal("running").ok();
    environment.wait_for_pane(&pane, "claude to run", |pane| pane["state"] == "running");
    environment.tmux().keys(&pane, &["C-z"]);
    let stopped =
        environment.wait_for_pane_within(PROMISED, &pane, "claude to be suspended", |pane| pane["state"] != "running");
    assert_eq!(stopped["runtime_id"], agent["runtime_id"]);
    assert_eq!((&stopped["state"], &stopped["reason_code"]), (&"unknown".into(), &"suspended".into()), "{stopped:#}");
    environment.tmux().keys(&pane, &["fg", "Enter"]);
    let back = environment.wait_for_pane_within(PROMISED, &pane, "claude to go on", |pane| pane["state"] == "running");
    assert_eq!(back["runtime_id"], agent["runtime_id"]);
    assert_eq!(back["pane_epoch"], 1);
}

/// The same in a session that is made in this moment: what is typed at once is seen as soon as what is typed later.
#[test]
fn an_agent_in_a_session_that_was_just_made_is_found_in_time() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let tmux = environment.tmux();
    let program = environment.program("claude", crate::common::SCRIPT).display().to_string();
    for round in 0..5 {
        let dir = environment.agent_dir();
        let variable = format!("AGENT_DIR={}", dir.display());
        let session = format!("new{round}");
        let shell = "exec bash --norc --noprofile -i";
        tmux.run(&["new-session", "-d", "-s", &session, "-e", &variable, shell, ";", "send-keys", &program, "Enter"]);
        let pane = tmux.format(&format!("={session}:"), "#{pane_id}");
        let agent = crate::common::FakeAgent::new(pane, dir);
        let pid = agent.pid();
        let found = environment.wait_for_pane_within(PROMISED, &agent.pane, &format!("claude in {session}"), |pane| {
            pane["agent"] == "claude"
        });
        assert_eq!(found["pid"], pid);
    }
}

/// An interactive shell with job control, in which `claude` was typed.
fn agent_in_a_shell(environment: &TestEnvironment) -> (String, Value) {
    environment.program("claude", crate::common::SCRIPT);
    let dir = environment.agent_dir();
    let shell = format!(
        "export PATH={}:$PATH AGENT_DIR={} PS1='$ '; exec bash --norc --noprofile -i",
        environment.path("bin").display(),
        dir.display()
    );
    let tmux = environment.tmux();
    let pane = tmux.window("main", &shell);
    wait_for("the shell's prompt", || {
        let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
        if screen.contains('$') { Ok(()) } else { Err(screen) }
    });
    tmux.keys(&pane, &["claude", "Enter"]);
    let agent = environment.wait_for_pane(&pane, "claude in the shell", |pane| pane["agent"] == "claude");
    (pane, agent)
}

/// A manifest that is written while the daemon runs counts without a restart.
#[test]
fn a_new_manifest_counts_at_once() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let policies = || environment.agtmux(&["events", "--limit", "1000"]).ok().stdout.matches("policy").count();
    let before = policies();
    let dir = environment.path("config/agtmux/agents");
    fs::create_dir_all(&dir).unwrap();
    let text = "contract = 1\nid = \"mine\"\nname = \"Mine\"\nrecorded = []\n\
                [process]\nprograms = [\"mine\"]\n[ttl]\nturn_active.signal = \"7m\"\n";
    fs::write(dir.join("mine.toml"), text).unwrap();
    wait_for("the manifest to be read", || if policies() > before { Ok(()) } else { Err("not yet") });
    let agent = environment.agent("mine");
    environment.wait_for_pane(&agent.pane, "the new agent", |pane| pane["agent"] == "mine");
}
