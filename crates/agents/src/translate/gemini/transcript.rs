//! Gemini's transcript: how a turn ended, where it did not end well. No line marks an end or an approval.

use agtmux_core::signal::{Outcome, Signal};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::cause;
use crate::translate::payload::{line as one_line, message, text};

/// What one line of a transcript says. After a refused approval the whole history is written again under new ids, so the
/// key is made of the line's time, which stays the same.
pub fn gemini_transcript_line(line: &Value) -> Vec<Reading> {
    let told = content(line);
    let reading = match text(line, "type") {
        Some("info") if told.starts_with("Request cancelled") => {
            Reading::new(Signal::TurnEnded { outcome: Outcome::Interrupted })
        }
        Some("error") => {
            let outcome = Outcome::Failed { cause: cause::from_error(None, told) };
            Reading::new(Signal::TurnEnded { outcome }).with_message(message(told))
        }
        _ => return Vec::new(),
    };
    let key = text(line, "timestamp").map(|at| format!("transcript/{}/{}", one_line(at, 40), one_line(told, 60)));
    vec![Reading { key, ..reading }]
}

/// A message's content is text, or parts with text.
fn content(line: &Value) -> &str {
    match &line["content"] {
        Value::String(content) => content.trim(),
        Value::Array(parts) => parts.iter().find_map(|part| text(part, "text")).unwrap_or_default(),
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use agtmux_core::signal::{Cause, Outcome, Signal};
    use serde_json::json;

    use super::gemini_transcript_line;

    #[test]
    fn cancelled_and_failed_turns_are_told_and_nothing_else() {
        let cancelled = json!({"id": "1", "timestamp": "t", "type": "info", "content": "Request cancelled."});
        let again = json!({"id": "2", "timestamp": "t", "type": "info", "content": "Request cancelled."});
        let readings = gemini_transcript_line(&cancelled);
        assert_eq!(readings[0].signal, Signal::TurnEnded { outcome: Outcome::Interrupted });
        assert_eq!(readings, gemini_transcript_line(&again), "a history that is written again is a repeat");
        let failed = json!({"type": "error", "content": [{"text": "[API Error: You exceeded your quota]"}]});
        let cause = Cause::UsageLimit;
        assert_eq!(gemini_transcript_line(&failed)[0].signal, Signal::TurnEnded { outcome: Outcome::Failed { cause } });
        for other in [json!({"type": "gemini", "content": "hi"}), json!({"$set": {}}), json!(null)] {
            assert_eq!(gemini_transcript_line(&other), [], "{other}");
        }
    }
}
