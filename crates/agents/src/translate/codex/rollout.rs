//! Codex's rollout: the record of one conversation, a JSON object per line.
//!
//! It tells how turns end, also by an interruption or an error, which no hook does. It has no line for an approval.

use agtmux_core::signal::{Outcome, Signal, Work};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::cause;
use crate::translate::payload::{line as one_line, message, text};

/// What one line of a rollout says.
pub fn codex_rollout_line(line: &Value) -> Vec<Reading> {
    let payload = &line["payload"];
    let (Some("event_msg" | "response_item"), Some(event)) = (text(line, "type"), text(payload, "type")) else {
        return Vec::new();
    };
    let turn = text(payload, "turn_id").map(|turn| format!("{event}/{}", one_line(turn, 100)));
    let reading = match event {
        "task_started" => Reading::new(Signal::TurnStarted),
        "task_complete" => complete(payload),
        "turn_aborted" => Reading::new(Signal::TurnEnded { outcome: Outcome::Interrupted }),
        "function_call" => match text(payload, "name") {
            Some(tool) => Reading::new(Signal::Working { with: Work::Tool { name: one_line(tool, 80) } }),
            None => return Vec::new(),
        },
        "function_call_output" => Reading::new(Signal::WorkEnded),
        _ => return Vec::new(),
    };
    vec![Reading { key: turn, ..reading }]
}

fn complete(payload: &Value) -> Reading {
    match payload.get("error").filter(|error| !error.is_null()) {
        Some(error) => {
            let told = text(error, "message").unwrap_or_default();
            let info = error.get("codex_error_info").map(Value::to_string).unwrap_or_default();
            let cause = cause::from_error(None, &format!("{told} {info}"));
            Reading::new(Signal::TurnEnded { outcome: Outcome::Failed { cause } }).with_message(message(told))
        }
        None => Reading::new(Signal::TurnEnded { outcome: Outcome::Done })
            .with_message(message(text(payload, "last_agent_message").unwrap_or_default())),
    }
}

#[cfg(test)]
mod tests {
    use agtmux_core::signal::{Cause, Outcome, Signal};
    use serde_json::json;

    use super::codex_rollout_line;

    #[test]
    fn every_end_of_a_turn_is_told_apart() {
        let ends = [
            (json!({"type": "task_complete", "turn_id": "t", "last_agent_message": "hi"}), Outcome::Done),
            (json!({"type": "turn_aborted", "reason": "interrupted"}), Outcome::Interrupted),
            (
                json!({"type": "task_complete", "last_agent_message": null,
                    "error": {"message": "exceeded retry limit, last status: 429 Too Many Requests", "codex_error_info": null}}),
                Outcome::Failed { cause: Cause::RateLimit },
            ),
        ];
        for (payload, outcome) in ends {
            let line = json!({"timestamp": "t", "ordinal": 3, "type": "event_msg", "payload": payload});
            assert_eq!(codex_rollout_line(&line)[0].signal, Signal::TurnEnded { outcome }, "{line}");
        }
    }

    #[test]
    fn lines_of_other_kinds_say_nothing() {
        for line in [json!(7), json!({"type": "session_meta", "payload": {"id": "x"}}), json!({"type": "event_msg"})] {
            assert_eq!(codex_rollout_line(&line), [], "{line}");
        }
    }
}
