//! Anthropic Messages, as Claude Code speaks it.

use serde_json::{Value, json};

use super::conversation::{Message, Request, beside_a_result};
use super::dialect::{Answer, Event, Piece, array};
use super::script::Failure;

/// Reads a request.
pub(super) fn request(body: &Value) -> Request {
    let messages: Vec<_> = array(body, "messages").iter().flat_map(messages).collect();
    let tools = array(body, "tools").iter().filter_map(|tool| {
        Some((tool.get("name")?.as_str()?.to_owned(), tool.get("input_schema").cloned().unwrap_or_default()))
    });
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"));
    Request {
        tools: tools.collect(),
        schema: format.and_then(|format| format.get("schema")).cloned(),
        streamed: body.get("stream").and_then(Value::as_bool).unwrap_or_default(),
        model: body.get("model").and_then(Value::as_str).unwrap_or("lab").to_owned(),
        plan_file: plan_file(&body["messages"].to_string()),
        ..Request::default()
    }
    .with_messages(&messages)
}

/// In plan mode the agent names a file of its own, in some reminder.
fn plan_file(text: &str) -> Option<String> {
    let mut words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\\' | '`'));
    words.rfind(|word| word.contains("/plans/") && word.ends_with(".md")).map(str::to_owned)
}

fn messages(message: &Value) -> Vec<Message> {
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => return vec![Message::Model],
        Some("user") => {}
        _ => return Vec::new(),
    }
    if let Some(text) = message.get("content").and_then(Value::as_str) {
        return vec![Message::Person(text.to_owned())];
    }
    let blocks = array(message, "content");
    let has_result = blocks.iter().any(|block| block.get("type").is_some_and(|kind| kind == "tool_result"));
    let texts = blocks.iter().filter_map(|block| block.get("text")?.as_str());
    if has_result {
        std::iter::once(Message::Result).chain(texts.filter_map(beside_a_result)).collect()
    } else {
        texts.map(|text| Message::Person(text.to_owned())).collect()
    }
}

/// The error document of a failure.
pub(super) fn error(failure: Failure) -> Value {
    let kind = match failure.status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        _ => "api_error",
    };
    let message = format!("the lab says {}", failure.status);
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_lab" })
}

/// Writes an answer.
pub(super) struct Writer {
    id: u64,
    model: String,
    open: Option<&'static str>,
    blocks: usize,
    stop: &'static str,
}

impl Writer {
    pub(super) fn new(id: u64, request: &Request) -> Self {
        Self { id, model: request.model.clone(), open: None, blocks: 0, stop: "end_turn" }
    }

    fn message(&self, content: &Value, stop: Option<&str>) -> Value {
        json!({
            "id": format!("msg_lab_{}", self.id), "type": "message", "role": "assistant", "model": self.model,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {
                "input_tokens": 1200, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
                "output_tokens": 42,
            },
        })
    }

    /// Begins a block of a kind, unless such a block is open, in which its text goes on.
    fn open(&mut self, kind: &'static str, block: &Value) -> Vec<Event> {
        if self.open == Some(kind) {
            return Vec::new();
        }
        let mut events = self.close();
        self.open = Some(kind);
        let data = json!({ "type": "content_block_start", "index": self.blocks, "content_block": block });
        events.push(Event::named("content_block_start", &data));
        events
    }

    fn delta(&self, delta: &Value) -> Event {
        let data = json!({ "type": "content_block_delta", "index": self.blocks, "delta": delta });
        Event::named("content_block_delta", &data)
    }

    fn close(&mut self) -> Vec<Event> {
        let Some(kind) = self.open.take() else { return Vec::new() };
        let mut events = Vec::new();
        if kind == "thinking" {
            events.push(self.delta(&json!({ "type": "signature_delta", "signature": "bGFi" })));
        }
        let data = json!({ "type": "content_block_stop", "index": self.blocks });
        events.push(Event::named("content_block_stop", &data));
        self.blocks += 1;
        events
    }

    fn tool_id(&self) -> String {
        format!("toolu_lab_{}_{}", self.id, self.blocks)
    }
}

impl Answer for Writer {
    fn begin(&mut self) -> Vec<Event> {
        let data = json!({ "type": "message_start", "message": self.message(&json!([]), None) });
        vec![Event::named("message_start", &data)]
    }

    fn piece(&mut self, piece: &Piece) -> Vec<Event> {
        match piece {
            Piece::Text(text) => {
                let mut events = self.open("text", &json!({ "type": "text", "text": "" }));
                events.push(self.delta(&json!({ "type": "text_delta", "text": text })));
                events
            }
            Piece::Thought(text) => {
                let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
                let mut events = self.open("thinking", &block);
                events.push(self.delta(&json!({ "type": "thinking_delta", "thinking": text })));
                events
            }
            Piece::Use(tool) => {
                self.stop = "tool_use";
                let mut events = self.close();
                let block = json!({ "type": "tool_use", "id": self.tool_id(), "name": tool.name, "input": {} });
                events.extend(self.open("tool_use", &block));
                let input = tool.input.to_string();
                events.push(self.delta(&json!({ "type": "input_json_delta", "partial_json": input })));
                events.extend(self.close());
                events
            }
            Piece::Refusal => {
                self.stop = "refusal";
                Vec::new()
            }
        }
    }

    fn end(&mut self) -> Vec<Event> {
        let mut events = self.close();
        let delta = json!({ "stop_reason": self.stop, "stop_sequence": null });
        let data = json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 42 } });
        events.push(Event::named("message_delta", &data));
        events.push(Event::named("message_stop", &json!({ "type": "message_stop" })));
        events
    }

    fn whole(&mut self, pieces: &[Piece]) -> Value {
        let mut content = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => content.push(json!({ "type": "text", "text": text })),
                Piece::Use(tool) => {
                    self.stop = "tool_use";
                    let id = self.tool_id();
                    content.push(json!({ "type": "tool_use", "id": id, "name": tool.name, "input": tool.input }));
                }
                Piece::Refusal => self.stop = "refusal",
                Piece::Thought(_) => {}
            }
        }
        self.message(&json!(content), Some(self.stop))
    }
}
