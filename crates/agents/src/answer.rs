//! Answers to what an agent asks its hook, in the form that the agent reads.
//!
//! Claude Code runs its `PermissionRequest` hook while the dialog is on the screen, and takes whichever answer comes first:
//! the person's or the hook's. No other agent that is known does so: they run the hook before they ask, and would ask
//! later if it took its time.

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
/// and goes on showing its dialog, whatever the hook says.
pub fn question<'a>(agent: &str, payload: &Value, translation: &'a Translation) -> Option<&'a str> {
    let is_taken = (agent, translation.event.as_str()) == ("claude", "PermissionRequest");
    if !is_taken || payload["tool_name"] == "ExitPlanMode" {
        return None;
    }
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

    use super::{Decision, hook_output, question};
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
        assert!(!asked("codex", "PermissionRequest", "Bash"), "its dialog would wait for the hook");
    }

    #[test]
    fn an_answer_is_one_line_of_json() {
        let deny = |reason: Option<&str>| hook_output(&Decision::Deny { reason: reason.map(str::to_owned) });
        insta::assert_snapshot!(hook_output(&Decision::Allow), @r#"{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}"#);
        insta::assert_snapshot!(deny(Some("use \"make\"\ninstead")), @r#"{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"use \"make\"\ninstead"},"hookEventName":"PermissionRequest"}}"#);
        assert!(!deny(None).contains("message"));
    }
}
