//! What agents show: read from the screen where nobody tells better.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::common::{FakeAgent, TestEnvironment, Tmux};
use crate::files::session;

fn recording(state: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures/recordings").join(state)
}

/// Has the agent paint a screen that the real program was recorded with, and put its cursor where that had it.
fn paint(tmux: &Tmux, agent: &FakeAgent, state: &str) {
    let meta: Value = serde_json::from_str(&fs::read_to_string(recording(state).join("meta.json")).unwrap()).unwrap();
    let formats = meta.get("tmux").unwrap_or(&meta);
    let number = |key: &str| formats[key].as_str().unwrap().parse::<u32>().unwrap();
    let (width, height) = (number("pane_width").to_string(), number("pane_height").to_string());
    tmux.run(&["resize-window", "-t", &agent.pane, "-x", &width, "-y", &height]);
    let (row, column) = (number("cursor_y") + 1, number("cursor_x") + 1);
    let cursor = if number("cursor_flag") == 1 { 'h' } else { 'l' };
    let screen = recording(state).join("screen.ansi").display().to_string();
    // The last line has no end, so that the screen does not scroll.
    agent.tell(&format!(
        r"printf '\033[2J\033[H'; head -c -1 '{screen}'; printf '\033[{row};{column}H\033[?25{cursor}'"
    ));
}

/// Copilot without hooks and without its event log: only the screen tells, and takes back what it told.
#[test]
fn a_screen_tells_what_nobody_else_does() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("copilot");
    let tmux = environment.tmux();
    for (recorded, state) in [
        ("copilot/approval", "waiting_approval"),
        ("copilot/tool_running", "running"),
        ("copilot/question", "waiting_input"),
        ("copilot/finished", "idle"),
    ] {
        paint(&tmux, &agent, recorded);
        let pane = environment.wait_for_pane(&agent.pane, state, |pane| pane["state"] == state);
        assert_eq!((&pane["source"], &pane["confidence"]), (&"screen".into(), &"medium".into()), "{pane:#}");
    }
    // What the agent says itself is not overruled by what is on the screen.
    agent.signal("running").ok();
    agent.tell(r"printf '\033[2J\033[Hnothing to see'");
    let pane = environment.wait_for_pane(&agent.pane, "running", |pane| pane["state"] == "running");
    assert_eq!(pane["source"], "signal", "{pane:#}");
}

/// Claude's own file tells every edge of its state, and nothing of its composer or of why it does not move.
#[test]
fn a_screen_tells_details_of_a_state_that_others_tell() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let tmux = environment.tmux();
    agent.run(&session("busy", "", 1)).ok();
    let pane = environment.wait_for_pane(&agent.pane, "the file to tell", |pane| pane["source"] == "vendor_file");
    assert_eq!((&pane["draft"], &pane["detail"]), (&false.into(), &Value::Null), "{pane:#}");
    paint(&tmux, &agent, "claude/busy_streaming_with_draft");
    let is_told = |pane: &Value| pane["source"] == "vendor_file" && pane["state"] == "running";
    environment.wait_for_pane(&agent.pane, "the draft", |pane| pane["draft"] == true && is_told(pane));
    let table = environment.agtmux(&["list", "panes"]).ok().stdout;
    assert!(table.contains("[draft]"), "{table}");
    paint(&tmux, &agent, "claude/tool_running");
    environment.wait_for_pane(&agent.pane, "the draft to be gone", |pane| pane["draft"] == false && is_told(pane));
    for attempt in ["attempt 1/10", "attempt 4/10"] {
        let line =
            format!(r"\033[38;5;174m✻\033[39m 529 overloaded_error\033[38;5;246m · Retrying in 2s · {attempt}\033[39m");
        agent.tell(&format!(r"printf '\0337\033[27;1H\033[2K{line}\0338'"));
        let detail = format!("529 overloaded_error · Retrying · {attempt}");
        environment.wait_for_pane(&agent.pane, &detail, |pane| pane["detail"] == detail.as_str() && is_told(pane));
    }
    let table = environment.agtmux(&["list", "panes"]).ok().stdout;
    assert!(table.contains("529 overloaded_error · Retrying · attempt 4/10"), "{table}");
    paint(&tmux, &agent, "claude/tool_running");
    environment.wait_for_pane(&agent.pane, "the retry to be over", |pane| pane["detail"].is_null() && is_told(pane));
}
