//! opencode: what its plugin hands on, and the same events from its own server.
//!
//! Requests have ids and their answers are told, so the events say everything; but "busy" and "idle" repeat, and "idle"
//! follows an error as well as an end.

mod prompts;

use agtmux_core::signal::{Blocking, InputKind, Outcome, Signal, Work};
use serde_json::{Value, json};

use super::conversation::{Conversation, Turn};
use super::payload::{hash, line, list, message, question, subject, text, text_at};
use super::{About, Told, cause};
use crate::reading::Reading;
pub use prompts::{OpencodePrompts, opencode_shows};

const SAYS_NOTHING: &[&str] = &[
    "catalog.updated",
    "integration.updated",
    "message.part.delta",
    "message.part.updated",
    "message.updated",
    "plugin.added",
    "plugin.init",
    "reference.updated",
    "server.connected",
    "server.heartbeat",
    "session.created",
    "session.diff",
    "session.updated",
    "tui.command.execute",
    "tui.prompt.append",
];

/// The events that would have told how things stand, made of what the server answers when asked: the sessions that are
/// busy and their status, and all requests that nobody has answered.
pub fn opencode_standing(sessions: &[Value], status: &Value, permissions: &Value, questions: &Value) -> Vec<Value> {
    let event = |name: &str, properties: Value| json!({"type": name, "properties": properties});
    // Whether a session is a subagent's is in its description alone.
    let described =
        sessions.iter().map(|info| event("session.updated", json!({"sessionID": info["id"], "info": info})));
    let statuses = status.as_object().into_iter().flatten();
    let statuses = statuses.map(|(id, status)| event("session.status", json!({"sessionID": id, "status": status})));
    let each = |requests: &Value| requests.as_array().cloned().unwrap_or_default();
    let permissions = each(permissions).into_iter().map(|request| event("permission.asked", request));
    let questions = each(questions).into_iter().map(|request| event("question.asked", request));
    described.chain(statuses).chain(permissions).chain(questions).collect()
}

/// The plugin hands on an event as `event:NAME` with the event's properties; the server gives both in one object.
pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    let named = event.map(|event| event.strip_prefix("event:").unwrap_or(event)).filter(|event| *event != "event");
    let (event, payload) = match payload.get("properties") {
        Some(properties) if properties.is_object() => (text(payload, "type").or(named), properties),
        _ => (named.or(text(payload, "type")), payload),
    };
    let session = text(payload, "sessionID").or_else(|| text_at(payload, &["info", "sessionID"]));
    About { event: event.unwrap_or_default(), payload, session, transcript: None }
}

pub(super) fn hook(about: &About<'_>, conversation: &mut Conversation) -> Told {
    let About { event, payload, session, .. } = *about;
    if text_at(payload, &["info", "parentID"]).is_some() && event.starts_with("session.") {
        conversation.below = true;
    }
    if event == "dispose" {
        return Told::one(Signal::Withdrawn);
    }
    if SAYS_NOTHING.contains(&event) {
        return if conversation.below { Told::Foreign(BELOW) } else { Told::NOTHING };
    }
    if session.is_none() {
        return Told::Unread(format!("{event} without a session"));
    }
    match event {
        // Whoever asks, it is the person that must answer.
        "permission.asked" => permission(payload, conversation),
        "question.asked" => asked_question(payload, conversation),
        "permission.replied" | "question.replied" | "question.rejected" => answered(event, payload, conversation),
        "chat.message" | "session.status" | "session.idle" | "session.error" if conversation.below => {
            Told::Foreign(BELOW)
        }
        "chat.message" => Told::Means(busy(conversation)),
        "session.status" => status(payload, conversation),
        "session.idle" => Told::Means(vec![idle(conversation)]),
        "session.error" => error(payload, conversation),
        "tool.execute.before" => match text(payload, "tool") {
            Some(tool) => {
                Told::Means(vec![keyed(about, Signal::Working { with: Work::Tool { name: line(tool, 80) } })])
            }
            None => Told::Unread("tool.execute.before without a tool".to_owned()),
        },
        "tool.execute.after" => Told::Means(vec![keyed(about, Signal::WorkEnded)]),
        _ => Told::Unread(format!("event {event}")),
    }
}

const BELOW: &str = "a session of a subagent";

fn permission(payload: &Value, conversation: &mut Conversation) -> Told {
    let (Some(id), Some(permission)) = (text(payload, "id"), text(payload, "permission")) else {
        return Told::Unread("permission.asked without an id or a permission".to_owned());
    };
    let patterns: Vec<&str> = list(payload, "patterns").iter().filter_map(Value::as_str).collect();
    let metadata = &payload["metadata"];
    let told = text(metadata, "command").or_else(|| text(metadata, "filepath"));
    let subject = match told {
        Some(what) => line(&format!("{permission}: {}", line(what, 300)), 300),
        None if !patterns.is_empty() => line(&format!("{permission}: {}", patterns.join(", ")), 300),
        None => subject(permission, metadata),
    };
    let prompt_hash = Some(hash(permission, metadata, &[]));
    let on = Blocking::Approval { subject: Some(subject), prompt_hash };
    let reading = Reading::new(Signal::Blocked { on }).with_key(format!("permission.asked/{}", line(id, 100)));
    Told::Means(conversation.asks.ask(id, None, reading))
}

