//! Gemini's `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};

use super::conversation::{Message, Request, beside_a_result};
use super::dialect::{Answer, Event, Piece, array, text_of};
use super::script::Failure;
use super::tools::ToolUse;

/// Reads a request. Whether the answer is streamed is said by the path.
pub(super) fn request(body: &Value, streamed: bool) -> Request {
    let messages: Vec<_> = array(body, "contents").iter().flat_map(messages).collect();
    let functions = array(body, "tools").iter().flat_map(|tool| array(tool, "functionDeclarations"));
    let tools = functions.filter_map(|function| {
        let schema = function.get("parametersJsonSchema").or_else(|| function.get("parameters"));
        Some((function.get("name")?.as_str()?.to_owned(), schema.cloned().unwrap_or_default()))
    });
    let wanted = body.get("generationConfig");
    let schema = wanted.and_then(|wanted| wanted.get("responseJsonSchema").or_else(|| wanted.get("responseSchema")));
    Request { tools: tools.collect(), schema: schema.cloned(), streamed, ..Request::default() }.with_messages(&messages)
}

fn messages(content: &Value) -> Vec<Message> {
    if content.get("role").is_some_and(|role| role == "model") {
        return vec![Message::Model];
    }
    let parts = array(content, "parts");
    let has_result = parts.iter().any(|part| part.get("functionResponse").is_some());
    let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
    if has_result {
        std::iter::once(Message::Result).chain(texts.filter_map(beside_a_result)).collect()
    } else {
        texts.map(|text| Message::Person(text.to_owned())).collect()
    }
}

/// The error document of a failure. A quota of the day is not retried, a rate is.
pub(super) fn error(failure: Failure) -> Value {
    let status = match failure.status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    let message = format!("the lab says {}", failure.status);
    let mut error = json!({ "code": failure.status, "status": status, "message": message });
    if failure.quota {
        let violation = json!({ "quotaId": "GenerateRequestsPerDayPerProjectPerModel" });
        error["details"] =
            json!([{ "@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation] }]);
    }
    json!({ "error": error })
}

/// Writes an answer.
pub(super) struct Writer {
    id: u64,
    calls: usize,
}

impl Writer {
    pub(super) const fn new(id: u64) -> Self {
        Self { id, calls: 0 }
    }

    fn chunk(&self, parts: &Value, finish: Option<&str>) -> Value {
        let mut candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts } });
        if let Some(finish) = finish {
            candidate["finishReason"] = json!(finish);
        }
        json!({
            "candidates": [candidate], "modelVersion": "lab", "responseId": format!("lab{}", self.id),
            "usageMetadata": { "promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110 },
        })
    }

    fn call(&mut self, tool: &ToolUse) -> Value {
        let id = format!("fc_lab_{}_{}", self.id, self.calls);
        self.calls += 1;
        json!({ "functionCall": { "name": tool.name, "args": tool.input, "id": id } })
    }
}

impl Answer for Writer {
    fn begin(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn piece(&mut self, piece: &Piece) -> Vec<Event> {
        let part = match piece {
            Piece::Text(text) => json!({ "text": text }),
            Piece::Thought(text) => json!({ "text": text, "thought": true }),
            Piece::Use(tool) => self.call(tool),
            Piece::Refusal => return Vec::new(),
        };
        vec![Event::data(&self.chunk(&json!([part]), None))]
    }

    fn end(&mut self) -> Vec<Event> {
        vec![Event::data(&self.chunk(&json!([{ "text": "" }]), Some("STOP")))]
    }

    fn whole(&mut self, pieces: &[Piece]) -> Value {
        let mut parts = vec![json!({ "text": text_of(pieces) })];
        for piece in pieces {
            if let Piece::Use(tool) = piece {
                parts.push(self.call(tool));
            }
        }
        self.chunk(&json!(parts), Some("STOP"))
    }
}
