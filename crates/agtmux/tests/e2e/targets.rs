//! `agtmux target`: places by name, asked before they are forgotten.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::{AGTMUX, Run, TestEnvironment, wait_for};

fn names(environment: &TestEnvironment) -> Vec<String> {
    let list = environment.agtmux(&["target", "list", "--json"]).ok().json();
    let name = |item: &Value| item["identity"]["target"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn targets_are_added_listed_and_removed() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agent("claude");
    let list = environment.agtmux(&["target", "list", "--json"]).ok().json();
    let local = &list["items"][0];
    assert_eq!((&local["kind"], &local["health"], &local["is_default"]), (&"local".into(), &"ok".into(), &true.into()));
    assert_eq!(local["runtimes"], 1);

    let added = environment.agtmux(&["target", "add", "box", "--kind", "ssh", "--ssh-target", "me@box", "--json"]);
    let added = added.ok().json();
    assert_eq!((&added["connection_ref"], &added["health"]), (&"me@box".into(), &"down".into()), "{added:#}");
    // The same once more is no mistake; the same name for another place is.
    environment.agtmux(&["target", "add", "box", "--kind", "ssh", "--ssh-target", "me@box"]).ok();
    let other = environment.agtmux(&["target", "add", "box", "--kind", "ssh", "--ssh-target", "other", "--json"]);
    assert_eq!((other.code, &other.error()["code"]), (4, &"E_TARGET_EXISTS".into()), "{other:#?}");
    // This host has one name, under which its panes are listed.
    let here = environment.agtmux(&["target", "add", "here", "--kind", "local", "--json"]);
    assert_eq!((here.code, &here.error()["code"]), (4, &"E_TARGET_EXISTS".into()), "{here:#?}");
    environment.agtmux(&["target", "add", "local", "--kind", "local"]).ok();
    assert_eq!(names(&environment), ["box", "local"]);
    let list = environment.agtmux(&["target", "list", "--json"]).ok().json();
    assert_eq!(list["summary"], json!({"total": 2, "by_health": {"ok": 1, "degraded": 0, "down": 1}, "runtimes": 1}));
    assert_eq!((&list["filters"], &list["errors"][0]["target"]), (&json!({}), &json!("box")), "{list:#}");
    let local = &list["items"][1];
    assert_eq!((&local["servers"], &local["panes"], &local["runtimes"]), (&json!(1), &json!(2), &json!(1)), "{list:#}");
    environment.agtmux(&["target", "connect", "local"]).ok();
    let unreachable = environment.agtmux(&["target", "connect", "box", "--json"]);
    assert_eq!((unreachable.code, &unreachable.error()["code"]), (4, &"E_TARGET_UNREACHABLE".into()));
    // A target that is down hides nobody, and is named.
    let panes = environment.agtmux(&["list", "panes", "--json"]).ok().json();
    assert_eq!((&panes["summary"]["total"], &panes["errors"][0]["target"]), (&1.into(), &"box".into()), "{panes:#}");
    // Whoever asks for one target is told nothing of the others.
    for narrowed in [["--target", "local"], ["--target-session", "local/main"]] {
        let panes = environment.agtmux(&[&["list", "panes", "--json"], &narrowed[..]].concat()).ok().json();
        assert_eq!((&panes["summary"]["total"], &panes["errors"]), (&json!(1), &json!([])), "{narrowed:?}: {panes:#}");
    }
    let panes = environment.agtmux(&["list", "windows", "--target", "box", "--json"]).ok().json();
    assert_eq!(panes["errors"][0]["target"], "box", "{panes:#}");
    // Targets outlive the daemon.
    environment.agtmux(&["daemon", "stop"]).ok();
    assert_eq!(names(&environment), ["box", "local"]);
    let removed = environment.agtmux(&["target", "remove", "box", "--yes", "--json"]).ok().json();
    assert_eq!(removed["identity"]["target"], "box");
    assert_eq!(names(&environment), ["local"]);
}

/// Without `--yes` a person is asked; where nobody can be asked, nothing is done.
#[test]
fn removal_asks_first() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    environment.agtmux(&["target", "add", "box", "--kind", "ssh", "--ssh-target", "box"]).ok();
    let refused = environment.agtmux(&["target", "remove", "box", "--json"]);
    assert_eq!((refused.code, &refused.error()["code"]), (1, &"E_CANCELLED".into()), "{refused:#?}");
    assert_eq!(names(&environment), ["box", "local"]);
    // On a terminal, in a pane: first no, then yes.
    let tmux = environment.tmux();
    let pane = tmux.window("main", &format!("while :; do {AGTMUX} target remove box; echo code=$?; done"));
    let screen = |text: &str| {
        wait_for(&format!("{text:?} on the screen"), || {
            let screen = tmux.run(&["capture-pane", "-p", "-t", &pane]);
            if screen.contains(text) { Ok(()) } else { Err(screen) }
        });
    };
    screen("[y/N]");
    tmux.keys(&pane, &["n", "Enter"]);
    screen("code=1");
    assert_eq!(names(&environment), ["box", "local"]);
    tmux.keys(&pane, &["y", "Enter"]);
    screen("code=0");
    assert_eq!(names(&environment), ["local"]);
}

/// The service file starts this very binary.
#[test]
fn the_unit_starts_the_daemon() {
    let environment = TestEnvironment::new();
    let unit = environment.agtmux(&["daemon", "unit", "--format", "systemd"]).ok().stdout;
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let program = line.split('"').nth(1).unwrap();
    let version = Run::of(Command::new(program).arg("--version")).ok().stdout;
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    let plist = environment.agtmux(&["daemon", "unit", "--format", "launchd"]).ok().stdout;
    assert!(plist.contains(program), "{plist}");
}
