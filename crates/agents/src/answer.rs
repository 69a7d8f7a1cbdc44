//! Answers to what an agent asks its hook, in the form that the agent reads.
//!
//! Claude Code runs its `PermissionRequest` hook while the dialog is on the screen, and takes whichever answer comes first:
//! the person's or the hook's. No other agent that is known does so: they run the hook before they ask, and would ask
//! later if it took its time. opencode's server knows each request by its id, and takes one answer to it.
//!
//! What Claude Code's hooks print at the end of a turn or of a tool is also read by the model: it then goes on with the turn.

use agtmux_core::mail::Opening;
use agtmux_core::signal::{Blocking, Outcome, Signal};
use serde_json::{Value, json};

use crate::reading::Reading;
use crate::translate::Translation;

/// What is decided about a request for permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be done, this once.
    Allow,
    /// It may not.
    Deny {
        /// What the agent is told.
        reason: Option<String>,
    },
}

/// The hash of the prompt that a hook may answer; none if nobody would read an answer. A question that the agent asks in
/// words is not one of permission, and is never answered for the person. Of a plan the agent wants to hear from the person
/// and goes on showing its dialog, whatever the hook says. What a subagent asks is not drawn as long as a hook takes, so that the
/// person could not answer first.
pub fn question<'a>(agent: &str, payload: &Value, translation: &'a Translation) -> Option<&'a str> {
    let is_taken = (agent, translation.event.as_str()) == ("claude", "PermissionRequest");
    if !is_taken || payload["tool_name"] == "ExitPlanMode" || payload["agent_id"].is_string() {
        return None;
    }
    prompt_hash(translation)
}

/// The request that opencode's server may be answered, by its id and the hash of its prompt, if the event asks for permission.
pub fn server_request<'a>(event: &'a Value, translation: &'a Translation) -> Option<(&'a str, &'a str)> {
    let id = event["properties"]["id"].as_str().filter(|_| translation.event == "permission.asked")?;
    // It becomes a part of a path.
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    Some((id, prompt_hash(translation)?)).filter(|_| is_plain && !id.is_empty())
}

/// The request that was answered, if the event of opencode's server says that.
pub fn server_replied(event: &Value) -> Option<&str> {
    event["properties"]["requestID"].as_str().filter(|_| event["type"] == "permission.replied")
}

/// What opencode's server is told.
pub fn server_reply(decision: &Decision) -> Value {
    match decision {
        Decision::Allow => json!({ "reply": "once" }),
        Decision::Deny { reason: Some(reason) } => json!({ "reply": "reject", "message": reason }),
        Decision::Deny { reason: None } => json!({ "reply": "reject" }),
    }
}

/// Whether an agent could be given messages by the hook that told this, and what it is at. What a subagent's hook prints is read by the
/// subagent. Releases that do not tell what runs in the background do not read this answer at the end of a turn either. `answered` is
/// how often the agent went on with its turn already because a hook wanted that.
pub fn opening(agent: &str, payload: &Value, translation: &Translation, answered: u32) -> Option<Opening> {
    if agent != "claude" || payload["agent_id"].is_string() {
        return None;
    }
    match translation.event.as_str() {
        "Stop" => {
            let tasks = payload["background_tasks"].as_array()?;
            let running = tasks.iter().filter(|task| task["status"] == "running").count();
            Some(Opening::TurnEnd { background: u32::try_from(running).unwrap_or(u32::MAX), answered })
        }
        "PostToolUse" => Some(Opening::ToolEnd),
        _ => None,
    }
}

/// Whether the agent tells that it goes on with a turn because a hook wanted that.
pub fn is_going_on(payload: &Value) -> bool {
    payload["stop_hook_active"] == true
}

/// What a hook says whose agent will go on: the turn is not over, whatever else is.
pub fn going_on(readings: &[Reading]) -> Vec<Reading> {
    let going_on = |reading: &Reading| match &reading.signal {
        Signal::TurnEnded { outcome: Outcome::Done } => Reading { signal: Signal::WorkEnded, ..reading.clone() },
        _ => reading.clone(),
    };
    readings.iter().map(going_on).collect()
}

/// The longest text that the model is given by a hook, in characters. It is kept from it as a whole if it is longer than 10,000.
pub const MAIL_LIMIT: usize = 9_500;

/// What the hook of an event prints to give its agent messages, with its line end. This is the form that is given to the model once
/// and is not called an error on the screen.
pub fn mail_output(event: &str, text: &str) -> String {
    let answer = json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } });
    format!("{answer}\n")
}

/// The prompt that the hook which told this can keep from the model. Where an agent does not say so, it goes on whatever the hook says.
pub fn refusable<'a>(agent: &str, payload: &'a Value, translation: &Translation) -> Option<&'a str> {
    payload["prompt"].as_str().filter(|_| (agent, translation.event.as_str()) == ("claude", "UserPromptSubmit"))
}

/// What the hook prints to keep a prompt from the model, with its line end. The person is shown why, and has the prompt back in the
/// composer.
pub fn refusal_output(reason: &str) -> String {
    let answer = json!({ "decision": "block", "reason": reason });
    format!("{answer}\n")
}

fn prompt_hash(translation: &Translation) -> Option<&str> {
    translation.readings.iter().find_map(|reading| match &reading.signal {
        Signal::Blocked { on: Blocking::Approval { prompt_hash, .. } } => prompt_hash.as_deref(),
        _ => None,
    })
}

