//! Answers to what an agent asks its hook, in the form that the agent reads.
//!
//! Claude Code runs its `PermissionRequest` hook while the dialog is on the screen, and takes whichever answer comes first:
//! the person's or the hook's. No other agent that is known does so: they run the hook before they ask, and would ask
//! later if it took its time. opencode's server knows each request by its id, and takes one answer to it.

use agtmux_core::signal::{Blocking, Signal};
use serde_json::{Value, json};

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

    use super::{Decision, hook_output, question, server_replied, server_reply, server_request};
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
    fn an_answer_is_one_line_of_json() {
        let deny = |reason: Option<&str>| hook_output(&Decision::Deny { reason: reason.map(str::to_owned) });
        insta::assert_snapshot!(hook_output(&Decision::Allow), @r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}"#);
        insta::assert_snapshot!(deny(Some("use \"make\"\ninstead")), @r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"use \"make\"\ninstead"},"hookEventName":"PermissionRequest"}}"#);
        assert!(!deny(None).contains("message"));
    }
}
