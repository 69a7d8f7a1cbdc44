//! OpenAI Chat Completions, as opencode speaks it.

use serde_json::{Value, json};

use super::conversation::{Message, Request};
use super::dialect::{Answer, Event, Piece, array, openai_text, text_of};
use super::tools::ToolUse;

/// Reads a request.
pub(super) fn request(body: &Value) -> Request {
    let messages: Vec<_> = array(body, "messages").iter().filter_map(message).collect();
    let tools = array(body, "tools").iter().filter_map(|tool| {
        let function = tool.get("function")?;
        let parameters = function.get("parameters").cloned().unwrap_or_default();
        Some((function.get("name")?.as_str()?.to_owned(), parameters))
    });
    Request {
        tools: tools.collect(),
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        streamed: body.get("stream").and_then(Value::as_bool).unwrap_or_default(),
        model: body.get("model").and_then(Value::as_str).unwrap_or("lab").to_owned(),
        ..Request::default()
    }
    .with_messages(&messages)
}

fn message(message: &Value) -> Option<Message> {
    match message.get("role").and_then(Value::as_str)? {
        "user" => Some(Message::Person(openai_text(message))),
        "assistant" => Some(Message::Model),
        "tool" => Some(Message::Result),
        _ => None,
    }
}

/// Writes an answer.
pub(super) struct Writer {
    id: u64,
    model: String,
    calls: usize,
}

impl Writer {
    pub(super) fn new(id: u64, request: &Request) -> Self {
        Self { id, model: request.model.clone(), calls: 0 }
    }

    fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": format!("chatcmpl-lab-{}", self.id), "object": "chat.completion.chunk", "created": 1,
            "model": self.model, "choices": choices,
        })
    }

    fn delta(&self, delta: &Value, finish: Option<&str>) -> Event {
        Event::data(&self.chunk(&json!([{ "index": 0, "delta": delta, "finish_reason": finish }])))
    }

    fn call(&mut self, tool: &ToolUse) -> Value {
        let index = self.calls;
        self.calls += 1;
        json!({
            "index": index, "id": format!("call_lab_{}_{index}", self.id), "type": "function",
            "function": { "name": tool.name, "arguments": tool.input.to_string() },
        })
    }

    const fn finish(&self) -> &'static str {
        if self.calls > 0 { "tool_calls" } else { "stop" }
    }
}

impl Answer for Writer {
    fn begin(&mut self) -> Vec<Event> {
        vec![self.delta(&json!({ "role": "assistant", "content": "" }), None)]
    }

    fn piece(&mut self, piece: &Piece) -> Vec<Event> {
        match piece {
            Piece::Text(text) => vec![self.delta(&json!({ "content": text }), None)],
            Piece::Use(tool) => {
                let call = self.call(tool);
                vec![self.delta(&json!({ "tool_calls": [call] }), None)]
            }
            Piece::Thought(_) | Piece::Refusal => Vec::new(),
        }
    }

    fn end(&mut self) -> Vec<Event> {
        let mut last = self.chunk(&json!([]));
        last["usage"] = usage();
        vec![self.delta(&json!({}), Some(self.finish())), Event::data(&last), Event::done()]
    }

    fn whole(&mut self, pieces: &[Piece]) -> Value {
        let mut message = json!({ "role": "assistant", "content": text_of(pieces) });
        let calls: Vec<_> = pieces
            .iter()
            .filter_map(|piece| if let Piece::Use(tool) = piece { Some(self.call(tool)) } else { None })
            .collect();
        if !calls.is_empty() {
            message["tool_calls"] = json!(calls);
        }
        let mut whole = self.chunk(&json!([{ "index": 0, "message": message, "finish_reason": self.finish() }]));
        whole["object"] = json!("chat.completion");
        whole["usage"] = usage();
        whole
    }
}

fn usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 })
}
