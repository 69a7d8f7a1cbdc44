//! `agtmux list`: the documents that scripts rely on, and the tables that people read.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::common::{PROMISED, SCRIPT, TestEnvironment, redacted};

/// Two agents in two sessions, one of which has said something, and panes without an agent.
fn scene() -> TestEnvironment {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "docs", "-n", "base", "exec sleep 100000"]);
    environment.start_daemon();
    let claude = environment.agent("claude");
    claude.signal("waiting_approval 'run the tests?'").ok();
    let gemini = environment.agent_in(&tmux, "docs", "gemini");
    environment.wait_for_pane(&gemini.pane, "gemini to be found", |pane| pane["agent"] == "gemini");
    environment
}

/// The document with what differs from run to run taken out. A value that is missing stays missing.
fn stable(mut document: Value, environment: &TestEnvironment) -> String {
    fn walk(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match name.as_str() {
                        "pid" if value.is_null() => {}
                        "pid" | "cwd" | "title" | "command" => *value = json!(format!("[{}]", name.to_uppercase())),
                        _ => walk(value),
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(walk),
            _ => {}
        }
    }
    walk(&mut document);
    redacted(&serde_json::to_string_pretty(&document).unwrap(), environment.root())
}

/// F43: what is not known is null, never missing, and every state is counted, also those that nobody is in.
#[test]
fn documents_keep_their_contract() {
    let environment = scene();
    for (name, arguments) in [
        ("panes", vec!["list", "panes", "--all", "--json"]),
        ("windows", vec!["list", "windows", "--json"]),
        ("sessions", vec!["list", "sessions", "--json"]),
        ("sessions_by_name", vec!["list", "sessions", "--all", "--group-by", "session-name", "--json"]),
    ] {
        let document = environment.agtmux(&arguments).ok().json();
        let states: Vec<_> = document["summary"]["by_state"].as_object().unwrap().keys().cloned().collect();
        let all = ["completed", "error", "idle", "running", "unknown", "waiting_approval", "waiting_input"];
        assert_eq!(states, all, "summary of {name}");
        assert_snapshot!(format!("{name}_json"), stable(document, &environment));
    }
}

/// What runs in a pane, and where, is known soon after the pane is there, and soon after it changes.
#[test]
fn command_and_directory_are_known_soon() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let tmux = environment.tmux();
    let home = environment.path("home").canonicalize().unwrap().display().to_string();
    let shows = |pane: &str, command: &str, cwd: &str| {
        environment.wait_for_pane_within(PROMISED, pane, &format!("{command} in {cwd}"), |pane| {
            pane["command"] == command && pane["cwd"] == cwd
        });
    };
    let format = ["-P", "-F", "#{pane_id}"];
    let pane =
        tmux.run(&[&["new-window", "-d", "-t", "=main:", "-c", &home], &format[..], &["exec sleep 100000"]].concat());
    shows(&pane, "sleep", &home);
    let many: Vec<_> = (0..12)
        .map(|_| tmux.run(&[&["new-window", "-d", "-c", "/"], &format[..], &["exec sleep 100000"]].concat()))
        .collect();
    many.iter().for_each(|pane| shows(pane, "sleep", "/"));
    // An agent that is started by a shell that was there before.
    let shell = tmux.run(&[&["new-window", "-d", "-c", &home], &format[..], &["exec sh"]].concat());
    shows(&shell, "sh", &home);
    let dir = environment.agent_dir();
    let program = environment.program("claude", SCRIPT);
    tmux.keys(&shell, &[&format!("cd /; AGENT_DIR={} exec {}", dir.display(), program.display()), "Enter"]);
    shows(&shell, "sh", "/");
}

#[test]
fn tables_are_for_people() {
    let environment = scene();
    let mut shown = String::new();
    for arguments in [
        vec!["list", "panes"],
        vec!["list", "panes", "--needs-action"],
        vec!["list", "panes", "--agent", "opencode"],
        vec!["list", "windows", "--with-agent-status"],
        vec!["list", "sessions", "--agent-summary"],
        vec!["list", "sessions", "--group-by", "session-name"],
    ] {
        let run = environment.agtmux(&arguments).ok();
        assert_eq!(run.stderr, "");
        shown.push_str(&format!("$ agtmux {}\n{}\n", arguments.join(" "), run.stdout));
    }
    // The title of a pane that nobody has titled is the host's name.
    let host = environment.tmux().format("=main:base", "#{host}");
    let shown = redacted(&shown, environment.root()).replace(&host, "[HOST]");
    let ages = regex::Regex::new(r"(?m)^(waiting_approval|unknown)( +)\d+s( +)").unwrap();
    assert_snapshot!(ages.replace_all(&shown, "${1}${2}0s${3}"));
}
