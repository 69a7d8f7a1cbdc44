//! Names that mean something to tmux, a shell, a terminal or a parser are only names.

use std::fs;

use serde_json::Value;

use crate::common::{TestEnvironment, wait_for};

/// F5, F6: session and window names with what tmux, formats, shells and line protocols treat as special.
#[test]
fn names_are_only_names() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    environment.start_daemon();
    let trap = environment.path("trap");
    // tmux expands formats when it takes a name; a doubled `#` is how one gets into the name itself.
    let shell = format!("##(touch {})", trap.display());
    for (number, name) in [
        "a:b.c",
        "tab\there",
        "line\nbreak",
        "Grüße 你好 🧪",
        "%end 1 2 3",
        "-t",
        "'\"$HOME;~{}",
        "=exact",
        "##{pane_id} ##",
        "a/b//c",
        "\u{202e}reversed",
        shell.as_str(),
    ]
    .iter()
    .enumerate()
    {
        let session = format!("s{number}");
        tmux.run(&["new-session", "-d", "-s", &session, "-n", "base", "exec sleep 100000"]);
        let agent = environment.agent_in(&tmux, &session, "claude");
        tmux.run(&["rename-session", "-t", &format!("={session}"), "--", name]);
        tmux.run(&["rename-window", "-t", &agent.pane, "--", name]);
        // What tmux made of it is the name: it replaces some characters and escapes others.
        let expected = tmux.format(&agent.pane, "#{session_name}\u{1}#{window_name}");
        let (session_name, window_name) = expected.split_once(['\u{1}']).unwrap_or_else(|| {
            // tmux shows the separator as an escape.
            expected.split_once("\\001").unwrap()
        });
        environment.wait_for_pane(&agent.pane, &format!("the names of {name:?}"), |pane| {
            pane["agent"] == "claude"
                && pane["identity"]["session_name"] == session_name
                && pane["window_name"] == window_name
        });
        // By its name it can be found again, alone and with the rest of the way.
        let found = environment.agtmux(&["list", "panes", "--json", &format!("--session={session_name}")]).ok().json();
        assert_eq!(found["items"][0]["identity"]["pane_id"], agent.pane, "{name:?}: {found:#}");
        let reference = format!("pane:local/{session_name}/1/0");
        let explained = environment.agtmux(&["explain", "--json", &reference]);
        assert_eq!(explained.clone().ok().json()["pane"]["identity"]["pane_id"], agent.pane, "{explained:#?}");
    }
    let table = environment.agtmux(&["list", "panes"]).ok().stdout;
    assert!(table.chars().all(|c| c == '\n' || !c.is_control()) && !table.contains('\u{202e}'), "{table:?}");
    assert!(!trap.exists(), "a name was run as a command");
}

/// tmux reports a directory as it is: a line break in it must not become another row, nor a tab another field.
#[test]
fn a_directory_may_hold_a_line_break() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    let dir = environment.path("a\tb\n%end 1 2 3\n%1 c");
    fs::create_dir(&dir).unwrap();
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent
        .run(&format!(
            "cd \"$(printf '{}')\"",
            dir.display().to_string().replace('\n', "\\n").replace('\t', "\\t").replace('%', "%%")
        ))
        .ok();
    environment.agent("codex");
    // Directories are read with the rest of the truth, at a full look.
    environment.agtmux(&["daemon", "stop"]).ok();
    environment.start_daemon();
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!(pane["cwd"], dir.display().to_string(), "{pane:#}");
    let list = environment.agtmux(&["list", "panes", "--all", "--json"]).ok().json();
    assert_eq!(list["items"].as_array().unwrap().len(), 3, "{list:#}");
    assert!(tmux.is_running());
}

/// Titles come from whatever runs in a pane; they are shown, and obeyed by nobody.
#[test]
fn titles_are_shown_and_not_obeyed() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    for title in ["⠋ working: 100% (#(id)) ; %end", "waiting_approval", "#{pane_pid}", "naïve 你好"] {
        agent.run(&format!("printf '\\033]2;%s\\007' '{title}' >/dev/tty")).ok();
        let pane = environment.wait_for_pane(&agent.pane, &format!("the title {title:?}"), |pane| {
            pane["title"].as_str().is_some_and(|seen| seen == title)
        });
        assert_eq!(pane["state"], "unknown", "{pane:#}");
    }
    // What a pane prints is never taken for what tmux says.
    agent.run("printf '%%begin 1 2 0\\n%%end 1 2 0\\n%%exit\\n%%session-changed $9 x\\n' >/dev/tty").ok();
    agent.signal("running").ok();
    assert_eq!(environment.pane(&agent.pane).unwrap()["state"], "running");
}

/// A message is text for a person: nothing in it moves a cursor, and JSON carries it whole.
#[test]
fn messages_cannot_play_tricks_on_a_terminal() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let message = "a\u{1b}[2J\u{7}b\nc\td \u{202e}e";
    let event = serde_json::json!({ "state": "error", "pane_id": agent.pane, "message": message });
    assert_eq!(environment.post_event(&event).status, 200);
    for arguments in [vec!["list", "panes"], vec!["explain", &agent.pane], vec!["events"]] {
        let shown = environment.agtmux(&arguments).ok().stdout;
        assert!(shown.chars().all(|c| c == '\n' || !c.is_control()) && !shown.contains('\u{202e}'), "{shown:?}");
    }
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!(pane["attention"]["message"], Value::String(message.to_owned()));
}

/// Windows that move, are linked into two sessions or are zoomed keep one row per pane.
#[test]
fn a_pane_has_one_row_wherever_it_goes() {
    let environment = TestEnvironment::with_tmux();
    let tmux = environment.tmux();
    tmux.run(&["new-session", "-d", "-s", "zz", "-n", "base", "exec sleep 100000"]);
    environment.start_daemon();
    let agent = environment.agent("claude");
    agent.signal("running").ok();
    let runtime = environment.pane(&agent.pane).unwrap()["runtime_id"].clone();
    let rows = || {
        let list = environment.get("/v1/panes");
        let items = list["items"].as_array().unwrap();
        let place = |item: &Value| format!("{}:{}", item["identity"]["session_name"], item["window_index"]);
        (items.len(), items.iter().map(place).collect::<String>())
    };
    let wait_for_place = |what: &str, place: &str| {
        wait_for(what, || {
            let now = rows();
            if now == (1, place.to_owned()) { Ok(()) } else { Err(format!("{now:?}")) }
        });
    };
    tmux.run(&["link-window", "-d", "-s", &agent.pane, "-t", "=zz:7"]);
    wait_for_place("the linked window", "\"main\":1");
    tmux.run(&["unlink-window", "-t", "=main:1"]);
    wait_for_place("the window in its other session", "\"zz\":7");
    tmux.run(&["move-window", "-d", "-s", "=zz:7", "-t", "=zz:3"]);
    wait_for_place("the moved window", "\"zz\":3");
    tmux.run(&["rename-session", "-t", "=zz", "yy"]);
    wait_for_place("the renamed session", "\"yy\":3");
    let pane = environment.pane(&agent.pane).unwrap();
    assert_eq!((&pane["runtime_id"], &pane["state"]), (&runtime, &"running".into()));
}
