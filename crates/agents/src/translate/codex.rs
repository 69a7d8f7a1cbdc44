//! Codex: its hooks and its notify command.
//!
//! Nothing fires on Escape, on a refusal or on an error of the provider; the program status in the pane's stream and the
//! app server tell these. A session's start and end are told when its first prompt comes and when its server lets go of
//! it, which says nothing about the pane.

pub(super) mod app_server;
pub(super) mod clients;
pub(super) mod rollout;

use agtmux_core::signal::{Blocking, InputKind, Outcome, Signal, Work};
use serde_json::Value;

use super::conversation::{Conversation, Turn};
use super::payload::{hash, line, list, message, question, subject, text};
use super::{About, Told};
use crate::reading::Reading;

const SAYS_NOTHING: &[&str] = &["SessionEnd", "SessionStart", "SubagentStart", "SubagentStop"];

/// The prompt of the thread that names the conversation behind the person's back.
const TITLE_PROMPT: &str = "Generate a concise, single-line task title";

/// The tool that asks the person; no other event tells of the question.
const QUESTION: &str = "request_user_input";

pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    About {
        event: text(payload, "hook_event_name").or_else(|| text(payload, "type")).or(event).unwrap_or_default(),
        payload,
        session: text(payload, "session_id").or_else(|| text(payload, "thread-id")),
        transcript: text(payload, "transcript_path"),
    }
}

pub(super) fn hook(about: &About<'_>, conversation: &mut Conversation) -> Told {
    let About { event, payload, session, .. } = *about;
    if SAYS_NOTHING.contains(&event) {
        return Told::NOTHING;
    }
    if session.is_none() {
        return Told::Unread(format!("{event} without a session"));
    }
    match event {
        // It comes again when the person steers the turn that goes on.
        "UserPromptSubmit" if text(payload, "prompt").is_some() => {
            conversation.asks.forget();
            conversation.turn = Turn::Active;
            Told::one(Signal::TurnStarted)
        }
        "PreToolUse" => tool_begins(about, conversation),
        "PermissionRequest" => permission(payload, conversation),
        "PostToolUse" => tool_over(about, conversation),
        "PreCompact" => Told::one(Signal::Working { with: Work::Compacting }),
        "PostCompact" => Told::one(Signal::WorkEnded),
        "Stop" => {
            conversation.asks.forget();
            conversation.turn = Turn::Over;
            Told::Means(vec![done(payload, "last_assistant_message")])
        }
        "agent-turn-complete" => notified(payload, conversation),
        "approval-requested" => approval_notified(payload, conversation),
        _ => Told::Unread(format!("event {event}")),
    }
}

fn tool_begins(about: &About<'_>, conversation: &mut Conversation) -> Told {
    match text(about.payload, "tool_name") {
        Some(QUESTION) => {
            let on = Blocking::Input { kind: InputKind::Question };
            let asked = question(&about.payload["tool_input"]).unwrap_or_default();
            let reading = Reading { key: key(about), ..Reading::new(Signal::Blocked { on }).with_message(asked) };
            Told::Means(conversation.asks.ask(QUESTION, None, reading))
        }
        Some(tool) => {
            let signal = Signal::Working { with: Work::Tool { name: line(tool, 80) } };
            Told::Means(vec![Reading { key: key(about), ..Reading::new(signal) }])
        }
        None => Told::Unread("PreToolUse without a tool".to_owned()),
    }
}

/// A request for permission has no id, and a justification that the tool's other events lack.
fn permission(payload: &Value, conversation: &mut Conversation) -> Told {
    let Some(tool) = text(payload, "tool_name") else {
        return Told::Unread("PermissionRequest without a tool".to_owned());
    };
    let input = &payload["tool_input"];
    let prompt_hash = Some(hash(tool, input, &[]));
    let on = Blocking::Approval { subject: Some(subject(tool, input)), prompt_hash };
    Told::Means(conversation.asks.ask(&request(tool, input), None, Reading::new(Signal::Blocked { on })))
}

/// A tool is done: that answers the request for this tool, and for no other.
fn tool_over(about: &About<'_>, conversation: &mut Conversation) -> Told {
    let Some(tool) = text(about.payload, "tool_name") else {
        return Told::Unread("PostToolUse without a tool".to_owned());
    };
    let mut readings = conversation.asks.answer(&request(tool, &about.payload["tool_input"]));
    readings.push(Reading { key: key(about), ..Reading::new(Signal::WorkEnded) });
    Told::Means(readings)
}

fn request(tool: &str, input: &Value) -> String {
    match tool {
        QUESTION => QUESTION.to_owned(),
        _ => hash(tool, input, &["description"]),
    }
}

/// The notify command runs after the end of a turn, for the hidden title thread as well. Where hooks are heard they have
/// told the end already, and the notice may land in the turn that follows it.
fn notified(payload: &Value, conversation: &Conversation) -> Told {
    let prompts = list(payload, "input-messages");
    if prompts.first().and_then(Value::as_str).is_some_and(|prompt| prompt.starts_with(TITLE_PROMPT)) {
        return Told::Foreign("the hidden thread that makes the title");
    }
    if conversation.turn != Turn::Unheard {
        return Told::NOTHING;
    }
    let done = done(payload, "last-assistant-message");
    Told::Means(vec![match text(payload, "turn-id") {
        Some(turn) => done.with_key(format!("agent-turn-complete/{}", line(turn, 100))),
        None => done,
    }])
}

/// The notify command of older versions tells of a question. Where hooks are heard they have asked already, and know more of it.
fn approval_notified(payload: &Value, conversation: &Conversation) -> Told {
    if conversation.turn != Turn::Unheard {
        return Told::NOTHING;
    }
    let command = || {
        let words: Vec<_> = list(payload, "command").iter().filter_map(Value::as_str).collect();
        (!words.is_empty()).then(|| words.join(" "))
    };
    let told = ["command", "reason", "message"].into_iter().find_map(|name| text(payload, name).map(str::to_owned));
    let subject = command().or(told).map(|subject| line(&subject, 200));
    let reading = Reading::new(Signal::Blocked { on: Blocking::Approval { subject, prompt_hash: None } });
    let id = ["approval-id", "call-id", "item-id", "turn-id"].into_iter().find_map(|name| text(payload, name));
    Told::Means(vec![match id {
        Some(id) => reading.with_key(format!("approval-requested/{}", line(id, 100))),
        None => reading,
    }])
}

fn done(payload: &Value, last: &str) -> Reading {
    Reading::new(Signal::TurnEnded { outcome: Outcome::Done })
        .with_message(message(text(payload, last).unwrap_or_default()))
}

/// A tool's events have the id of the call, which is counted anew in each session.
fn key(about: &About<'_>) -> Option<String> {
    let id = text(about.payload, "tool_use_id")?;
    let turn = text(about.payload, "turn_id").or(about.session)?;
    Some(format!("{}/{}/{}", about.event, line(turn, 100), line(id, 100)))
}
