//! opencode's own server, where it was started with `--port`: every event as it happens, answers and aborts included.

mod requests;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::translate::{Translator, opencode_standing};
use agtmux_core::signal::{Signal, Source};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use self::requests::Requests;
use super::sse::Events;
use crate::daemon::Handle;
use crate::daemon::roster::{Conversation, Member};
use crate::daemon::said::Said;
use crate::error::CommandError;
use crate::platform;

/// The agent that this is about.
pub(super) const AGENT: &str = "opencode";

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest document that is read.
const DOCUMENT: usize = 1024 * 1024;

/// More sessions than are busy at once in one opencode.
const SESSIONS: usize = 32;

/// A server sends a sign of life every ten seconds. One that is silent for longer than this has gone away.
const SILENCE: Duration = Duration::from_secs(40);

/// How long to wait before a server is tried again: it opens a while after its process starts.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10)];

/// Listens to the server of a runtime, if it has one, until aborted.
pub(super) async fn listen(member: Arc<Member>, handle: Handle) {
    let Some(port) = find_port(member.process.pid).await else {
        return;
    };
    for attempt in 0_usize.. {
        match attend(&member, port, &handle).await {
            Ok(()) => {}
            Err(Silence::Server(why)) => tracing::debug!(%why, port, "opencode's server is not heard"),
            Err(Silence::Daemon) => return,
        }
        sleep(PAUSES[attempt.min(PAUSES.len() - 1)]).await;
    }
}

/// The port that an agent serves on, if any. A launcher may take a moment to start the program that has one.
async fn find_port(pid: u32) -> Option<u16> {
    for pause in PAUSES {
        if let Ok(Some(port)) = tokio::task::spawn_blocking(move || port_of(pid)).await {
            return Some(port);
        }
        sleep(pause).await;
    }
    None
}

/// Why nothing is heard any more.
enum Silence {
    Server(String),
    Daemon,
}

impl From<CommandError> for Silence {
    fn from(_ending: CommandError) -> Self {
        Self::Daemon
    }
}

/// Listens to one connection until it ends. Then what the server said last may be true no longer, and is taken back.
async fn attend(member: &Member, port: u16, handle: &Handle) -> Result<(), Silence> {
    let mut body = connect(member, port).await.map_err(Silence::Server)?.into_body();
    let mut events = Events::default();
    let mut translator = Translator::default();
    let mut requests = Requests::new(member, port, handle);
    // Asked when the events are heard already, so that nothing falls between.
    let mut has_spoken = restate(member, port, &mut translator, &mut requests, handle).await?;
    while let Ok(Some(Ok(frame))) = timeout(SILENCE, body.frame()).await {
        for event in frame.data_ref().map(|piece| events.take(piece)).unwrap_or_default() {
            has_spoken |= tell(member, &event, &mut translator, &mut requests, handle).await?;
        }
    }
    if has_spoken {
        let withdrawn = vec![Reading::new(Signal::Withdrawn)];
        handle.said(Said::now(Source::AppServer, member.claim(), withdrawn)).await?;
    }
    Ok(())
}

/// Opens the stream of events on this host, and nowhere else.
async fn connect(member: &Member, port: u16) -> Result<Response<Incoming>, String> {
    is_its_own(member.process.pid, port).await?;
    get(port, "/event", "text/event-stream").await
}

/// Checks that the agent still serves on its port.
async fn is_its_own(pid: u32, port: u16) -> Result<(), String> {
    let is_its_own = tokio::task::spawn_blocking(move || listens(pid, port)).await.unwrap_or(false);
    if is_its_own { Ok(()) } else { Err("the port is not the agent's".to_owned()) }
}

async fn get(port: u16, path: &str, accept: &str) -> Result<Response<Incoming>, String> {
    let request = Request::get(path).header("accept", accept).body(Full::default());
    exchange(port, request.map_err(|error| error.to_string())?).await
}

async fn post(port: u16, path: &str, document: &Value) -> Result<(), String> {
    let body = Full::from(document.to_string());
    let request = Request::post(path).header("content-type", "application/json").body(body);
    exchange(port, request.map_err(|error| error.to_string())?).await.map(drop)
}

async fn exchange(port: u16, mut request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
    let opened = timeout(PATIENCE, async {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        let told = |error: hyper::Error| error.to_string();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(told)?;
        // It ends with the body that is read from it.
        tokio::spawn(connection);
        let host = HeaderValue::from_str(&address.to_string()).map_err(|error| error.to_string())?;
        request.headers_mut().insert(HOST, host);
        sender.send_request(request).await.map_err(told)
    });
    let response = opened.await.map_err(|_elapsed| "it does not answer".to_owned())??;
    if response.status().is_success() { Ok(response) } else { Err(format!("it answers {}", response.status())) }
}

