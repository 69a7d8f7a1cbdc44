//! `agtmux watch`: once and live, as a table and as lines.

use serde_json::Value;

use crate::common::{Background, TestEnvironment, wait_for};

/// The documents of a watcher's output so far, whole lines only.
fn documents(text: &str) -> Vec<Value> {
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Waits for a document that is as wanted; what came before it is kept in `text`.
fn wait_for_line(watcher: &Background, text: &mut String, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait_for(what, || {
        text.push_str(&watcher.new_output());
        documents(text).into_iter().find(|document| wanted(document)).ok_or_else(|| text.clone())
    })
}

#[test]
fn once_shows_what_is_there() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("waiting_input 'which?'").ok();
    for scope in ["panes", "windows", "sessions"] {
        let table = environment.agtmux(&["watch", "--once", "--scope", scope]).ok().stdout;
        assert!(table.starts_with("STATE") && table.contains("waiting_input"), "{table}");
        let lines = environment.agtmux(&["watch", "--once", "--scope", scope, "--format", "jsonl"]).ok().stdout;
        let lines = documents(&lines);
        assert_eq!(lines.len(), 1, "{lines:#?}");
        let list = environment.agtmux(&["list", scope, "--json"]).ok().json();
        assert_eq!(lines[0]["item"], list["items"][0], "{scope}");
        assert_eq!((&lines[0]["change"], &lines[0]["scope"]), (&"present".into(), &scope.into()));
        assert!(lines[0]["seq"].is_u64() && lines[0]["at"].is_string() && lines[0]["schema_version"] == 1);
    }
}

/// F58: a watcher is told of every change, also of the end.
#[test]
fn a_watcher_sees_changes_come_and_go() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let panes = environment.agtmux_in_background(&["watch", "--format", "jsonl"]);
    let sessions = environment.agtmux_in_background(&["watch", "--format", "jsonl", "--scope", "sessions"]);
    let (mut pane_text, mut session_text) = (String::new(), String::new());
    wait_for_line(&panes, &mut pane_text, "the pane to be present", |line| line["change"] == "present");
    wait_for_line(&sessions, &mut session_text, "the session to be present", |line| line["change"] == "present");
    agent.signal("waiting_approval 'go?'").ok();
    let changed = wait_for_line(&panes, &mut pane_text, "the change", |line| {
        line["change"] == "changed" && line["item"]["state"] == "waiting_approval"
    });
    assert_eq!(changed["item"]["identity"]["pane_id"], agent.pane);
    wait_for_line(&sessions, &mut session_text, "the session's change", |line| {
        line["item"]["by_state"]["waiting_approval"] == 1
    });
    agent.tell("exit");
    let removed = wait_for_line(&panes, &mut pane_text, "the removal", |line| line["change"] == "removed");
    assert_eq!(removed["item"]["identity"]["pane_id"], agent.pane);
    wait_for_line(&sessions, &mut session_text, "the session's removal", |line| line["change"] == "removed");
    let places: Vec<_> = documents(&pane_text).iter().map(|line| line["seq"].as_u64().unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn since_leaves_out_what_is_old() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let old = environment.agent("claude");
    old.signal("running").ok();
    let between =
        environment.pane(&old.pane).unwrap()["updated_at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let between = (between + jiff::SignedDuration::from_millis(1)).to_string();
    let new = environment.agent("codex");
    new.signal("running").ok();
    let lines = environment.agtmux(&["watch", "--once", "--format", "jsonl", "--since", &between]).ok().stdout;
    let agents: Vec<_> = documents(&lines).iter().map(|line| line["item"]["agent"].clone()).collect();
    assert_eq!(agents, ["codex"]);
    let table = environment.agtmux(&["watch", "--once", "--since", &between]).ok().stdout;
    assert!(table.contains("codex") && !table.contains("claude"), "{table}");
    let recent = environment.agtmux(&["watch", "--once", "--since", "1h"]).ok().stdout;
    assert!(recent.contains("codex") && recent.contains("claude"), "{recent}");
}

/// Piped, the table is printed anew for every change; on a terminal it is redrawn in place.
#[test]
fn the_table_follows_changes() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let piped = environment.agtmux_in_background(&["watch"]);
    let mut text = String::new();
    let mut wait_for_text = |wanted: &str| {
        wait_for(&format!("{wanted:?} in the table"), || {
            text.push_str(&piped.new_output());
            if text.contains(wanted) { Ok(()) } else { Err(text.clone()) }
        });
    };
    wait_for_text("no_signal");
    agent.signal("error 'no network'").ok();
    wait_for_text("no network");

    let tmux = environment.tmux();
    let pane = tmux.window("main", &format!("exec {} watch", crate::common::AGTMUX));
    let screen = |wanted: &str| {
        wait_for(&format!("{wanted:?} on the screen"), || {
            let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
            if screen.contains(wanted) { Ok(screen) } else { Err(screen) }
        })
    };
    screen("no network");
    agent.signal("running 'once more'").ok();
    let redrawn = screen("once more");
    assert!(!redrawn.contains("no network"), "{redrawn}");
    assert_eq!(redrawn.matches("STATE").count(), 1, "{redrawn}");
}

