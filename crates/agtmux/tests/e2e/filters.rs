//! Filters of the lists: each narrows, together they narrow further, and what they were is in the document.

use serde_json::Value;

use crate::common::TestEnvironment;

/// The panes of a list as `agent:state`, in the order of the document.
fn shown(document: &Value) -> Vec<String> {
    let items = document["items"].as_array().unwrap();
    items
        .iter()
        .map(|item| format!("{}:{}", item["agent"].as_str().unwrap_or("-"), item["state"].as_str().unwrap_or("-")))
        .collect()
}

#[test]
fn panes_are_narrowed_by_every_filter() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "a b/c", "-n", "base", "exec sleep 100000"]);
    environment.start_daemon();
    let claude = environment.agent("claude");
    let codex = environment.agent("codex");
    let other = environment.agent_in(&tmux, "a b/c", "claude");
    environment.wait_for_pane(&other.pane, "the other claude", |pane| pane["agent"] == "claude");
    claude.signal("running").ok();
    codex.signal("needs_input 'which one?'").ok();
    other.signal("error 'no network'").ok();

    let list = |arguments: &[&str]| environment.agtmux(&[&["list", "panes", "--json"], arguments].concat()).ok().json();
    // The order is where they are; the most urgent are found by a filter.
    assert_eq!(shown(&list(&[])), ["claude:error", "claude:running", "codex:waiting_input"]);
    assert_eq!(shown(&list(&["--all"])).len(), 5);
    assert_eq!(shown(&list(&["--agent", "codex"])), ["codex:waiting_input"]);
    assert_eq!(shown(&list(&["--agent", "nosuch"])), [""; 0]);
    assert_eq!(shown(&list(&["--state", "running"])), ["claude:running"]);
    assert_eq!(shown(&list(&["--state", "running,waiting_input"])), ["claude:running", "codex:waiting_input"]);
    assert_eq!(shown(&list(&["--state", "idle,completed"])), [""; 0]);
    let unknown = environment.agtmux(&["list", "panes", "--state", "running,asleep", "--json"]);
    assert_eq!((unknown.code, unknown.error()["code"].as_str()), (2, Some("E_UNKNOWN_STATE")), "{unknown:#?}");
    assert_eq!(shown(&list(&["--sort", "urgency"])), ["claude:error", "codex:waiting_input", "claude:running"]);
    assert_eq!(shown(&list(&["--sort", "since"])), ["claude:error", "codex:waiting_input", "claude:running"]);
    assert_eq!(shown(&list(&["--sort", "agent"])), ["claude:error", "claude:running", "codex:waiting_input"]);
    environment.agtmux(&["adopt", &codex.pane, "--name", "api"]).ok();
    assert_eq!(shown(&list(&["--sort", "name"])), ["codex:waiting_input", "claude:error", "claude:running"]);
    let table = environment.agtmux(&["list", "panes"]).ok().stdout;
    assert!(table.contains("api (codex)"), "{table}");
    assert_eq!(shown(&list(&["--needs-action"])), ["claude:error", "codex:waiting_input"]);
    assert_eq!(shown(&list(&["--needs-action", "--agent", "codex"])), ["codex:waiting_input"]);
    assert_eq!(shown(&list(&["--session", "a b/c"])), ["claude:error"]);
    assert_eq!(shown(&list(&["--target-session", "local/a b/c"])), ["claude:error"]);
    assert_eq!(shown(&list(&["--target", "local", "--state", "error"])), ["claude:error"]);
    assert_eq!(shown(&list(&["--all-targets"])).len(), 3);

    let narrowed = list(&["--state", "error", "--session", "a b/c"]);
    assert_eq!(narrowed["filters"]["state"], "error");
    assert_eq!(narrowed["filters"]["session"], "a b/c");
    assert_eq!(narrowed["filters"]["agent"], Value::Null);
    assert_eq!(narrowed["summary"]["total"], 1);
    assert_eq!(narrowed["summary"]["by_state"]["error"], 1);
}

#[test]
fn windows_and_sessions_add_up() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "web", "-n", "base", "exec sleep 100000"]);
    environment.start_daemon();
    let claude = environment.agent("claude");
    let codex = environment.agent("codex");
    // Both in one window, so that the window has to choose.
    tmux.run(&["join-pane", "-d", "-s", &codex.pane, "-t", &claude.pane]);
    claude.signal("running").ok();
    codex.signal("waiting_approval 'go on?'").ok();
    let window = tmux.format(&claude.pane, "#{window_id}");
    environment.wait_for_pane(&codex.pane, "codex in its new window", |pane| pane["identity"]["window_id"] == *window);

    let windows = environment.agtmux(&["list", "windows", "--json"]).ok().json();
    assert_eq!(windows["items"].as_array().unwrap().len(), 1, "{windows:#}");
    let row = &windows["items"][0];
    assert_eq!(row["top_state"], "waiting_approval");
    assert_eq!((&row["waiting"], &row["running"], &row["panes"]), (&1.into(), &1.into(), &2.into()));
    let all = environment.agtmux(&["list", "windows", "--all", "--json"]).ok().json();
    assert_eq!(all["items"].as_array().unwrap().len(), 3, "{all:#}");
    let web = environment.agtmux(&["list", "windows", "--all", "--session", "web", "--json"]).ok().json();
    assert_eq!(web["items"].as_array().unwrap().len(), 1, "{web:#}");

    let sessions = environment.agtmux(&["list", "sessions", "--json"]).ok().json();
    assert_eq!(sessions["items"].as_array().unwrap().len(), 1, "{sessions:#}");
    let row = &sessions["items"][0];
    assert_eq!((&row["total"], &row["by_agent"]["codex"]), (&2.into(), &1.into()));
    assert_eq!(row["top_state"], "waiting_approval");
    let all = environment.agtmux(&["list", "sessions", "--all", "--group-by", "session-name", "--json"]).ok().json();
    assert_eq!(all["filters"]["group_by"], "session-name");
    assert_eq!(all["items"].as_array().unwrap().len(), 2, "{all:#}");
    assert_eq!(all["items"][0]["identity"]["target"], Value::Null);
}
