//! Events files.

use std::fs::{self, OpenOptions};
use std::io::Write;

use insta::assert_snapshot;

use super::desk::Desk;

const FILE: &str = "ws/.schmux/events/s1.jsonl";
const VARIABLE: (&str, &str) = ("SCHMUX_EVENTS_FILE", "./ws/.schmux/events/s1.jsonl");

fn append(desk: &Desk, text: &str) {
    let path = desk.path(FILE);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

fn status(state: &str, message: &str) -> String {
    format!("{{\"type\":\"status\",\"state\":\"{state}\",\"message\":\"{message}\"}}\n")
}

#[test]
fn lines_are_told_as_they_are_completed() {
    let mut desk = Desk::new();
    desk.agent("codex", &[VARIABLE]);
    let mut told = Vec::new();
    append(&desk, &status("working", "one"));
    told.push(desk.next());
    let (half, other_half) = ("{\"type\":\"status\",\"state\":\"needs_", "input\",\"message\":\"two\"}\n");
    append(&desk, half);
    append(&desk, other_half);
    told.push(desk.next());
    append(&desk, "{\"type\":\"friction\",\"text\":\"x\"}\n{\"type\":\"resume_id\",\"id\":\"abc\"}\n");
    told.push(desk.next());
    append(&desk, "not json\n");
    told.push(desk.next());
    append(&desk, &format!("{{\"type\":\"status\",\"message\":\"{}\"}}\n", "x".repeat(70_000)));
    told.push(desk.next());
    append(&desk, &(status("working", "three") + &status("completed", "four")));
    told.extend([desk.next(), desk.next()]);
    fs::write(desk.path(FILE), status("error", "after truncation")).unwrap();
    told.push(desk.next());
    fs::write(desk.path("ws/.schmux/events/new"), status("working", "after rotation")).unwrap();
    fs::rename(desk.path("ws/.schmux/events/new"), desk.path(FILE)).unwrap();
    told.push(desk.next());
    assert_snapshot!(told.join("\n"));
}

/// Who starts late need not relive the past: only what still stands is told.
#[test]
fn of_what_was_there_before_only_the_end_counts() {
    let mut desk = Desk::new();
    let process = desk.process(&[VARIABLE]);
    append(&desk, "{\"type\":\"resume_id\",\"id\":\"early\"}\n");
    for n in 0..5_000 {
        append(&desk, &(status("working", "") + &status("needs_input", &format!("{n}"))));
    }
    append(&desk, &(status("working", "last") + &status("needs_input", "this one")));
    desk.join("codex", process);
    assert_eq!(desk.next(), r#"rt0 events_file: {"is":"turn_started"} last"#);
    assert!(desk.next().ends_with("this one"));
}

/// The life of a file may be longer than that of an agent.
#[test]
fn what_was_written_before_the_agent_was_there_was_said_of_another() {
    let mut desk = Desk::new();
    append(&desk, "{\"ts\":\"2020-01-31T09:00:00Z\",\"type\":\"status\",\"state\":\"error\"}\n");
    desk.agent("codex", &[VARIABLE]);
    desk.agent("codex", &[("SCHMUX_STATUS_FILE", "./other")]);
    desk.write("other", "working");
    assert_eq!(desk.next(), r#"rt1 status_file: {"is":"turn_started"}"#);
    append(&desk, &status("working", "now"));
    assert_eq!(desk.next(), r#"rt0 events_file: {"is":"turn_started"} now"#);
}

#[test]
fn a_pipe_in_its_place_holds_nobody_up() {
    let mut desk = Desk::new();
    desk.write("ws/.schmux/events/x", "");
    assert!(std::process::Command::new("mkfifo").arg(desk.path(FILE)).status().unwrap().success());
    desk.agent("codex", &[VARIABLE]);
    assert!(desk.next().contains("it is no regular file"));
    fs::remove_file(desk.path(FILE)).unwrap();
    append(&desk, &status("working", ""));
    assert_eq!(desk.next(), r#"rt0 events_file: {"is":"turn_started"}"#);
}
