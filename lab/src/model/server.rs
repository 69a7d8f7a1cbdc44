//! The server: routes, silences, broken connections, and a record of what was asked.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request as HttpRequest, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::conversation::Request;
use super::dialect::{Answer, Piece, fill, openai_error, pieces};
use super::script::{self, Beat, Failure, Reply};
use super::{anthropic, chat, gemini, responses};

/// Agents send their whole conversation with every request.
const LARGEST_REQUEST: usize = 64 << 20;

/// A running server. Dropped, it ends.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    record: Arc<Record>,
    task: JoinHandle<io::Result<()>>,
}

/// What was asked of the server.
#[derive(Clone, Debug)]
pub struct Asked {
    /// When.
    pub at: Instant,
    /// The method and the path.
    pub request: String,
    /// What was said to the model.
    pub body: String,
    /// What it was answered, in a few words.
    pub answer: String,
    /// Whether somebody tried to reach the world through it.
    pub outside: bool,
}

/// How far the model is with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It has not ended yet.
    Answering,
    /// It ended, and asks for nothing.
    Ended,
    /// It ended with the use of a tool. The agent has not come back with the result.
    Used,
    /// The agent hung up before the end.
    HungUp,
    /// It was an HTTP error.
    Failed,
    /// The connection broke.
    Cut,
}

impl Server {
    /// Starts a server on a free port of the loopback interface.
    ///
    /// # Errors
    /// Fails when no port can be had.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let record = Arc::<Record>::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&record));
        let task = tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(Self { address, record, task })
    }

    /// Where it listens.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Everything the person said in the longest conversation so far, oldest first.
    pub fn said(&self) -> Vec<String> {
        lock(&self.record.said).clone()
    }

    /// How far the newest answer of the conversation is; none if nothing was asked yet.
    pub fn turn(&self) -> Option<Turn> {
        lock(&self.record.turn).map(|(_, turn)| turn)
    }

    /// Everything that was asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.record.asked).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the server remembers.
#[derive(Debug, Default)]
struct Record {
    asked: Mutex<Vec<Asked>>,
    said: Mutex<Vec<String>>,
    failures: Mutex<BTreeMap<(String, usize), u32>>,
    turn: Mutex<Option<(u64, Turn)>>,
}

/// One answer of the conversation while it is given. Dropped before it is told how it ended, the agent hung up.
#[derive(Debug)]
struct Answering {
    record: Arc<Record>,
    id: u64,
}

impl Answering {
    fn begin(record: &Arc<Record>, id: u64) -> Self {
        *lock(&record.turn) = Some((id, Turn::Answering));
        Self { record: Arc::clone(record), id }
    }

    fn becomes(&self, turn: Turn) {
        // A later answer may have begun meanwhile.
        if let Some((_, current)) = lock(&self.record.turn).as_mut().filter(|(id, _)| *id == self.id) {
            *current = turn;
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let unfinished = *lock(&self.record.turn) == Some((self.id, Turn::Answering));
        if unfinished {
            self.becomes(Turn::HungUp);
        }
    }
}

impl Record {
    fn note(&self, request: String, body: String, answer: &str, outside: bool) -> u64 {
        let mut asked = lock(&self.asked);
        asked.push(Asked { at: Instant::now(), request, body, answer: answer.to_owned(), outside });
        asked.len() as u64
    }

    /// Keeps what the person said. Agents send their whole conversation with every request.
    fn hear(&self, request: &Request) {
        let mut said = lock(&self.said);
        if !request.tools.is_empty() && request.said.len() > said.len() {
            said.clone_from(&request.said);
        }
    }

    /// Whether this request still fails, of those that fail a few times and then do not.
    fn still_fails(&self, request: &Request, failure: Failure) -> bool {
        let mut failures = lock(&self.failures);
        let count = failures.entry((request.prompt.clone(), request.round)).or_default();
        *count += 1;
        failure.times.is_none_or(|times| *count <= times)
    }
}

/// The APIs that are spoken.
#[derive(Clone, Copy)]
enum Dialect {
    Anthropic,
    Responses,
    Chat,
    Gemini { streamed: bool },
}

impl Dialect {
    fn of(path: &str) -> Option<Self> {
        match path {
            _ if path.ends_with("/v1/messages") => Some(Self::Anthropic),
            _ if path.ends_with("/responses") => Some(Self::Responses),
            _ if path.ends_with("/chat/completions") => Some(Self::Chat),
            _ if path.ends_with(":generateContent") => Some(Self::Gemini { streamed: false }),
            _ if path.ends_with(":streamGenerateContent") => Some(Self::Gemini { streamed: true }),
            _ => None,
        }
    }