fn asked_question(payload: &Value, conversation: &mut Conversation) -> Told {
    let (Some(id), Some(question)) = (text(payload, "id"), question(payload)) else {
        return Told::Unread("question.asked without an id or a question".to_owned());
    };
    let on = Blocking::Input { kind: InputKind::Question };
    let reading = Reading::new(Signal::Blocked { on }).with_message(question);
    Told::Means(conversation.asks.ask(id, None, reading.with_key(format!("question.asked/{}", line(id, 100)))))
}

/// An answer whose question was not heard still settles it.
fn answered(event: &str, payload: &Value, conversation: &mut Conversation) -> Told {
    let Some(id) = text(payload, "requestID") else {
        return Told::Unread(format!("{event} without an id"));
    };
    conversation.turn = match (event, text(payload, "reply")) {
        ("question.rejected", _) | (_, Some("reject")) => Turn::Refused,
        _ => Turn::Active,
    };
    let mut readings = conversation.asks.answer(id);
    if readings.is_empty() {
        readings = vec![Reading::new(Signal::Unblocked)];
    }
    // The key is only for the news itself: what is said again after it must not look like a repeat.
    readings[0].key = Some(format!("{event}/{}", line(id, 100)));
    Told::Means(readings)
}

fn status(payload: &Value, conversation: &mut Conversation) -> Told {
    match text_at(payload, &["status", "type"]) {
        Some("busy") => Told::Means(busy(conversation)),
        Some("idle") => Told::Means(vec![idle(conversation)]),
        Some("retry") => {
            let told = text_at(payload, &["status", "message"]).unwrap_or_default();
            let cause = cause::from_error(None, told);
            let mut readings = busy(conversation);
            readings.retain(|reading| reading.signal == Signal::TurnStarted);
            conversation.turn = Turn::Retrying;
            readings.push(Reading::new(Signal::Working { with: Work::Retrying { cause } }).with_message(message(told)));
            Told::Means(readings)
        }
        other => Told::Unread(format!("session.status {}", other.unwrap_or("without a type"))),
    }
}

/// The first "busy" begins a turn. Later ones only say that the model is at it again, and answer nothing.
fn busy(conversation: &mut Conversation) -> Vec<Reading> {
    let signal = match conversation.turn {
        Turn::Unheard | Turn::Over if conversation.asks.is_empty() => Signal::TurnStarted,
        _ => Signal::Working { with: Work::Thinking },
    };
    conversation.turn = Turn::Active;
    vec![Reading::new(signal)]
}

/// "Idle" ends the turn once, unless an error has ended it. Right after a refusal, or while the next try is waited for, it
/// means that the person stopped it there.
fn idle(conversation: &mut Conversation) -> Reading {
    conversation.asks.forget();
    let signal = match conversation.turn {
        Turn::Unheard | Turn::Active => Signal::TurnEnded { outcome: Outcome::Done },
        Turn::Refused | Turn::Retrying => Signal::TurnEnded { outcome: Outcome::Interrupted },
        Turn::Over => Signal::Idle,
    };
    conversation.turn = Turn::Over;
    Reading::new(signal)
}

fn error(payload: &Value, conversation: &mut Conversation) -> Told {
    conversation.asks.forget();
    conversation.turn = Turn::Over;
    let error = &payload["error"];
    let told = text_at(error, &["data", "message"]).unwrap_or_default();
    let outcome = match text(error, "name") {
        Some("MessageAbortedError") => return Told::one(Signal::TurnEnded { outcome: Outcome::Interrupted }),
        Some(name) => {
            let status = error["data"].get("statusCode").and_then(Value::as_u64);
            Outcome::Failed { cause: cause::from_error(status, &format!("{name} {told}")) }
        }
        None => return Told::Unread("session.error without a name".to_owned()),
    };
    Told::Means(vec![Reading::new(Signal::TurnEnded { outcome }).with_message(message(told))])
}

/// A tool's events have the id of the call.
fn keyed(about: &About<'_>, signal: Signal) -> Reading {
    let reading = Reading::new(signal);
    match text(about.payload, "callID") {
        Some(id) => {
            let session = line(about.session.unwrap_or_default(), 100);
            reading.with_key(format!("{}/{session}/{}", about.event, line(id, 100)))
        }
        None => reading,
    }
}
