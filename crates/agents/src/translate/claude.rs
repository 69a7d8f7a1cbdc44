//! Claude Code: its hooks.
//!
//! No hook fires on Escape, on a refusal or at the moment of an approval, and the beginning of a queued turn is silent;
//! the session file ([`session_file`]) tells all of these. Hooks tell what is asked and how a turn ended.
//!
//! A prompt that is typed during a turn is announced at once, under the name of that turn. It joins the turn at the end of its
//! next tool. Otherwise it begins a turn of its own, without another word, when that turn ends.

pub(super) mod session_file;
pub(super) mod transcript;

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal, Work};
use serde_json::Value;

use super::asks::Asks;
use super::conversation::Conversation;
use super::payload::{hash, line, list, message, question, subject, text};
use super::{About, Told, cause};
use crate::reading::Reading;

/// Events that exist and say nothing about the state. `MessageDisplay` is one of them although a reply is being shown:
/// it runs beside the others and often lands after the end of its turn, and after an Escape it would look like work.
const SAYS_NOTHING: &[&str] = &[
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PermissionDenied",
    "PostModelSwitch",
    "PreModelSwitch",
    "Setup",
    "SubagentStart",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

pub(super) fn about<'a>(event: Option<&'a str>, payload: &'a Value) -> About<'a> {
    About {
        event: text(payload, "hook_event_name").or(event).unwrap_or_default(),
        payload,
        session: text(payload, "session_id"),
        transcript: text(payload, "transcript_path"),
    }
}

pub(super) fn hook(about: &About<'_>, conversation: &mut Conversation) -> Told {
    let Conversation { asks, queue, .. } = conversation;
    let About { event, payload, session, .. } = *about;
    if SAYS_NOTHING.contains(&event) {
        return Told::NOTHING;
    }
    if session.is_none() {
        return Told::Unread(format!("{event} without a session"));
    }
    // Agents below the main one have an id; their ends and beginnings are not those of the turn.
    let by = text(payload, "agent_id");
    let is_followed = by.is_none() && queue.take_in(event, text(payload, "prompt_id"));
    match event {
        "UserPromptSubmit" | "Stop" | "StopFailure" if by.is_some() => Told::Foreign("a subagent's own turn"),
        "SubagentStop" if text(payload, "agent_type").is_none() => Told::Foreign("an internal fork"),
        "UserPromptSubmit" => prompt(payload, asks),
        "PreToolUse" => match text(payload, "tool_name") {
            Some(tool) => {
                Told::Means(vec![keyed(about, Signal::Working { with: Work::Tool { name: line(tool, 80) } })])
            }
            None => Told::Unread("PreToolUse without a tool".to_owned()),
        },
        "PermissionRequest" => permission(payload, by, asks),
        "PostToolUse" | "PostToolUseFailure" => tool_over(about, by, asks),
        "PostToolBatch" => batch_over(payload, by, asks),
        "Stop" => stop(payload, asks, is_followed),
        "StopFailure" => failure(payload, asks),
        "Notification" => notification(payload, asks),
        "Elicitation" => {
            let on = Blocking::Input { kind: InputKind::Question };
            let asked = message(text(payload, "message").unwrap_or("input for a tool"));
            Told::Means(asks.ask(&elicitation(payload), by, Reading::new(Signal::Blocked { on }).with_message(asked)))
        }
        "ElicitationResult" => Told::Means(asks.answer(&elicitation(payload))),
        "SubagentStop" => Told::Means(by.map(|by| asks.gone(by)).unwrap_or_default()),
        "PreCompact" => compaction_begins(payload),
        "PostCompact" => compaction_over(payload, asks),
        "SessionStart" => session_start(payload, asks),
        "SessionEnd" => session_end(payload, asks),
        _ => Told::Unread(format!("event {event}")),
    }
}

/// A person can send a prompt only where no dialog is open. A background task that is done sends one by itself, and a
/// subagent may be waiting for an answer meanwhile.
fn prompt(payload: &Value, asks: &mut Asks) -> Told {
    let Some(prompt) = text(payload, "prompt") else {
        return Told::Unread("UserPromptSubmit without a prompt".to_owned());
    };
    let mut readings = vec![Reading::new(Signal::TurnStarted)];
    if prompt.starts_with("<task-notification>") {
        readings.extend(asks.turn_begun());
    } else {
        asks.forget();
    }
    Told::Means(readings)
}

/// A request for permission. It has no id, but the tool's later events have the same name and input.
fn permission(payload: &Value, by: Option<&str>, asks: &mut Asks) -> Told {
    let Some(tool) = text(payload, "tool_name") else {
        return Told::Unread("PermissionRequest without a tool".to_owned());
    };
    let input = &payload["tool_input"];
    let prompt_hash = Some(hash(tool, input, &[]));
    let reading = match tool {
        "AskUserQuestion" => Reading::new(Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } })
            .with_message(question(input).unwrap_or_default()),
        "ExitPlanMode" => {
            let subject = Some("plan".to_owned());
            Reading::new(Signal::Blocked { on: Blocking::Approval { subject, prompt_hash } })
                .with_message(message(text(input, "plan").unwrap_or_default()))
        }
        _ => {
            let subject = Some(subject(tool, input));
            Reading::new(Signal::Blocked { on: Blocking::Approval { subject, prompt_hash } })
        }
    };
    Told::Means(asks.ask(&request(tool, input, by), by, reading))
}