    fn request(self, body: &Value) -> Request {
        match self {
            Self::Anthropic => anthropic::request(body),
            Self::Responses => responses::request(body),
            Self::Chat => chat::request(body),
            Self::Gemini { streamed } => gemini::request(body, streamed),
        }
    }

    fn writer(self, id: u64, request: &Request) -> Box<dyn Answer> {
        match self {
            Self::Anthropic => Box::new(anthropic::Writer::new(id, request)),
            Self::Responses => Box::new(responses::Writer::new(id, request)),
            Self::Chat => Box::new(chat::Writer::new(id, request)),
            Self::Gemini { .. } => Box::new(gemini::Writer::new(id)),
        }
    }

    fn error(self, failure: Failure) -> Value {
        match self {
            Self::Anthropic => anthropic::error(failure),
            Self::Responses | Self::Chat => openai_error(failure),
            Self::Gemini { .. } => gemini::error(failure),
        }
    }
}

async fn answer(State(record): State<Arc<Record>>, http: HttpRequest) -> Response {
    let (head, body) = http.into_parts();
    let asked = format!("{} {}", head.method, head.uri);
    // Agents are given this server as their proxy, so that whatever is not meant for the model ends here.
    if head.method == Method::CONNECT || head.uri.host().is_some() {
        record.note(asked, String::new(), "refused: it is not on loopback", true);
        return StatusCode::FORBIDDEN.into_response();
    }
    let path = head.uri.path();
    let Some(dialect) = Dialect::of(path) else {
        let known = beside_the_model(path);
        record.note(asked, String::new(), if known.is_some() { "answered" } else { "unknown" }, false);
        return known.map_or_else(|| StatusCode::NOT_FOUND.into_response(), |document| Json(document).into_response());
    };
    let body = to_bytes(body, LARGEST_REQUEST).await.unwrap_or_default();
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        record.note(asked, String::new(), "not JSON", false);
        return StatusCode::BAD_REQUEST.into_response();
    };
    let request = dialect.request(&body);
    record.hear(&request);
    let reply = decide(&request, &record);
    let id = record.note(asked, body.to_string(), &told(&request, &reply), false);
    let answering = (!is_aside(&request)).then(|| Answering::begin(&record, id));
    match reply {
        Reply::Fail(failure) => {
            if let Some(answering) = answering {
                answering.becomes(Turn::Failed);
            }
            fail(dialect, failure)
        }
        Reply::Speak { silence, beats } => {
            tokio::time::sleep(silence).await;
            let writer = dialect.writer(id, &request);
            if request.streamed {
                streamed(writer, request, beats, answering)
            } else {
                whole(writer, &request, &beats, answering).await
            }
        }
    }
}

/// Whether a request is no part of the conversation: a title, a summary, a suggestion.
fn is_aside(request: &Request) -> bool {
    let prompt = &request.prompt;
    request.schema.is_some()
        || request.tools.is_empty()
        || is_summary(prompt)
        || prompt.starts_with("[SUGGESTION MODE")
        || prompt.starts_with("Generate a concise")
}

fn is_summary(prompt: &str) -> bool {
    prompt.contains("Do NOT call any tools") && prompt.contains("<summary>")
}

/// Requests without tools are not part of the conversation: titles, summaries, who speaks next. They never fail or wait.
fn decide(request: &Request, record: &Record) -> Reply {
    if let Some(schema) = &request.schema {
        let known =
            json!({ "title": "Lab title", "next_speaker": "user", "reasoning": "lab", "model_choice": "flash" });
        return script::say(&fill(schema, &known).to_string());
    }
    if is_summary(&request.prompt) {
        let summary = "<analysis>lab</analysis>\n<summary>A summary of the lab.</summary>";
        let beats = vec![Beat::Text(summary.to_owned())];
        return Reply::Speak { silence: script::silence_wanted(&request.prompt), beats };
    }
    if request.tools.is_empty() || request.prompt.starts_with("[SUGGESTION MODE") {
        return script::say("Lab title");
    }
    match script::reply(&request.prompt, request.round) {
        Reply::Fail(failure) if !record.still_fails(request, failure) => script::say("recovered"),
        reply => reply,
    }
}

