//! `agtmux explain`: the evidence behind a state, and every way to say which agent is meant.

use insta::assert_snapshot;

use crate::common::{TestEnvironment, redacted};

#[test]
fn the_evidence_is_shown_and_what_would_change_it() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let silent = environment.agtmux(&["explain", &agent.pane]).ok().stdout;
    agent.signal("running").ok();
    agent.signal("waiting_approval 'run the tests?'").ok();
    let said = environment.agtmux(&["explain", &agent.pane]).ok().stdout;
    let shown = format!("before it said anything\n\n{silent}\nafter it asked\n\n{said}");
    let shown = redacted(&shown, environment.root());
    let until = regex::Regex::new(r"\d\d:\d\d:\d\dZ").unwrap();
    assert_snapshot!(until.replace_all(&shown, "[UNTIL]"));

    let document = environment.agtmux(&["explain", &agent.pane, "--json"]).ok().json();
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["pane"], environment.pane(&agent.pane).unwrap());
    assert_eq!(document["chain"][0]["status"], "deciding");
    for key in ["fact", "value", "source", "evidence", "seq", "at", "expires_at", "note"] {
        assert!(document["chain"][0].as_object().unwrap().contains_key(key), "{key}: {document:#}");
    }
}

#[test]
fn every_way_to_say_which_agent() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let pane = environment.pane(&agent.pane).unwrap();
    let runtime = pane["runtime_id"].as_str().unwrap();
    let window = pane["identity"]["window_id"].as_str().unwrap();
    for reference in [
        agent.pane.clone(),
        runtime.to_owned(),
        format!("runtime:{runtime}"),
        format!("runtime:{}", &runtime[..8]),
        format!("pane:local/main/{window}/{}", agent.pane),
        "pane:local/main/1/0".to_owned(),
        "pane:local/main/claude/0".to_owned(),
    ] {
        let explained = environment.agtmux(&["explain", &reference, "--json"]).ok().json();
        assert_eq!(explained["pane"]["runtime_id"], runtime, "{reference}");
    }
}
