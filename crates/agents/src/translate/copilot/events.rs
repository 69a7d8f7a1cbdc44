//! Copilot's `events.jsonl`: everything that happens in a session, aborts, refusals and errors included.

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal, Work};
use serde_json::Value;

use crate::reading::Reading;
use crate::translate::asks::Asks;
use crate::translate::cause;
use crate::translate::payload::{hash, line as one_line, list, message, text, text_at};

/// Reads the lines of one session in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub struct CopilotEvents {
    asks: Asks,
    /// What the model said last, and whether it wants to go on with tools.
    last: Option<(String, bool)>,
}

impl CopilotEvents {
    /// What one line says. Lines that no state depends on, and those of agents below the main one, say nothing.
    pub fn line(&mut self, line: &Value) -> Vec<Reading> {
        let data = &line["data"];
        let Some(event) = text(line, "type") else {
            return Vec::new();
        };
        let below = text(line, "agentId").is_some() || text(data, "parentToolCallId").is_some();
        let readings = match event {
            // Whoever asks, it is the person that must answer.
            "permission.requested" => self.permission(data),
            "permission.completed" => text(data, "requestId").map(|id| self.asks.answer(id)).unwrap_or_default(),
            "tool.execution_start" => self.tool_begins(data),
            "tool.execution_complete" => self.tool_over(data),
            _ if below => Vec::new(),
            "user.message" => self.begun(data),
            "assistant.message" => {
                let last = message(text(data, "content").unwrap_or_default());
                self.last = Some((last, !list(data, "toolRequests").is_empty()));
                Vec::new()
            }
            "assistant.turn_end" => self.round_over(),
            "abort" => self.over(Outcome::Interrupted, ""),
            "session.error" => {
                self.over(Outcome::Failed { cause: failure(data) }, text(data, "message").unwrap_or_default())
            }
            "session.compaction_start" => vec![Reading::new(Signal::Working { with: Work::Compacting })],
            "session.compaction_complete" => vec![Reading::new(Signal::WorkEnded)],
            "session.shutdown" => vec![Reading::new(Signal::Withdrawn)],
            _ => Vec::new(),
        };
        keyed(line, readings)
    }

    /// A message that steers a turn does not begin one.
    fn begun(&mut self, data: &Value) -> Vec<Reading> {
        if text(data, "delivery") == Some("steering") {
            return Vec::new();
        }
        self.asks.forget();
        self.last = None;
        vec![Reading::new(Signal::TurnStarted)]
    }

    /// One pair of lines per round of the model. The round after which it wants no tools is the last.
    fn round_over(&mut self) -> Vec<Reading> {
        match self.last.take() {
            Some((last, false)) => self.over(Outcome::Done, &last),
            _ => vec![Reading::new(Signal::WorkEnded)],
        }
    }

    fn over(&mut self, outcome: Outcome, told: &str) -> Vec<Reading> {
        self.asks.forget();
        self.last = None;
        vec![Reading::new(Signal::TurnEnded { outcome }).with_message(message(told))]
    }

    fn permission(&mut self, data: &Value) -> Vec<Reading> {
        let Some(id) = text(data, "requestId") else {
            return Vec::new();
        };
        // A hook has answered before anybody was asked.
        if data.get("resolvedByHook").and_then(Value::as_bool) == Some(true) {
            return Vec::new();
        }
        let request = &data["permissionRequest"];
        let kind = text(request, "kind").unwrap_or("permission");
        let told = ["fullCommandText", "fileName", "path", "url", "toolName", "intention"];
        let subject = match told.iter().find_map(|name| text(request, name)) {
            Some(what) => one_line(&format!("{kind}: {}", one_line(what, 300)), 300),
            None => one_line(kind, 300),
        };
        let on = Blocking::Approval { subject: Some(subject), prompt_hash: Some(hash(kind, request, &[])) };
        self.asks.ask(id, None, Reading::new(Signal::Blocked { on }))
    }

