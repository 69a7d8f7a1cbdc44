//! OpenAI Responses, as Codex and Copilot speak it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::conversation::{Message, Request};
use super::dialect::{Answer, Event, Piece, array, openai_text, text_of};
use super::tools::ToolUse;

/// Reads a request.
pub(super) fn request(body: &Value) -> Request {
    let messages: Vec<_> = match body.get("input") {
        Some(Value::String(text)) => vec![Message::Person(text.clone())],
        _ => array(body, "input").iter().filter_map(message).collect(),
    };
    Request {
        tools: array(body, "tools").iter().flat_map(tools).collect(),
        schema: body.pointer("/text/format/schema").cloned(),
        streamed: body.get("stream").and_then(Value::as_bool).unwrap_or_default(),
        model: body.get("model").and_then(Value::as_str).unwrap_or("lab").to_owned(),
        ..Request::default()
    }
    .with_messages(&messages)
}

fn message(item: &Value) -> Option<Message> {
    let kind = item.get("type").and_then(Value::as_str).unwrap_or("message");
    match item.get("role").and_then(Value::as_str) {
        Some("user") if kind == "message" => Some(Message::Person(openai_text(item))),
        Some("assistant") => Some(Message::Model),
        _ if kind.ends_with("_call") => Some(Message::Model),
        _ if kind.ends_with("_output") => Some(Message::Result),
        _ => None,
    }
}

/// Functions take an object, custom tools take free text, and a namespace holds functions of its own.
fn tools(tool: &Value) -> BTreeMap<String, Value> {
    let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
    let parameters = || tool.get("parameters").cloned().unwrap_or_default();
    match tool.get("type").and_then(Value::as_str) {
        Some("function") => BTreeMap::from([(name.to_owned(), parameters())]),
        Some("custom") => BTreeMap::from([(name.to_owned(), Value::Null)]),
        Some("namespace") => array(tool, "tools")
            .iter()
            .flat_map(tools)
            .map(|(inner, schema)| (format!("{name}.{inner}"), schema))
            .collect(),
        _ => BTreeMap::new(),
    }
}

/// Writes an answer.
pub(super) struct Writer {
    id: u64,
    model: String,
    text: Option<String>,
    items: Vec<Value>,
}

impl Writer {
    pub(super) fn new(id: u64, request: &Request) -> Self {
        Self { id, model: request.model.clone(), text: None, items: Vec::new() }
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_lab_{}", self.id), "object": "response", "created_at": 1, "status": status,
            "model": self.model, "output": self.items,
            "usage": {
                "input_tokens": 100, "input_tokens_details": { "cached_tokens": 0 }, "output_tokens": 10,
                "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 110,
            },
        })
    }

    fn message_id(&self) -> String {
        format!("msg_lab_{}", self.id)
    }

    fn message(&self, text: &str) -> Value {
        let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
        let id = self.message_id();
        json!({ "type": "message", "id": id, "role": "assistant", "status": "completed", "content": content })
    }

    fn call(&self, tool: &ToolUse) -> Value {
        let call_id = format!("call_lab_{}_{}", self.id, self.items.len());
        let id = format!("fc_{call_id}");
        if let Value::String(text) = &tool.input {
            return json!({
                "type": "custom_tool_call", "id": id, "call_id": call_id, "name": tool.name, "input": text,
                "status": "completed",
            });
        }
        let (namespace, name) = tool.name.split_once('.').map_or((None, tool.name.as_str()), |(a, b)| (Some(a), b));
        let mut call = json!({
            "type": "function_call", "id": id, "call_id": call_id, "name": name,
            "arguments": tool.input.to_string(), "status": "completed",
        });
        if let Some(namespace) = namespace {
            call["namespace"] = json!(namespace);
        }
        call
    }

    fn add_item(&mut self, item: Value) -> Vec<Event> {
        let index = self.items.len();
        let mut started = item.clone();
        started["status"] = json!("in_progress");
        let events = vec![
            event("response.output_item.added", json!({ "output_index": index, "item": started })),
            event("response.output_item.done", json!({ "output_index": index, "item": item })),
        ];
        self.items.push(item);
        events
    }

    fn end_message(&mut self) -> Vec<Event> {
        let Some(text) = self.text.take() else { return Vec::new() };
        let (id, index, item) = (self.message_id(), self.items.len(), self.message(&text));
        let done = json!({ "item_id": id, "output_index": index, "content_index": 0, "text": text });
        let events = vec![
            event("response.output_text.done", done),
            event("response.output_item.done", json!({ "output_index": index, "item": item })),
        ];
        self.items.push(item);
        events
    }
}

impl Answer for Writer {
    fn begin(&mut self) -> Vec<Event> {
        vec![event("response.created", json!({ "response": self.response("in_progress") }))]
    }

    fn piece(&mut self, piece: &Piece) -> Vec<Event> {
        match piece {
            Piece::Text(text) => {
                let (id, index) = (self.message_id(), self.items.len());
                let mut events = Vec::new();
                if self.text.is_none() {
                    let mut item = self.message("");
                    item["status"] = json!("in_progress");
                    item["content"] = json!([]);
                    events.push(event("response.output_item.added", json!({ "output_index": index, "item": item })));
                    let part = json!({ "type": "output_text", "text": "", "annotations": [] });
                    let part = json!({ "item_id": id, "output_index": index, "content_index": 0, "part": part });
                    events.push(event("response.content_part.added", part));
                }
                self.text.get_or_insert_default().push_str(text);
                let delta = json!({ "item_id": id, "output_index": index, "content_index": 0, "delta": text });
                events.push(event("response.output_text.delta", delta));
                events
            }
            Piece::Use(tool) => {
                let mut events = self.end_message();
                let call = self.call(tool);
                events.extend(self.add_item(call));
                events
            }
            Piece::Thought(_) | Piece::Refusal => Vec::new(),
        }
    }

    fn end(&mut self) -> Vec<Event> {
        let mut events = self.end_message();
        events.push(event("response.completed", json!({ "response": self.response("completed") })));
        events
    }

    fn whole(&mut self, pieces: &[Piece]) -> Value {
        let text = text_of(pieces);
        if !text.is_empty() {
            self.items.push(self.message(&text));
        }
        for piece in pieces {
            if let Piece::Use(tool) = piece {
                self.items.push(self.call(tool));
            }
        }
        self.response("completed")
    }
}

fn event(name: &'static str, mut data: Value) -> Event {
    data["type"] = json!(name);
    Event::named(name, &data)
}
