//! Gemini: its hooks.
//!
//! `AfterAgent` comes at the end of a turn, however it ended: done, stopped by Escape, or failed half way. So it says
//! that the turn is over and leaves how to the transcript and the screen. Escape at an approval fires nothing; the title
//! tells it.

pub(super) mod transcript;

use agtmux_core::signal::{Blocking, InputKind, Outcome, Signal, Work};
use serde_json::Value;

use super::conversation::{Conversation, Turn};
use super::payload::{hash, line, message, text, text_at};
use super::{About, Told};
use crate::reading::Reading;

/// `PreCompress` comes with every round of the model, whether or not anything is compressed.
const SAYS_NOTHING: &[&str] = &["AfterModel", "BeforeModel", "BeforeToolSelection", "PreCompress"];

pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    About {
        event: text(payload, "hook_event_name").or(event).unwrap_or_default(),
        payload,
        session: text(payload, "session_id"),
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
        // A prompt on the command line may begin its turn before this comes.
        "SessionStart" if conversation.turn == Turn::Active => Told::NOTHING,
        "SessionStart" if text(payload, "source").is_some() => {
            Told::one(Signal::TurnEnded { outcome: Outcome::Settled })
        }
        "BeforeAgent" if text(payload, "prompt").is_some() => {
            conversation.asks.forget();
            conversation.turn = Turn::Active;
            Told::one(Signal::TurnStarted)
        }
        "BeforeTool" => match text(payload, "tool_name") {
            Some(tool) => Told::one(Signal::Working { with: Work::Tool { name: line(tool, 80) } }),
            None => Told::Unread("BeforeTool without a tool".to_owned()),
        },
        "Notification" => notification(payload, conversation),
        "AfterTool" => tool_over(payload, conversation),
        "AfterAgent" => {
            conversation.asks.forget();
            conversation.turn = Turn::Over;
            Told::one(Signal::Idle)
        }
        // It comes three times, the last after the program's death.
        "SessionEnd" => {
            *conversation = Conversation::default();
            Told::one(Signal::Withdrawn)
        }
        _ => Told::Unread(format!("event {event}")),
    }
}

fn notification(payload: &Value, conversation: &mut Conversation) -> Told {
    let kind = text(payload, "notification_type");
    let details = &payload["details"];
    let (Some("ToolPermission"), Some(of)) = (kind, text(details, "type")) else {
        return Told::Unread(format!("Notification {}", kind.unwrap_or("without a type")));
    };
    let (id, reading) = match of {
        "ask_user" => {
            let on = Blocking::Input { kind: InputKind::Question };
            let asked = super::payload::question(details).or_else(|| text(payload, "message").map(message));
            ("ask_user".to_owned(), Reading::new(Signal::Blocked { on }).with_message(asked.unwrap_or_default()))
        }
        _ => {
            let told = ["command", "filePath", "fileName"].iter().find_map(|name| text(details, name));
            let title = text(details, "title").unwrap_or(of);
            let subject = match told {
                Some(what) => line(&format!("{of}: {}", line(what, 300)), 300),
                None => line(title, 300),
            };
            let on = Blocking::Approval { subject: Some(subject), prompt_hash: Some(hash(of, details, &[])) };
            (request(told), Reading::new(Signal::Blocked { on }))
        }
    };
    Told::Means(conversation.asks.ask(&id, None, reading))
}

/// A tool is done. Its input names the command or file that the request named; the path may be shorter there.
fn tool_over(payload: &Value, conversation: &mut Conversation) -> Told {
    let Some(tool) = text(payload, "tool_name") else {
        return Told::Unread("AfterTool without a tool".to_owned());
    };
    let told = text_at(payload, &["tool_input", "command"]).or_else(|| text_at(payload, &["tool_input", "file_path"]));
    let id = if tool == "ask_user" { tool.to_owned() } else { request(told) };
    let mut readings = conversation.asks.answer(&id);
    readings.push(Reading::new(Signal::WorkEnded));
    Told::Means(readings)
}

/// What a request and the end of its tool have in common.
fn request(told: Option<&str>) -> String {
    let told = told.unwrap_or_default();
    let name = if told.contains(char::is_whitespace) { told } else { told.rsplit('/').next().unwrap_or(told) };
    line(name, 400)
}
