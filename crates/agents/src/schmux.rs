//! The two files by which any agent can say how it stands: a status file of one line, and an events file of JSON lines.
//! Their formats are those of schmux, so that agents that were taught for it need not learn anew.

use agtmux_core::signal::{self, Signal};
use serde_json::Value;

use crate::Reading;

/// How much of a line that nobody understands is shown.
const SHOWN: usize = 200;

/// Reads a status file: one line, `STATE MESSAGE`. Nothing for a file without content, which is one in the middle of
/// being written. Lines after the first are not part of the format and say nothing.
pub fn status_line(text: &str) -> Option<Reading> {
    let line = text.trim_start_matches(['\u{feff}', '\n', '\r']).lines().next()?.trim();
    if line.is_empty() {
        return None;
    }
    let (state, message) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some(status(state, message.trim()).unwrap_or_else(|| near_miss(line)))
}

/// What one line of an events file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventLine {
    /// About the state; nothing for events that are for the record only.
    pub reading: Option<Reading>,
    /// The id by which the agent's conversation can be taken up again.
    pub resume_id: Option<String>,
    /// When it was written, as the line says.
    pub time: Option<String>,
}

/// Reads a line of an events file: an object with `type`, of which `status` carries a state and `resume_id` an id, and
/// `failure`, `reflection` and `friction` are for the record. A line that is none of these is a near miss.
pub fn event_line(line: &str) -> EventLine {
    let Ok(Value::Object(event)) = serde_json::from_str(line) else {
        return EventLine { reading: Some(near_miss(line)), ..EventLine::default() };
    };
    let text = |key: &str| event.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let mut read = EventLine { time: text("ts").map(str::to_owned), ..EventLine::default() };
    match text("type") {
        Some("status") => {
            let message = text("message").or_else(|| text("blockers")).or_else(|| text("intent")).unwrap_or_default();
            let state = text("state").and_then(|state| status(state, message));
            read.reading = Some(state.unwrap_or_else(|| near_miss(line)));
        }
        Some("resume_id") => read.resume_id = text("id").map(str::to_owned),
        Some("failure" | "reflection" | "friction") => {}
        _ => read.reading = Some(near_miss(line)),
    }
    read
}

/// A line that no rule understands, shortened.
pub fn near_miss(line: &str) -> Reading {
    let mut what: String = line.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if what.len() < line.len() {
        what.push('…');
    }
    Reading::new(Signal::Unsupported { what })
}

fn status(state: &str, message: &str) -> Option<Reading> {
    signal::from_state_name(state).ok().map(|signal| Reading::new(signal).with_message(message))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::{event_line, status_line};

    fn shown(reading: Option<crate::Reading>) -> String {
        reading.map_or("nothing".to_owned(), |reading| {
            let signal = serde_json::to_string(&reading.signal).unwrap();
            reading.message.map_or(signal.clone(), |message| format!("{signal} {message:?}"))
        })
    }

    #[test]
    fn a_status_file_is_a_state_and_a_message() {
        let files = [
            "completed Implemented the login feature\n",
            "needs_input Should I delete these 5 files?",
            "needs_testing\tTry it at :3000\r\n",
            "error   Build failed - missing dependency  \n",
            "working",
            "working\nsecond line",
            "idle",
            "unknown",
            "\u{feff}completed with a mark",
            "\n\ncompleted after empty lines",
            "",
            "\n",
            "   ",
            "COMPLETED shouting",
            "done finished",
            "completed: all of it",
            "echo \"completed\"",
        ];
        let lines: Vec<_> = files.iter().map(|file| format!("{file:?} => {}", shown(status_line(file)))).collect();
        assert_snapshot!(lines.join("\n"));
    }

    #[test]
    fn an_events_file_is_one_object_per_line() {
        let lines = [
            r#"{"ts":"2026-01-31T09:00:00Z","type":"status","state":"working","message":"on it","intent":"login"}"#,
            r#"{"type":"status","state":"needs_input","message":"","blockers":"no key"}"#,
            r#"{"type":"status","state":"completed","source":"floor-manager"}"#,
            r#"{"type":"status","state":"rotate"}"#,
            r#"{"type":"status","state":7}"#,
            r#"{"type":"status"}"#,
            r#"{"type":"failure","tool":"Bash","input":"x","error":"y","category":"z"}"#,
            r#"{"type":"reflection","text":"hm"}"#,
            r#"{"type":"friction","text":"ow"}"#,
            r#"{"type":"resume_id","id":"abc"}"#,
            r#"{"type":"from_the_future"}"#,
            r#"{"state":"completed"}"#,
            r#"["status"]"#,
            r#"{"type":"status","sta"#,
            "",
        ];
        let rendered: Vec<_> = lines
            .iter()
            .map(|line| {
                let read = event_line(line);
                format!("{line} => {} resume={:?} time={:?}", shown(read.reading), read.resume_id, read.time)
            })
            .collect();
        assert_snapshot!(rendered.join("\n"));
    }

    #[test]
    fn a_long_or_dirty_line_is_shown_short_and_clean() {
        let line = format!("\u{1b}[31m{}", "ä".repeat(5_000));
        let shown = shown(status_line(&line));
        assert!(shown.contains('…') && !shown.contains('\u{1b}') && shown.len() < 500, "{shown}");
    }
}
