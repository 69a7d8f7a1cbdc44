//! What every dialect has to do: read a request, and write an answer piece by piece, whole, or as an error.

use serde_json::{Value, json};

use super::conversation::Request;
use super::script::{Beat, Failure};
use super::tools::{self, ToolUse};

/// A piece of an answer, with the tool already chosen from those that the agent offers.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// Text of the reply.
    Text(String),
    /// Text of a thought.
    Thought(String),
    /// The use of a tool.
    Use(ToolUse),
    /// The model will not go on.
    Refusal,
}

/// Writes one answer in one dialect.
pub(super) trait Answer: Send {
    /// What comes before the first piece.
    fn begin(&mut self) -> Vec<Event>;
    /// What a piece becomes.
    fn piece(&mut self, piece: &Piece) -> Vec<Event>;
    /// What comes after the last piece.
    fn end(&mut self) -> Vec<Event>;
    /// The same answer as one document.
    fn whole(&mut self, pieces: &[Piece]) -> Value;
}

/// A server-sent event.
#[derive(Clone, Debug)]
pub(super) struct Event {
    name: Option<&'static str>,
    data: String,
}

impl Event {
    /// An event whose data names its own type.
    pub(super) fn named(name: &'static str, data: &Value) -> Self {
        Self { name: Some(name), data: data.to_string() }
    }

    /// An event that is data alone.
    pub(super) fn data(data: &Value) -> Self {
        Self { name: None, data: data.to_string() }
    }

    /// The word that ends a stream of chat completions.
    pub(super) fn done() -> Self {
        Self { name: None, data: "[DONE]".to_owned() }
    }

    pub(super) fn to_text(&self) -> String {
        let name = self.name.map_or_else(String::new, |name| format!("event: {name}\n"));
        format!("{name}data: {}\n\n", self.data)
    }
}

/// The pieces of a beat. Silence and broken connections are the server's business.
pub(super) fn pieces(beat: &Beat, request: &Request) -> Vec<Piece> {
    match beat {
        Beat::Text(text) => vec![Piece::Text(text.clone())],
        Beat::Thought(text) => vec![Piece::Thought(text.clone())],
        Beat::Use(tool) => {
            let uses = tools::choose(tool, request);
            if uses.is_empty() {
                let offered: Vec<_> = request.tools.keys().map(String::as_str).collect();
                return vec![Piece::Text(format!("no such tool here; offered: {}", offered.join(" ")))];
            }
            uses.into_iter().map(Piece::Use).collect()
        }
        Beat::Refusal => vec![Piece::Refusal],
        Beat::Wait(_) | Beat::Cut => Vec::new(),
    }
}

/// All the text of some pieces.
pub(super) fn text_of(pieces: &[Piece]) -> String {
    pieces.iter().filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None }).collect()
}

/// A list in a document; empty if there is none of that name.
pub(super) fn array<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text of a message of OpenAI's two dialects, which is a string or a list of parts.
pub(super) fn openai_text(message: &Value) -> String {
    if let Some(text) = message.get("content").and_then(Value::as_str) {
        return text.to_owned();
    }
    let parts: Vec<_> = array(message, "content").iter().filter_map(|part| part.get("text")?.as_str()).collect();
    parts.join("\n")
}

/// The error document of OpenAI's two dialects. The type matters: agents retry by it.
pub(super) fn openai_error(failure: Failure) -> Value {
    let kind = match failure.status {
        400 => "invalid_request_error",
        401 => "invalid_api_key",
        403 => "permission_error",
        429 if failure.quota => "insufficient_quota",
        429 => "rate_limit_exceeded",
        _ => "server_error",
    };
    let message = format!("the lab says {}", failure.status);
    json!({ "error": { "message": message, "type": kind, "code": kind, "param": null } })
}

/// A document that follows a schema, with the values that are known by name and something harmless for the rest.
pub(super) fn fill(schema: &Value, known: &Value) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut filled = serde_json::Map::new();
    for (name, property) in properties.into_iter().flatten() {
        if let Some(value) = known.get(name) {
            filled.insert(name.clone(), as_type(value, property));
        } else if required.iter().any(|wanted| wanted == name) {
            filled.insert(name.clone(), harmless(property));
        }
    }
    Value::Object(filled)
}

/// Some agents take a command line as a list of words.
fn as_type(value: &Value, property: &Value) -> Value {
    match (value, property.get("type").and_then(Value::as_str)) {
        (Value::String(command), Some("array")) => json!(["bash", "-lc", command]),
        _ => value.clone(),
    }
}

fn harmless(property: &Value) -> Value {
    if let Some(first) = property.get("enum").and_then(|choices| choices.get(0)) {
        return first.clone();
    }
    let kind = property.get("type");
    let kind = kind.and_then(|kind| kind.get(0)).or(kind).and_then(Value::as_str).unwrap_or_default();
    match kind.to_ascii_lowercase().as_str() {
        "integer" | "number" => json!(1),
        "boolean" => json!(false),
        "array" => json!([]),
        "object" => json!({}),
        _ => json!("lab"),
    }
}
