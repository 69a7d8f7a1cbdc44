//! `~/.claude/sessions/<pid>.json`: what Claude Code itself says it is doing, rewritten on every change.
//!
//! The format is undocumented and a killed process leaves its file behind, so a reader checks the pid and the start of
//! the process before it believes anything.

use agtmux_core::signal::{Blocking, InputKind, Signal};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::payload::{line, text};
use crate::translate::unsupported;

/// What a session file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionRecord {
    /// The process that writes it.
    pub pid: u32,
    /// When that process started, in the words of the file: on Linux field 22 of `/proc/PID/stat`.
    pub proc_start: Option<String>,
    /// The conversation.
    pub session: String,
    /// Where the agent was started.
    pub cwd: Option<String>,
    /// The tmux pane in which the agent was started, such as `%0`. It may have moved since.
    pub pane: Option<String>,
    /// When the status last changed, in milliseconds of the wall clock.
    pub status_updated_at: Option<i64>,
    /// What the status means. A status that is read twice has the same keys.
    pub readings: Vec<Reading>,
}

/// Reads a session file; none if it is not one.
pub fn claude_session_file(json: &Value) -> Option<SessionRecord> {
    let session = text(json, "sessionId")?;
    let status_updated_at = json.get("statusUpdatedAt").and_then(Value::as_i64);
    let mut readings = status(json);
    if let Some(at) = status_updated_at {
        let what = line(text(json, "status").unwrap_or_default(), 40);
        let key = format!("session_file/{}/{at}/{what}", line(session, 100));
        readings = readings.into_iter().map(|reading| reading.with_key(key.clone())).collect();
    }
    Some(SessionRecord {
        pid: u32::try_from(json.get("pid")?.as_u64()?).ok()?,
        proc_start: text(json, "procStart").map(str::to_owned),
        session: session.to_owned(),
        cwd: text(json, "cwd").map(str::to_owned),
        pane: text(json, "tmux").and_then(pane),
        status_updated_at,
        readings,
    })
}

/// A file that was just made has no status yet.
fn status(json: &Value) -> Vec<Reading> {
    match text(json, "status") {
        None => Vec::new(),
        Some("idle") => vec![Reading::new(Signal::Idle), background(0)],
        // At its composer, with a shell in the background; the file does not say how many.
        Some("shell") => vec![Reading::new(Signal::Idle), background(1)],
        Some("busy") => vec![Reading::new(Signal::TurnStarted)],
        Some("waiting") => vec![Reading::new(Signal::Blocked { on: waiting_for(text(json, "waitingFor")) })],
        Some(other) => vec![unsupported(&format!("session file status {other}"))],
    }
}

fn waiting_for(what: Option<&str>) -> Blocking {
    match what {
        Some("permission prompt") => Blocking::Approval { subject: None, prompt_hash: None },
        Some(request @ ("sandbox request" | "worker request")) => {
            Blocking::Approval { subject: Some(request.to_owned()), prompt_hash: None }
        }
        Some("input needed") => Blocking::Input { kind: InputKind::Question },
        Some("dialog open") | None => Blocking::Dialog { name: None },
        Some(other) => Blocking::Dialog { name: Some(line(other, 80)) },
    }
}

fn background(count: u32) -> Reading {
    Reading::new(Signal::Background { count })
}

/// The pane of `session:@window.%pane`; the session's name may hold any of the signs.
fn pane(place: &str) -> Option<String> {
    let (_, number) = place.rsplit_once('%')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then(|| format!("%{number}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::claude_session_file;

    #[test]
    fn a_record_says_whose_it_is() {
        let file = json!({"pid": 26309, "sessionId": "aa04", "cwd": "/ws", "procStart": "146117",
            "tmux": "odd %1:@0.%12", "status": "idle", "statusUpdatedAt": 5});
        let record = claude_session_file(&file).expect("a session file");
        assert_eq!((record.pid, record.proc_start.as_deref()), (26309, Some("146117")));
        assert_eq!((record.pane.as_deref(), record.status_updated_at), (Some("%12"), Some(5)));
        assert_eq!(record.readings[0].key.as_deref(), Some("session_file/aa04/5/idle"));
    }

    #[test]
    fn what_is_not_a_session_file_is_none() {
        for bad in
            [json!(null), json!([]), json!({"pid": 1}), json!({"pid": -1, "sessionId": "a"}), json!({"sessionId": "a"})]
        {
            assert_eq!(claude_session_file(&bad), None, "{bad}");
        }
    }
}