/// A document of the server.
async fn document(port: u16, path: &str) -> Result<Value, String> {
    let body = Limited::new(get(port, path, "application/json").await?.into_body(), DOCUMENT);
    let whole = timeout(PATIENCE, body.collect()).await.map_err(|_elapsed| "it does not go on".to_owned())?;
    let bytes = whole.map_err(|error| error.to_string())?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|error| error.to_string())
}

/// Asks how things stand: nobody knows what happened while nobody listened. A server that cannot say that is known from
/// its next event on.
async fn restate(
    member: &Member,
    port: u16,
    translator: &mut Translator,
    requests: &mut Requests,
    handle: &Handle,
) -> Result<bool, CommandError> {
    let events = match standing(port).await {
        Ok(events) => events,
        Err(why) => {
            tracing::debug!(%why, port, "opencode does not say how it stands");
            return Ok(false);
        }
    };
    let mut readings = Vec::new();
    for event in events {
        let translation = translator.hook(AGENT, None, &event);
        requests.follow(&event, &translation);
        readings.extend(translation.readings.into_iter().filter(|_| translation.foreign.is_none()));
    }
    if readings.is_empty() {
        readings.push(Reading::new(Signal::Idle));
    }
    // It may have been said before the connection was lost, and taken back. That it is said again is news.
    readings.iter_mut().for_each(|reading| reading.key = None);
    handle.said(Said::now(Source::AppServer, member.claim(), readings)).await?;
    Ok(true)
}

/// How things stand, as the events that led there.
async fn standing(port: u16) -> Result<Vec<Value>, String> {
    let status = document(port, "/session/status").await?;
    let mut sessions = Vec::new();
    for id in status.as_object().into_iter().flatten().map(|(id, _)| id).take(SESSIONS) {
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_plain {
            sessions.push(document(port, &format!("/session/{id}")).await?);
        }
    }
    let (permissions, questions) = (document(port, "/permission").await?, document(port, "/question").await?);
    Ok(opencode_standing(&sessions, &status, &permissions, &questions))
}

async fn tell(
    member: &Member,
    event: &[u8],
    translator: &mut Translator,
    requests: &mut Requests,
    handle: &Handle,
) -> Result<bool, CommandError> {
    let Ok(payload) = serde_json::from_slice(event) else {
        return Ok(false);
    };
    let translation = translator.hook(AGENT, None, &payload);
    requests.follow(&payload, &translation);
    if translation.foreign.is_some() || translation.readings.is_empty() {
        return Ok(false);
    }
    if let Some(session) = translation.session {
        let conversation = Conversation { session: Some(session), ..Conversation::default() };
        handle.conversation(member.runtime.clone(), conversation).await?;
    }
    let mut said = Said::now(Source::AppServer, member.claim(), translation.readings);
    said.event = Some(translation.event);
    said.payload = Some(String::from_utf8_lossy(event).into_owned());
    handle.said(said).await?;
    Ok(true)
}

/// The port that an agent was told to serve on: by its own arguments, or by those of the program that it launched.
fn port_of(pid: u32) -> Option<u16> {
    platform::processes_under(pid).iter().find_map(|process| port_in(&process.argv))
}

fn port_in(argv: &[String]) -> Option<u16> {
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        let value = match word.split_once('=') {
            Some(("--port", value)) => value,
            _ if word == "--port" => words.next()?,
            _ => continue,
        };
        return value.parse().ok().filter(|port| *port > 0);
    }
    None
}

/// Whether the agent, or a program that it launched, serves on the port. Somebody else may have been quicker.
fn listens(pid: u32, port: u16) -> bool {
    let servers = platform::listeners(port);
    platform::processes_under(pid).iter().any(|process| servers.contains(&process.pid))
}

#[cfg(test)]
mod tests {
    use super::port_in;

    #[test]
    fn a_port_is_one_that_was_given() {
        let port = |line: &str| port_in(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(port("opencode --port 4096"), Some(4_096));
        assert_eq!(port("node opencode . --port=4097 --model a=b"), Some(4_097));
        for none in ["opencode", "opencode --port", "opencode --port 0", "opencode --port x", "opencode --portable 1"] {
            assert_eq!(port(none), None, "{none}");
        }
    }
}