/// A request and its answer in a line.
fn told(request: &Request, reply: &Reply) -> String {
    let short = |text: String| text.chars().take(120).collect::<String>();
    format!("round {} of {:?}: {}", request.round, short(request.prompt.clone()), short(format!("{reply:?}")))
}

/// What agents ask for besides answers.
fn beside_the_model(path: &str) -> Option<Value> {
    if path.ends_with("/models") {
        let models = ["mock-model", "gpt-5.4"].map(|id| json!({ "id": id, "object": "model", "created": 1 }));
        return Some(json!({ "object": "list", "models": [], "data": models }));
    }
    if path.ends_with("/count_tokens") {
        return Some(json!({ "input_tokens": 100 }));
    }
    path.ends_with(":countTokens").then(|| json!({ "totalTokens": 100 }))
}

fn fail(dialect: Dialect, failure: Failure) -> Response {
    let status = StatusCode::from_u16(failure.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let document = Json(dialect.error(failure));
    if failure.status == 429 {
        (status, [(header::RETRY_AFTER, "2")], document).into_response()
    } else {
        (status, document).into_response()
    }
}

async fn whole(
    mut writer: Box<dyn Answer>,
    request: &Request,
    beats: &[Beat],
    answering: Option<Answering>,
) -> Response {
    for beat in beats {
        if let Beat::Wait(time) = beat {
            tokio::time::sleep(*time).await;
        }
    }
    let pieces: Vec<_> = beats.iter().flat_map(|beat| pieces(beat, request)).collect();
    if let Some(answering) = answering {
        answering.becomes(ending(&pieces));
    }
    Json(writer.whole(&pieces)).into_response()
}

/// How an answer of these pieces ends.
fn ending(pieces: &[Piece]) -> Turn {
    if pieces.iter().any(|piece| matches!(piece, Piece::Use(_))) { Turn::Used } else { Turn::Ended }
}

fn streamed(writer: Box<dyn Answer>, request: Request, beats: Vec<Beat>, answering: Option<Answering>) -> Response {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(send(writer, request, beats, sender, answering));
    let chunks =
        stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|chunk| (chunk, receiver)) });
    ([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")], Body::from_stream(chunks))
        .into_response()
}

/// Sends the answer beat by beat, until it is complete or the agent has hung up.
async fn send(
    mut writer: Box<dyn Answer>,
    request: Request,
    beats: Vec<Beat>,
    sender: mpsc::Sender<io::Result<Bytes>>,
    answering: Option<Answering>,
) {
    let all: Vec<_> = beats.iter().flat_map(|beat| pieces(beat, &request)).collect();
    let text = |events: Vec<super::dialect::Event>| -> Bytes {
        events.iter().map(super::dialect::Event::to_text).collect::<String>().into()
    };
    let mut chunks = vec![(Duration::ZERO, Ok(text(writer.begin())))];
    for beat in &beats {
        match beat {
            Beat::Wait(time) => chunks.push((*time, Ok(Bytes::new()))),
            Beat::Cut => {
                chunks.push((Duration::ZERO, Err(io::ErrorKind::ConnectionReset.into())));
                break;
            }
            _ => {
                let pieces = pieces(beat, &request);
                chunks.extend(pieces.iter().map(|piece| (Duration::ZERO, Ok(text(writer.piece(piece))))));
            }
        }
    }
    if !beats.contains(&Beat::Cut) {
        chunks.push((Duration::ZERO, Ok(text(writer.end()))));
    }
    for (pause, chunk) in chunks {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = sender.closed() => return,
        }
        if chunk.as_ref().is_ok_and(Bytes::is_empty) {
            continue;
        }
        if sender.send(chunk).await.is_err() {
            return;
        }
    }
    if let Some(answering) = answering {
        answering.becomes(if beats.contains(&Beat::Cut) { Turn::Cut } else { ending(&all) });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