/// A terminal that is too small shows what is most urgent, counts the rest, and is as it was before when the watch ends.
#[test]
fn a_small_terminal_is_not_pushed_apart() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    for place in 0..6 {
        let agent = environment.agent("claude");
        let said = if place == 4 { "error 'the urgent one'" } else { "running" };
        agent.signal(said).ok();
    }
    let tmux = environment.tmux();
    let pane = tmux.window(
        "main",
        &format!("trap : INT; echo 'what was before'; {} watch; exec sleep 1000", crate::common::AGTMUX),
    );
    tmux.run(&["split-window", "-d", "-t", &pane, "exec sleep 1000"]);
    tmux.run(&["resize-pane", "-t", &pane, "-y", "5"]);
    let screen = |what: &str, wanted: &dyn Fn(&[String]) -> bool| {
        wait_for(what, || {
            let lines = tmux.run(&["capture-pane", "-p", "-t", &pane]);
            let lines: Vec<_> = lines.lines().map(|line| line.trim_end().to_owned()).collect();
            if wanted(&lines) { Ok(lines) } else { Err(format!("{lines:#?}")) }
        })
    };
    let shown = screen("the clipped table", &|lines| lines.iter().any(|line| line == "… 5 more"));
    assert!(shown[0].starts_with("STATE") && shown[1].contains("the urgent one"), "{shown:#?}");
    assert!(shown.last().unwrap().contains("6 agents"), "{shown:#?}");
    assert_eq!(tmux.format(&pane, "#{alternate_on} #{history_size}"), "1 0");
    // Another size is drawn anew at once.
    tmux.run(&["resize-pane", "-t", &pane, "-y", "12"]);
    screen("the whole table", &|lines| lines.iter().filter(|line| line.contains("claude")).count() == 6);
    tmux.keys(&pane, &["C-c"]);
    screen("what was before", &|lines| lines[0] == "what was before" && !lines.concat().contains("STATE"));
    assert_eq!(tmux.format(&pane, "#{alternate_on} #{cursor_flag} #{wrap_flag} #{history_size}"), "0 1 1 0");
}

/// A watcher whose reader goes away ends quietly.
#[test]
fn a_watcher_ends_in_order() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agent("claude");
    let pipe = format!("{} list panes --json | head -c 1", crate::common::AGTMUX);
    let piped = crate::common::Run::of(environment.shell(&pipe).env("AGTMUX_TMUX_SOCKET", environment.path("t"))).ok();
    assert_eq!((piped.stdout.as_str(), piped.stderr.as_str()), ("{", ""));
}