/// A request was answered by its hook. The agent goes on, or waits for what else it has asked.
pub(super) fn answered(about: &About<'_>, conversation: &mut Conversation) -> Told {
    let payload = about.payload;
    let by = text(payload, "agent_id");
    let tool = text(payload, "tool_name").unwrap_or_default();
    Told::Means(conversation.asks.answer(&request(tool, &payload["tool_input"], by)))
}

/// A tool is done: that answers the request for this tool, and for no other.
fn tool_over(about: &About<'_>, by: Option<&str>, asks: &mut Asks) -> Told {
    let Some(tool) = text(about.payload, "tool_name") else {
        return Told::Unread(format!("{} without a tool", about.event));
    };
    let mut readings = asks.answer(&request(tool, &about.payload["tool_input"], by));
    readings.push(keyed(about, Signal::WorkEnded));
    Told::Means(readings)
}

/// All tools of one round are done, refused ones included: of those no other event tells.
fn batch_over(payload: &Value, by: Option<&str>, asks: &mut Asks) -> Told {
    let over = |call: &Value| Some(request(text(call, "tool_name")?, &call["tool_input"], by));
    let over: Vec<_> = list(payload, "tool_calls").iter().filter_map(over).collect();
    let mut readings = asks.answer_all(&over);
    readings.push(Reading::new(Signal::WorkEnded));
    Told::Means(readings)
}

/// What a request and the end of its tool have in common. The answer changes the input of the two tools that are
/// dialogs themselves.
fn request(tool: &str, input: &Value, by: Option<&str>) -> String {
    let by = by.unwrap_or_default();
    match tool {
        "AskUserQuestion" | "ExitPlanMode" => format!("{by}/{tool}"),
        _ => format!("{by}/{}", hash(tool, input, &[])),
    }
}

/// The main agent has stopped. It is not at rest while agents below it run: they wake it when they are done (F20).
/// A shell in the background does not keep it from taking a prompt.
/// The turn is over. If a prompt waits, the next turn begins with it at this very moment.
fn stop(payload: &Value, asks: &mut Asks, is_followed: bool) -> Told {
    asks.turn_over();
    let running = || list(payload, "background_tasks").iter().filter(|task| text(task, "status") == Some("running"));
    let background = Reading::new(Signal::Background { count: u32::try_from(running().count()).unwrap_or(u32::MAX) });
    if running().any(|task| text(task, "type") == Some("subagent")) {
        return Told::Means(vec![Reading::new(Signal::WorkEnded), background]);
    }
    if is_followed {
        return Told::Means(vec![Reading::new(Signal::TurnStarted), background]);
    }
    let last = message(text(payload, "last_assistant_message").unwrap_or_default());
    let done = Reading::new(Signal::TurnEnded { outcome: Outcome::Done }).with_message(last);
    Told::Means(vec![done, background])
}

