//! Cursor's command-line agent: its documented hooks. Untested: the program could not be recorded.
//!
//! The hooks before a command or an MCP tool run before it is decided whether the person is asked, so they say no more
//! than that work goes on.

use agtmux_core::signal::{Cause, Outcome, Signal, Work};
use serde_json::Value;

use super::conversation::Conversation;
use super::payload::{line, text};
use super::{About, Told};

const SAYS_NOTHING: &[&str] =
    &["afterAgentResponse", "afterAgentThought", "afterTabFileEdit", "beforeReadFile", "beforeTabFileRead"];

pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    About {
        event: text(payload, "hook_event_name").or(event).unwrap_or_default(),
        payload,
        session: text(payload, "conversation_id"),
        transcript: text(payload, "transcript_path"),
    }
}

pub(super) fn hook(about: &About<'_>, _conversation: &mut Conversation) -> Told {
    let About { event, payload, session, .. } = *about;
    if SAYS_NOTHING.contains(&event) {
        return Told::NOTHING;
    }
    if session.is_none() {
        return Told::Unread(format!("{event} without a conversation"));
    }
    let tool = |name: &str| Told::one(Signal::Working { with: Work::Tool { name: line(name, 80) } });
    match event {
        "beforeSubmitPrompt" if text(payload, "prompt").is_some() => Told::one(Signal::TurnStarted),
        "beforeShellExecution" if text(payload, "command").is_some() => tool("shell"),
        "beforeMCPExecution" => match text(payload, "tool_name") {
            Some(name) => tool(name),
            None => Told::Unread("beforeMCPExecution without a tool".to_owned()),
        },
        "afterShellExecution" | "afterMCPExecution" | "afterFileEdit" => Told::one(Signal::WorkEnded),
        "stop" => match text(payload, "status") {
            Some("completed") => Told::one(Signal::TurnEnded { outcome: Outcome::Done }),
            Some("aborted") => Told::one(Signal::TurnEnded { outcome: Outcome::Interrupted }),
            Some("error") => Told::one(Signal::TurnEnded { outcome: Outcome::Failed { cause: Cause::Reported } }),
            other => Told::Unread(format!("stop {}", other.unwrap_or("without a status"))),
        },
        _ => Told::Unread(format!("event {event}")),
    }
}
