//! The records that agents keep of their conversations.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use agtmux_core::id::ProcessKey;
use serde_json::{Value, json};

use super::desk::Desk;
use crate::daemon::roster::Conversation;

fn append(path: PathBuf, line: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(format!("{line}\n").as_bytes()).unwrap();
}

fn lock(session: &str, process: ProcessKey) -> String {
    format!(".copilot/session-state/{session}/inuse.{}.lock", process.pid)
}

/// Copilot fires no hook when it is interrupted, but it writes everything down, and marks where.
#[test]
fn copilots_events_are_found_by_its_lock() {
    let mut desk = Desk::new();
    desk.write(".copilot/session-state/old/inuse.1.lock", "");
    let agent = desk.agent("copilot", &[]);
    desk.write(&lock("aa", agent.process), "");
    let events = |session: &str| desk_path(&desk, session);
    let (first, second) = (events("aa"), events("bb"));
    append(first.clone(), &json!({"type": "user.message", "data": {"content": "go"}, "id": "1"}));
    assert_eq!(desk.next(), "rt0 converses in aa");
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_started"}"#);
    append(first, &json!({"type": "abort", "data": {"reason": "user_abort"}, "id": "2"}));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
    // Another conversation in the same process.
    fs::remove_file(desk.path(&lock("aa", agent.process))).unwrap();
    desk.write(&lock("bb", agent.process), "");
    assert_eq!(desk.next(), "rt0 converses in bb");
    append(second, &json!({"type": "user.message", "data": {"content": "on"}, "id": "3"}));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_started"}"#);
}

fn desk_path(desk: &Desk, session: &str) -> PathBuf {
    desk.path(&format!(".copilot/session-state/{session}/events.jsonl"))
}

#[test]
fn codexs_rollout_is_found_among_its_open_files() {
    let mut desk = Desk::new();
    let rollout = desk.path(".codex/sessions/2026/11/15/rollout-x.jsonl");
    append(rollout.clone(), &json!({"type": "session_meta", "payload": {}}));
    let process = desk.process_that_reads(&rollout);
    desk.join("codex", process);
    append(rollout.clone(), &json!({"type": "event_msg", "payload": {"type": "task_started", "turn_id": "t"}}));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_started"}"#);
    append(rollout, &json!({"type": "event_msg", "payload": {"type": "turn_aborted", "turn_id": "t"}}));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
}

/// Two agents went on with one conversation. A line of its record is about the turn of one of them, and does not say of which.
#[test]
fn a_record_that_two_agents_keep_speaks_for_neither() {
    let mut desk = Desk::new();
    let transcript = desk.path(".claude/projects/-ws/aa04.jsonl");
    append(transcript.clone(), &json!({"type": "summary"}));
    let session = Some(Conversation { session: Some("aa04".to_owned()), ..Conversation::default() });
    let interrupted = || {
        let content = [json!({"type": "text", "text": "[Request interrupted by user]"})];
        let time = jiff::Timestamp::now().to_string();
        json!({"type": "user", "timestamp": time, "message": {"content": content}})
    };
    let first = desk.agent("claude", &[]);
    desk.learn(&first, session.clone());
    append(transcript.clone(), &interrupted());
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
    let second = desk.agent("claude", &[]);
    desk.learn(&second, session);
    let third = desk.agent("claude", &[]);
    let other = desk.path(".claude/projects/-ws/bb05.jsonl");
    append(other.clone(), &json!({"type": "summary"}));
    desk.learn(&third, Some(Conversation { session: Some("bb05".to_owned()), ..Conversation::default() }));
    for is_known in [false, true] {
        // Once the third has spoken, it is known that the second is in the conversation of the first.
        if is_known {
            append(transcript.clone(), &interrupted());
        }
        append(other.clone(), &interrupted());
        assert_eq!(desk.next(), r#"rt2 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
    }
}

/// What a hook named is read only where the agent keeps its records.
#[test]
fn a_transcript_is_read_where_a_hook_said() {
    let mut desk = Desk::new();
    let member = desk.agent("gemini", &[]);
    let elsewhere = desk.path("elsewhere.jsonl");
    let transcript = desk.path(".gemini/tmp/p/chats/session-a.jsonl");
    append(elsewhere.clone(), &json!({"type": "error", "content": "not this"}));
    append(transcript.clone(), &json!({"type": "user", "content": "go"}));
    let told = |transcript| Some(Conversation { transcript: Some(transcript), ..Conversation::default() });
    desk.learn(&member, told(elsewhere));
    desk.learn(&member, told(transcript.clone()));
    append(transcript, &json!({"type": "info", "content": "Request cancelled."}));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
}

/// Claude's session file names the conversation, and its transcript says that it was interrupted. What is read of the
/// last turn after the next one has begun is no news.
#[test]
fn claudes_transcript_is_found_by_its_session() {
    let mut desk = Desk::new();
    let member = desk.agent("claude", &[]);
    let transcript = desk.path(".claude/projects/-ws/aa04.jsonl");
    append(transcript.clone(), &json!({"type": "summary"}));
    desk.learn(&member, Some(Conversation { session: Some("aa04".to_owned()), ..Conversation::default() }));
    let interrupted = |time: &str| {
        let content = [json!({"type": "text", "text": "[Request interrupted by user]"})];
        json!({"type": "user", "timestamp": time, "message": {"content": content}})
    };
    let now = jiff::Timestamp::now();
    append(transcript.clone(), &interrupted(&now.to_string()));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_ended","outcome":{"how":"interrupted"}}"#);
    let begun = jiff::Timestamp::now().as_millisecond();
    let process = member.process;
    let session = json!({"pid": process.pid, "procStart": process.start.to_string(), "sessionId": "aa04",
        "status": "busy", "statusUpdatedAt": begun});
    desk.write(&format!(".claude/sessions/{}.json", process.pid), &session.to_string());
    assert_eq!(desk.until(r#"{"is":"turn_started"}"#).len(), 2);
}