fn failure(payload: &Value, asks: &mut Asks) -> Told {
    asks.turn_over();
    let last = text(payload, "last_assistant_message").unwrap_or_default();
    let told = cause::from_text(last);
    let cause = match (text(payload, "error"), told) {
        // Both come as a rate limit or as "unknown"; only the text tells them apart.
        (_, Some(cause @ (Cause::UsageLimit | Cause::Refused))) => cause,
        (Some("rate_limit"), _) => Cause::RateLimit,
        (Some("billing_error"), _) => Cause::UsageLimit,
        (Some("server_error" | "overloaded"), _) => Cause::Network,
        (Some("authentication_failed" | "oauth_org_not_allowed" | "cloud_credential_error"), _) => Cause::Auth,
        (Some("model_not_found" | "invalid_request" | "max_output_tokens"), _) => Cause::Other,
        (_, told) => told.unwrap_or(Cause::Other),
    };
    let failed = Signal::TurnEnded { outcome: Outcome::Failed { cause } };
    Told::Means(vec![Reading::new(failed).with_message(message(last))])
}

/// Notices come seconds after the request that they are about and know less of it: a question, too, is announced as a
/// permission. So they only renew what is known to be asked, and stand for it where its own event was not heard.
fn notification(payload: &Value, asks: &mut Asks) -> Told {
    let blocked = |on| {
        let asked = message(text(payload, "message").unwrap_or_default());
        Told::Means(vec![Reading::new(Signal::Blocked { on }).with_message(asked)])
    };
    match text(payload, "notification_type") {
        Some("permission_prompt" | "elicitation_dialog") if !asks.is_empty() => Told::one(Signal::StillSo),
        Some("permission_prompt") => blocked(Blocking::Approval { subject: None, prompt_hash: None }),
        Some("elicitation_dialog") => blocked(Blocking::Input { kind: InputKind::Question }),
        Some("idle_prompt") => {
            asks.forget();
            Told::one(Signal::Idle)
        }
        other => Told::Unread(format!("Notification {}", other.unwrap_or("without a type"))),
    }
}

fn elicitation(payload: &Value) -> String {
    format!("elicitation/{}", text(payload, "mcp_server_name").unwrap_or_default())
}

/// `/compact` is a turn of its own, without a prompt; compaction by itself happens inside one.
fn compaction_begins(payload: &Value) -> Told {
    let compacting = Reading::new(Signal::Working { with: Work::Compacting });
    match text(payload, "trigger") {
        Some("manual") => Told::Means(vec![Reading::new(Signal::TurnStarted), compacting]),
        Some("auto") => Told::Means(vec![compacting]),
        _ => Told::Unread("PreCompact without a known trigger".to_owned()),
    }
}

fn compaction_over(payload: &Value, asks: &mut Asks) -> Told {
    match text(payload, "trigger") {
        Some("manual") => {
            asks.turn_over();
            Told::one(Signal::TurnEnded { outcome: Outcome::Done })
        }
        _ => Told::one(Signal::WorkEnded),
    }
}

/// A session that starts, is resumed or is cleared sits at its composer, and how the last turn ended is no longer its
/// business. After a compaction the turn goes on.
fn session_start(payload: &Value, asks: &mut Asks) -> Told {
    match text(payload, "source") {
        Some("startup" | "resume" | "clear") => {
            asks.forget();
            Told::one(Signal::TurnEnded { outcome: Outcome::Settled })
        }
        Some("compact") => Told::NOTHING,
        other => Told::Unread(format!("SessionStart from {}", other.unwrap_or("nowhere"))),
    }
}

/// `/clear` and `/resume` end one session and start the next; otherwise the program is about to exit.
fn session_end(payload: &Value, asks: &mut Asks) -> Told {
    asks.forget();
    match text(payload, "reason") {
        Some("clear" | "resume") => Told::NOTHING,
        _ => Told::one(Signal::Withdrawn),
    }
}

/// A tool's events have the id of its use, which is never used twice.
fn keyed(about: &About<'_>, signal: Signal) -> Reading {
    let reading = Reading::new(signal);
    match text(about.payload, "tool_use_id") {
        Some(id) => reading.with_key(format!("{}/{}", about.event, line(id, 100))),
        None => reading,
    }
}
