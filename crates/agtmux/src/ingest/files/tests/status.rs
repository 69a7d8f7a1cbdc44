//! Status files.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use super::desk::Desk;

const FILE: &str = "ws/.schmux/signal/s1";
const VARIABLE: (&str, &str) = ("SCHMUX_STATUS_FILE", "./ws/.schmux/signal/s1");

const WORKING: &str = r#"rt0 status_file: {"is":"turn_started"}"#;

fn done(message: &str) -> String {
    format!(r#"rt0 status_file: {{"is":"turn_ended","outcome":{{"how":"done"}}}} {message}"#)
}

#[test]
fn every_way_of_writing_a_file_is_seen() {
    let mut desk = Desk::new();
    // The directories come to be one by one, after the agent.
    desk.agent("codex", &[VARIABLE]);
    desk.write(FILE, "working");
    assert_eq!(desk.next(), WORKING);
    desk.write(FILE, "completed by truncation\n");
    assert_eq!(desk.next(), done("by truncation"));
    desk.write("ws/.schmux/signal/new", "completed by renaming\n");
    fs::rename(desk.path("ws/.schmux/signal/new"), desk.path(FILE)).unwrap();
    assert_eq!(desk.next(), done("by renaming"));
    // Another file beside it, and one that is empty since it is being written to, say nothing.
    desk.write("ws/.schmux/signal/s2", "error not ours");
    desk.write(FILE, "");
    desk.write(FILE, "completed after being empty");
    assert_eq!(desk.next(), done("after being empty"));
    fs::remove_file(desk.path(FILE)).unwrap();
    assert_eq!(desk.next(), r#"rt0 status_file: {"is":"withdrawn"}"#);
    fs::remove_dir_all(desk.path("ws")).unwrap();
    desk.write(FILE, "working");
    assert_eq!(desk.next(), WORKING);
    fs::rename(desk.path("ws/.schmux/signal"), desk.path("ws/.schmux/elsewhere")).unwrap();
    assert_eq!(desk.next(), r#"rt0 status_file: {"is":"withdrawn"}"#);
    desk.write(FILE, "completed in a new directory");
    assert_eq!(desk.next(), done("in a new directory"));
}

#[test]
fn the_session_in_the_workspace_will_do_for_a_name() {
    let mut desk = Desk::new();
    desk.agent("codex", &[("SCHMUX_SESSION_ID", "s7")]);
    desk.write(".schmux/signal/s7", "working");
    assert_eq!(desk.next(), WORKING);
    // A session that is a path is none.
    desk.agent("codex", &[("SCHMUX_SESSION_ID", "../signal/s7")]);
    desk.write(".schmux/signal/s7", "completed");
    assert_eq!(desk.next(), done("").trim_end());
}

#[test]
fn what_a_file_said_before_the_agent_was_there_was_said_of_another() {
    let mut desk = Desk::new();
    desk.write(FILE, "error of yesterday");
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    fs::File::open(desk.path(FILE)).unwrap().set_modified(yesterday).unwrap();
    desk.agent("codex", &[VARIABLE]);
    desk.agent("codex", &[("SCHMUX_STATUS_FILE", "./other")]);
    desk.write("other", "working");
    assert_eq!(desk.next(), WORKING.replace("rt0", "rt1"), "the second agent's first look came after the first's");
    desk.write(FILE, "working");
    assert_eq!(desk.next(), WORKING);
}

#[test]
fn what_it_says_when_the_reader_starts_counts() {
    let mut desk = Desk::new();
    let process = desk.process(&[VARIABLE]);
    desk.write(FILE, "needs_input Delete them?");
    desk.join("codex", process);
    let asked = r#"rt0 status_file: {"is":"blocked","on":{"what":"input","kind":"question"}} Delete them?"#;
    assert_eq!(desk.next(), asked);
}

#[test]
fn nothing_put_in_its_place_misleads_or_holds_up() {
    let mut desk = Desk::new();
    desk.agent("codex", &[VARIABLE]);
    desk.write("secret", "completed with somebody's secret");
    desk.write("ws/.schmux/signal/x", "");
    let file = desk.path(FILE);
    let mut told = Vec::new();
    let mut next = |desk: &mut Desk| {
        told.push(desk.next());
        if fs::remove_file(&file).is_err() {
            fs::remove_dir(&file).unwrap();
        }
    };
    assert!(Command::new("mkfifo").arg(&file).status().unwrap().success());
    next(&mut desk);
    symlink(desk.path("secret"), &file).unwrap();
    next(&mut desk);
    fs::create_dir(&file).unwrap();
    next(&mut desk);
    desk.write(FILE, &format!("completed {}", "x".repeat(4_096)));
    next(&mut desk);
    desk.write(FILE, "finished it all \u{1b}[31m");
    told.push(desk.next());
    // Of somebody else: only who may give files away can try that; others find such files lying around.
    fs::remove_file(&file).unwrap();
    told.push(desk.next());
    desk.write("ws/.schmux/signal/foreign", "completed of somebody else");
    if std::os::unix::fs::chown(desk.path("ws/.schmux/signal/foreign"), Some(12_345), None).is_ok() {
        fs::rename(desk.path("ws/.schmux/signal/foreign"), &file).unwrap();
        assert!(desk.next().contains("belongs to somebody else"));
        fs::remove_file(&file).unwrap();
    }
    // A link on the way.
    fs::rename(desk.path("ws/.schmux/signal"), desk.path("ws/real")).unwrap();
    symlink(desk.path("ws/real"), desk.path("ws/.schmux/signal")).unwrap();
    desk.write("ws/real/s1", "completed by way of a link");
    told.push(desk.next());
    assert_snapshot!(told.join("\n"));
}

#[test]
fn of_ten_thousand_writes_the_last_one_counts() {
    let mut desk = Desk::new();
    desk.agent("codex", &[VARIABLE]);
    let file = desk.path(FILE);
    desk.write(FILE, "working");
    let writer = std::thread::spawn(move || {
        for n in 0..10_000 {
            // Two texts of one length, so that neither size nor time tells them apart.
            fs::write(&file, if n % 2 == 0 { "error on the way" } else { "error off target" }).unwrap();
        }
        fs::write(&file, "completed the last").unwrap();
    });
    let told = desk.until("the last");
    writer.join().unwrap();
    assert!(told.len() < 2_000, "{} were told", told.len());
}

#[test]
fn the_last_of_two_texts_within_one_tick_of_the_clock_counts() {
    let mut desk = Desk::new();
    desk.agent("codex", &[VARIABLE]);
    for n in 0..200 {
        for (text, signal) in [("error a", "failed"), ("needs_input b", "question"), ("error a", "failed")] {
            desk.write(FILE, text);
            let told = desk.next();
            assert!(told.contains(signal), "{n}: {text} was told as {told}");
        }
        desk.write(FILE, "working");
        assert_eq!(desk.next(), WORKING);
    }
}

#[test]
fn a_file_that_two_agents_were_told_to_use_speaks_for_neither() {
    let mut desk = Desk::new();
    desk.agent("codex", &[VARIABLE]);
    desk.write(FILE, "working");
    assert_eq!(desk.next(), WORKING);
    let second = desk.agent("codex", &[VARIABLE]);
    assert_eq!(desk.next(), r#"rt0 status_file: {"is":"withdrawn"}"#);
    desk.write(FILE, "error of whom?");
    desk.agent("codex", &[("SCHMUX_STATUS_FILE", "./other")]);
    desk.write("other", "working");
    assert_eq!(desk.next(), WORKING.replace("rt0", "rt2"));
    desk.leave(&second);
    // Who wrote last is not known; what comes next is.
    desk.write(FILE, "completed alone again");
    assert_eq!(desk.next(), done("alone again"));
}

#[test]
fn who_leaves_is_heard_no_more() {
    let mut desk = Desk::new();
    let first = desk.agent("codex", &[VARIABLE]);
    desk.agent("codex", &[("SCHMUX_STATUS_FILE", "./other")]);
    desk.write(FILE, "working");
    assert_eq!(desk.next(), WORKING);
    desk.leave(&first);
    desk.write(FILE, "error after the end");
    desk.write("other", "working");
    assert_eq!(desk.next(), WORKING.replace("rt0", "rt1"));
}
