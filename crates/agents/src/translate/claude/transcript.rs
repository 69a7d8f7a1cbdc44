//! Claude Code's transcript: why a turn ended, where neither a hook nor the session file says it.
//!
//! Beginnings and good ends are left to those two: a turn that is over in the transcript may go on in its subagents.

use agtmux_core::signal::{Outcome, Signal};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::cause;
use crate::translate::payload::{line as one_line, message, text};

/// What one line of a transcript says.
pub fn claude_transcript_line(line: &Value) -> Vec<Reading> {
    let flag = |name: &str| line.get(name).and_then(Value::as_bool) == Some(true);
    if flag("isSidechain") {
        return Vec::new();
    }
    let told = said(&line["message"]["content"]);
    let reading = match text(line, "type") {
        Some("user") if told.starts_with("[Request interrupted by user") => {
            Reading::new(Signal::TurnEnded { outcome: Outcome::Interrupted })
        }
        // The program writes these itself, in the model's place.
        Some("assistant") if flag("isApiErrorMessage") => {
            let outcome = Outcome::Failed { cause: cause::from_error(None, told) };
            Reading::new(Signal::TurnEnded { outcome }).with_message(message(told))
        }
        _ => return Vec::new(),
    };
    vec![Reading { key: text(line, "uuid").map(|id| format!("transcript/{}", one_line(id, 100))), ..reading }]
}

/// A message is text, or blocks of which some are text.
fn said(content: &Value) -> &str {
    match content {
        Value::String(content) => content.trim(),
        Value::Array(blocks) => blocks.iter().find_map(|block| text(block, "text")).unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::claude_transcript_line;
    use crate::translate::tests::render;

    #[test]
    fn interruptions_and_errors_are_told_and_nothing_else() {
        let lines = [
            json!({"type": "user", "uuid": "u", "message": {"content": [{"type": "text", "text": "[Request interrupted by user for tool use]"}]}}),
            json!({"type": "user", "message": {"content": "[Request interrupted by user]"}}),
            json!({"type": "assistant", "isApiErrorMessage": true, "message": {"content": [{"type": "text", "text": "API Error: 500 mock"}]}}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "API Error: is what I would say"}]}}),
            json!({"type": "user", "isSidechain": true, "message": {"content": "[Request interrupted by user]"}}),
            json!({"type": "system", "subtype": "turn_duration"}),
            json!("garbage"),
        ];
        let read: Vec<_> = lines.iter().flat_map(claude_transcript_line).map(|reading| render(&reading)).collect();
        insta::assert_snapshot!(read.join("\n"), @r"
        turn_ended interrupted  [transcript/u]
        turn_ended interrupted
        turn_ended failed network: API Error: 500 mock
        ");
    }
}