    fn tool_begins(&mut self, data: &Value) -> Vec<Reading> {
        match (text(data, "toolName"), text(data, "toolCallId")) {
            (Some("ask_user"), Some(id)) => {
                let on = Blocking::Input { kind: InputKind::Question };
                let asked = message(text_at(data, &["arguments", "message"]).unwrap_or_default());
                self.asks.ask(id, None, Reading::new(Signal::Blocked { on }).with_message(asked))
            }
            (Some(tool), _) => vec![Reading::new(Signal::Working { with: Work::Tool { name: one_line(tool, 80) } })],
            (None, _) => Vec::new(),
        }
    }

    fn tool_over(&mut self, data: &Value) -> Vec<Reading> {
        let mut readings = text(data, "toolCallId").map(|id| self.asks.answer(id)).unwrap_or_default();
        readings.push(Reading::new(Signal::WorkEnded));
        readings
    }
}

fn failure(data: &Value) -> Cause {
    let told = text(data, "message").unwrap_or_default();
    match text(data, "errorType") {
        Some("quota") => Cause::UsageLimit,
        Some("rate_limit") => Cause::RateLimit,
        Some("authentication" | "authorization") => Cause::Auth,
        Some("policy") => Cause::Refused,
        _ => cause::from_error(data.get("statusCode").and_then(Value::as_u64), told),
    }
}

/// Every line has an id of its own.
fn keyed(line: &Value, readings: Vec<Reading>) -> Vec<Reading> {
    match text(line, "id") {
        Some(id) => {
            let key = format!("events/{}", one_line(id, 100));
            readings.into_iter().map(|reading| reading.with_key(key.clone())).collect()
        }
        None => readings,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::CopilotEvents;
    use crate::translate::tests::render;

    fn read(lines: &[(&str, Value)]) -> Vec<String> {
        let mut events = CopilotEvents::default();
        let line = |(event, data): &(&str, Value)| events.line(&json!({"type": event, "data": data}));
        lines.iter().flat_map(line).map(|reading| render(&reading)).collect()
    }

    #[test]
    fn a_turn_ends_with_the_round_that_wants_no_tools() {
        let lines = [
            ("user.message", json!({"content": "go"})),
            ("assistant.turn_start", json!({"turnId": "0"})),
            ("assistant.message", json!({"content": "", "toolRequests": [{"name": "bash"}]})),
            (
                "permission.requested",
                json!({"requestId": "r1", "permissionRequest": {"kind": "shell", "fullCommandText": "ls"}}),
            ),
            ("permission.completed", json!({"requestId": "r1", "result": {"kind": "approved"}})),
            ("tool.execution_start", json!({"toolCallId": "c1", "toolName": "bash"})),
            ("tool.execution_complete", json!({"toolCallId": "c1", "success": true})),
            ("assistant.turn_end", json!({"turnId": "0"})),
            ("assistant.message", json!({"content": "all done"})),
            ("assistant.turn_end", json!({"turnId": "1"})),
        ];
        insta::assert_snapshot!(read(&lines).join("\n"), @r"
        turn_started
        blocked on approval of shell: ls
        unblocked
        working on tool bash
        work_ended
        work_ended
        turn_ended done: all done
        ");
    }

    #[test]
    fn what_hooks_miss_is_told() {
        let ask = (
            "tool.execution_start",
            json!({"toolCallId": "c", "toolName": "ask_user", "arguments": {"message": "Which?"}}),
        );
        let lines = [
            ask,
            ("abort", json!({"reason": "user_abort"})),
            ("session.error", json!({"errorType": "query", "statusCode": 400, "message": "mock says 400"})),
            ("session.error", json!({"errorType": "quota", "message": "no more"})),
        ];
        insta::assert_snapshot!(read(&lines).join("\n"), @r"
        blocked on question: Which?
        turn_ended interrupted
        turn_ended failed other: mock says 400
        turn_ended failed usage_limit: no more
        ");
    }
}
