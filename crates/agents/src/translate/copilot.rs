//! Copilot: its hooks.
//!
//! `permissionRequest` comes before the rules are asked and so may never be shown; the notification after it is the
//! dialog. No hook fires on an abort or a refusal, and a failed call of the model looks the same whether or not it is
//! tried again: the session's events ([`events`]) tell these.

pub(super) mod events;

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal, Work};
use serde_json::Value;

use super::conversation::Conversation;
use super::payload::{hash, line, message, subject, text, text_at};
use super::{About, Told, cause};
use crate::reading::Reading;

const SAYS_NOTHING: &[&str] = &["preMcpToolCall", "sessionStart", "subagentStart", "subagentStop"];

/// The tool that asks the person.
const QUESTION: &str = "ask_user";

/// A payload does not name its event, and where it does, it is by another agent's name.
pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    About {
        event: event.or_else(|| text(payload, "hookName")).unwrap_or_default(),
        payload,
        session: text(payload, "sessionId"),
        transcript: text(payload, "transcriptPath"),
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
        "userPromptSubmitted" if text(payload, "prompt").is_some() => {
            conversation.asks.forget();
            Told::one(Signal::TurnStarted)
        }
        // The prompt is on its way to the model, in a turn that has begun.
        "userPromptTransformed" => Told::one(Signal::Working { with: Work::Thinking }),
        "preToolUse" => tool_begins(payload, conversation),
        "permissionRequest" => {
            conversation.requested = text(payload, "toolName").map(|tool| {
                let input = &payload["toolInput"];
                (request(tool, input), subject(tool, input))
            });
            Told::NOTHING
        }
        "notification" => notification(payload, conversation),
        "postToolUse" | "postToolUseFailure" => match text(payload, "toolName") {
            Some(tool) => {
                let mut readings = conversation.asks.answer(&request(tool, &payload["toolArgs"]));
                readings.push(Reading::new(Signal::WorkEnded));
                Told::Means(readings)
            }
            None => Told::Unread(format!("{event} without a tool")),
        },
        "preCompact" => Told::one(Signal::Working { with: Work::Compacting }),
        "errorOccurred" => error(payload),
        "agentStop" => {
            conversation.asks.forget();
            Told::one(Signal::TurnEnded { outcome: Outcome::Done })
        }
        "sessionEnd" => {
            *conversation = Conversation::default();
            Told::one(Signal::Withdrawn)
        }
        _ => Told::Unread(format!("event {event}")),
    }
}

fn tool_begins(payload: &Value, conversation: &mut Conversation) -> Told {
    match text(payload, "toolName") {
        Some(QUESTION) => {
            let on = Blocking::Input { kind: InputKind::Question };
            let asked = message(text_at(payload, &["toolArgs", "message"]).unwrap_or_default());
            Told::Means(conversation.asks.ask(QUESTION, None, Reading::new(Signal::Blocked { on }).with_message(asked)))
        }
        Some(tool) => Told::one(Signal::Working { with: Work::Tool { name: line(tool, 80) } }),
        None => Told::Unread("preToolUse without a tool".to_owned()),
    }
}

fn notification(payload: &Value, conversation: &mut Conversation) -> Told {
    let told = message(text(payload, "message").unwrap_or_default());
    match text(payload, "notification_type") {
        Some("permission_prompt") => {
            let (id, subject) = conversation.requested.take().unwrap_or_else(|| (told.clone(), line(&told, 300)));
            let on = Blocking::Approval { prompt_hash: Some(hash(&id, &Value::Null, &[])), subject: Some(subject) };
            Told::Means(conversation.asks.ask(&id, None, Reading::new(Signal::Blocked { on }).with_message(told)))
        }
        // The tool's own event has the question; this has only that there is one.
        Some("elicitation_dialog") if !conversation.asks.is_empty() => Told::one(Signal::StillSo),
        Some("elicitation_dialog") => {
            let on = Blocking::Input { kind: InputKind::Question };
            Told::Means(conversation.asks.ask(QUESTION, None, Reading::new(Signal::Blocked { on }).with_message(told)))
        }
        other => Told::Unread(format!("notification {}", other.unwrap_or("without a type"))),
    }
}

/// What the provider could not do for now is tried again, and told again each time. Anything else it will not do at all.
fn error(payload: &Value) -> Told {
    let Some(told) = text_at(payload, &["error", "message"]) else {
        return Told::Unread("errorOccurred without a message".to_owned());
    };
    let cause = cause::from_error(None, told);
    let passing = matches!(cause, Cause::RateLimit | Cause::Network);
    let signal = if passing && payload.get("recoverable").and_then(Value::as_bool) == Some(true) {
        Signal::Working { with: Work::Retrying { cause } }
    } else {
        Signal::TurnEnded { outcome: Outcome::Failed { cause } }
    };
    // The text is often the provider's answer as it came.
    let answer = serde_json::from_str::<Value>(told).ok();
    let said = answer.as_ref().and_then(|answer| text(answer, "message").or(answer.as_str())).unwrap_or(told);
    Told::Means(vec![Reading::new(signal).with_message(message(said))])
}

/// What a request and the end of its tool have in common.
fn request(tool: &str, input: &Value) -> String {
    match tool {
        QUESTION => QUESTION.to_owned(),
        _ => hash(tool, input, &["description"]),
    }
}