/// What the hook prints to give the answer, with its line end.
pub fn hook_output(decision: &Decision) -> String {
    let decision = match decision {
        Decision::Allow => json!({ "behavior": "allow" }),
        Decision::Deny { reason: Some(reason) } => json!({ "behavior": "deny", "message": reason }),
        Decision::Deny { reason: None } => json!({ "behavior": "deny" }),
    };
    let answer = json!({ "hookSpecificOutput": { "hookEventName": "PermissionRequest", "decision": decision } });
    format!("{answer}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use agtmux_core::mail::Opening;
    use agtmux_core::signal::Signal;

    use super::{
        Decision, going_on, hook_output, mail_output, opening, question, server_replied, server_reply, server_request,
    };
    use crate::reading::Reading;
    use crate::translate;

    #[test]
    fn only_requests_for_permission_are_answered() {
        let asked = |agent: &str, event: &str, tool: &str| {
            let payload = json!({ "session_id": "s", "tool_name": tool, "tool_input": { "command": "ls" } });
            question(agent, &payload, &translate::hook(agent, Some(event), &payload)).is_some()
        };
        assert!(asked("claude", "PermissionRequest", "Bash"));
        assert!(!asked("claude", "PermissionRequest", "ExitPlanMode"), "the dialog would stay");
        assert!(!asked("claude", "PermissionRequest", "AskUserQuestion"), "nobody speaks for the person");
        assert!(!asked("claude", "PreToolUse", "Bash"));
        let payload =
            json!({ "session_id": "s", "agent_id": "a1", "tool_name": "Bash", "tool_input": { "command": "ls" } });
        let translation = translate::hook("claude", Some("PermissionRequest"), &payload);
        assert_eq!(question("claude", &payload, &translation), None, "a subagent's dialog would wait for the hook");
        assert!(!asked("codex", "PermissionRequest", "Bash"), "its dialog would wait for the hook");
    }

    #[test]
    fn a_request_of_a_server_has_an_id() {
        let asked = |event: &str, id: &str| {
            let payload = json!({ "type": event, "properties": { "id": id, "sessionID": "s", "permission": "bash",
                "metadata": { "command": "ls" }, "questions": [{ "question": "Which?" }] } });
            server_request(&payload, &translate::hook("opencode", None, &payload)).map(|(id, _)| id.to_owned())
        };
        assert_eq!(asked("permission.asked", "per_1").as_deref(), Some("per_1"));
        assert_eq!(asked("question.asked", "que_1"), None, "nobody speaks for the person");
        for odd in ["", "../x", "a/b", "a b", "é"] {
            assert_eq!(asked("permission.asked", odd), None, "{odd}");
        }
        let replied = json!({ "type": "permission.replied", "properties": { "requestID": "per_1" } });
        assert_eq!(server_replied(&replied), Some("per_1"));
        assert_eq!(
            server_replied(&json!({ "type": "question.replied", "properties": { "requestID": "que_1" } })),
            None
        );
        let deny = Decision::Deny { reason: Some("no".to_owned()) };
        assert_eq!(server_reply(&deny), json!({ "reply": "reject", "message": "no" }));
    }

    #[test]
    fn messages_go_to_the_agent_itself_at_the_end_of_a_turn_or_tool() {
        let at = |agent: &str, event: &str, payload: serde_json::Value| {
            opening(agent, &payload, &translate::hook(agent, Some(event), &payload), 2)
        };
        let task = |kind: &str, status: &str| json!({ "id": "a", "type": kind, "status": status });
        let stop = |tasks: serde_json::Value| json!({ "session_id": "s", "background_tasks": tasks });
        let end = |background| Some(Opening::TurnEnd { background, answered: 2 });
        assert_eq!(at("claude", "Stop", stop(json!([]))), end(0));
        assert_eq!(at("claude", "Stop", stop(json!([task("shell", "running"), task("subagent", "running")]))), end(2));
        assert_eq!(at("claude", "Stop", stop(json!([task("shell", "completed")]))), end(0));
        assert_eq!(at("claude", "Stop", json!({ "session_id": "s" })), None, "an older release");
        let tool = json!({ "session_id": "s", "tool_name": "Bash", "tool_input": {} });
        assert_eq!(at("claude", "PostToolUse", tool.clone()), Some(Opening::ToolEnd));
        assert_eq!(at("claude", "PreToolUse", tool.clone()), None);
        assert_eq!(at("codex", "PostToolUse", tool), None);
        let below = json!({ "session_id": "s", "agent_id": "a1", "tool_name": "Bash", "tool_input": {} });
        assert_eq!(at("claude", "PostToolUse", below), None, "it would be read by the subagent");
    }

    #[test]
    fn a_turn_that_goes_on_is_not_over() {
        let payload = json!({ "session_id": "s", "background_tasks": [], "last_assistant_message": "done" });
        let readings = translate::hook("claude", Some("Stop"), &payload).readings;
        let ends = |readings: &[Reading]| {
            readings.iter().filter(|reading| matches!(reading.signal, Signal::TurnEnded { .. })).count()
        };
        assert_eq!((ends(&readings), ends(&going_on(&readings))), (1, 0));
        assert_eq!(readings.len(), going_on(&readings).len());
    }

    #[test]
    fn an_answer_is_one_line_of_json() {
        let deny = |reason: Option<&str>| hook_output(&Decision::Deny { reason: reason.map(str::to_owned) });
        insta::assert_snapshot!(hook_output(&Decision::Allow), @r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}"#);
        insta::assert_snapshot!(deny(Some("use \"make\"\ninstead")), @r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"use \"make\"\ninstead"},"hookEventName":"PermissionRequest"}}"#);
        assert!(!deny(None).contains("message"));
        insta::assert_snapshot!(mail_output("Stop", "a\n\"b\""), @r#"{"hookSpecificOutput":{"additionalContext":"a\n\"b\"","hookEventName":"Stop"}}"#);
    }
}
