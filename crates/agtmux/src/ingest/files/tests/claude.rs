//! Claude's session files.

use agtmux_core::id::ProcessKey;
use agtmux_core::state::State;
use insta::assert_snapshot;
use serde_json::json;

use super::desk::Desk;

fn session(process: ProcessKey, status: &str, waiting_for: Option<&str>, at: i64) -> String {
    json!({
        "pid": process.pid, "procStart": process.start.to_string(), "sessionId": "aa04", "cwd": "/ws",
        "status": status, "waitingFor": waiting_for, "statusUpdatedAt": at,
    })
    .to_string()
}

fn file(process: ProcessKey) -> String {
    format!(".claude/sessions/{}.json", process.pid)
}

#[test]
fn each_change_of_status_is_told_once() {
    let mut desk = Desk::new();
    let agent = desk.agent("claude", &[]);
    let name = file(agent.process);
    let now = 1_794_730_406_238;
    let mut told = Vec::new();
    desk.write(&name, &session(agent.process, "idle", None, now));
    told.extend([desk.next(), desk.next()]);
    for (status, waiting_for) in
        [("busy", None), ("waiting", Some("permission prompt")), ("busy", None), ("idle", None), ("shell", None)]
    {
        let at = now + told.len() as i64;
        desk.write(&name, &session(agent.process, status, waiting_for, at));
        told.push(desk.next());
        // Something else of the file changed: the status is no news, nor is the conversation.
        desk.write(&name, &session(agent.process, status, waiting_for, at).replace("/ws", "/elsewhere"));
    }
    let text = told.join("\n").replace(&agent.process.pid.to_string(), "[PID]");
    assert_snapshot!(text);
}

#[test]
fn a_file_of_another_life_is_not_believed() {
    let mut desk = Desk::new();
    let agent = desk.agent("claude", &[("CLAUDE_CONFIG_DIR", "./config")]);
    let name = format!("config/sessions/{}.json", agent.process.pid);
    let other = ProcessKey { start: agent.process.start + 1, ..agent.process };
    for bad in [
        session(other, "busy", None, 1),
        session(ProcessKey { pid: 1, ..agent.process }, "busy", None, 2),
        session(agent.process, "busy", None, 3).replace("procStart", "start"),
        "{".to_owned(),
        "[]".to_owned(),
        String::new(),
    ] {
        desk.write(&name, &bad);
    }
    desk.write(&name, &session(agent.process, "waiting", Some("input needed"), 4));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"blocked","on":{"what":"input","kind":"question"}}"#);
}

/// A hook of a subagent that ended begins a turn while another one's question is still there: the file, which does not
/// change, is looked at again and says so. Once is enough.
#[test]
fn a_question_that_is_still_there_is_said_again() {
    let mut desk = Desk::new();
    let agent = desk.agent("claude", &[]);
    let name = file(agent.process);
    desk.write(&name, &session(agent.process, "waiting", Some("permission prompt"), 1));
    assert!(desk.next().contains(r#""is":"blocked""#));
    assert!(desk.next().starts_with("rt0 converses in aa04"));
    desk.show(&agent, State::WaitingApproval, 1);
    desk.show(&agent, State::Running, 2);
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"still_so"}"#);
    desk.show(&agent, State::WaitingApproval, 1);
    desk.write(&name, &session(agent.process, "busy", None, 2));
    assert!(desk.next().starts_with(r#"rt0 vendor_file: {"is":"turn_started"}"#));
    desk.show(&agent, State::Running, 3);
    desk.write(&name, &session(agent.process, "idle", None, 3));
    assert!(desk.next().starts_with(r#"rt0 vendor_file: {"is":"idle"}"#));
}

/// The same where a daemon that was just started finds it so: what it reads it has been told before.
#[test]
fn a_question_from_before_a_restart_is_said_again() {
    let mut desk = Desk::new();
    let agent = desk.agent("claude", &[]);
    desk.show(&agent, State::Running, 1);
    desk.write(&file(agent.process), &session(agent.process, "waiting", Some("permission prompt"), 1));
    assert!(desk.next().contains(r#""is":"blocked""#));
    assert!(desk.next().starts_with("rt0 converses in aa04"));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"still_so"}"#);
}

/// Where a launcher stands for the runtime, the file is named after the process that it started.
#[test]
fn the_file_of_a_process_below_the_launcher_is_found() {
    let mut desk = Desk::new();
    let launcher = desk.launcher();
    let below = desk.child_of(launcher);
    desk.write(".claude/sessions/junk.json", "{}");
    desk.write(".claude/sessions/1.json", "{}");
    desk.join("claude", launcher);
    desk.write(&file(below), &session(below, "busy", None, 1));
    assert_eq!(desk.next(), r#"rt0 vendor_file: {"is":"turn_started"}"#);
    assert!(desk.next().starts_with("rt0 converses in aa04"));
    desk.write(&file(below), &session(below, "idle", None, 2));
    assert!(desk.next().starts_with(r#"rt0 vendor_file: {"is":"idle"}"#));
}

/// What a killed agent leaves standing gives it away.
#[test]
fn who_ends_without_a_farewell_was_killed() {
    let mut desk = Desk::new();
    let mut agent = desk.agent("claude", &[]);
    desk.write(&file(agent.process), &session(agent.process, "busy", None, 1));
    desk.until(&file(agent.process));
    let standing = Some(desk.path(&file(agent.process)));
    agent.conversation = Some(crate::daemon::roster::Conversation { standing, ..Default::default() });
    assert!(!agent.ended_without_farewell(), "it lives");
    desk.kill(agent.process);
    assert!(agent.ended_without_farewell());
    std::fs::remove_file(desk.path(&file(agent.process))).unwrap();
    assert!(!agent.ended_without_farewell(), "it has taken its leave");
}
