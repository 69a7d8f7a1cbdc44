//! One connection to a server: JSON-RPC in a WebSocket over a unix socket. It asks which threads there are and listens;
//! nothing is subscribed to, resumed or answered. For each pane whose thread is known for sure there is a [`CodexDoor`] to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use agtmux_agents::Reading;
use agtmux_agents::translate::{CodexAppServer, CodexClients, Moment, ThreadNews};
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::{Signal, Source};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::sync::watch;
use tokio::time::{interval, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::Members;
use super::clients::Clients;
use super::door::CodexDoor;
use super::line::Line;
use crate::daemon::Handle;
use crate::daemon::doors::Opened;
use crate::daemon::roster::{Conversation, Member};
use crate::daemon::said::Said;
use crate::error::CommandError;
use crate::platform;
use crate::target::manifests::Manifests;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before a server is tried again: it opens a while after the first client starts, or never.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10)];

/// How often it is looked who is connected, while the server has nothing to tell.
const LOOK: Duration = Duration::from_secs(5);

/// The requests that are made, by the ids of their answers.
const INITIALIZE: u64 = 1;
const LOADED: u64 = 2;
const THREAD: u64 = 3;

/// Listens to a server until nobody is its client any more.
pub(super) async fn listen(
    socket: PathBuf,
    mut members: watch::Receiver<Members>,
    handle: Handle,
    manifests: Manifests,
) {
    let mut clients = CodexClients::default();
    let mut attempt = 0;
    loop {
        match attend(&socket, &mut members, &mut clients, (&handle, &manifests)).await {
            // It was there: it may be back soon.
            Ok(()) => attempt = 0,
            Err(Silence::Server(why)) => tracing::debug!(%why, socket = %socket.display(), "no app server is heard"),
            Err(Silence::Daemon) => return,
        }
        sleep(PAUSES[attempt.min(PAUSES.len() - 1)]).await;
        attempt += 1;
        // Nobody is left who could be a client.
        if members.has_changed().is_err() {
            return;
        }
    }
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
async fn attend(
    socket: &Path,
    members: &mut watch::Receiver<Members>,
    clients: &mut CodexClients,
    (handle, manifests): (&Handle, &Manifests),
) -> Result<(), Silence> {
    let opened = timeout(PATIENCE, connect(socket)).await;
    let (mut stream, bound) = opened
        .map_err(|_elapsed| "it does not answer".to_owned())
        .and_then(|opened| opened)
        .map_err(Silence::Server)?;
    let (line, mut calls) = Line::new();
    let (server, told) = (CodexAppServer::default(), BTreeMap::new());
    let around = Clients { bound, handle: handle.clone(), manifests: manifests.clone() };
    let mut listening = Listening { around, server, clients, told, line, handle };
    let mut looks = interval(LOOK);
    let initialize = json!({"id": INITIALIZE, "method": "initialize", "params": {
        "clientInfo": {"name": "agtmux", "title": null, "version": env!("CARGO_PKG_VERSION")}, "capabilities": null}});
    let mut questions = vec![initialize];
    loop {
        for question in questions.drain(..) {
            if stream.send(Message::text(question.to_string())).await.is_err() {
                return listening.take_back().await;
            }
        }
        let news = tokio::select! {
            message = stream.next() => match message {
                Some(Ok(Message::Text(text))) => {
                    let Ok(message) = serde_json::from_str::<Value>(&text) else {
                        continue;
                    };
                    calls.answer(&message);
                    questions = listening.answer(&message);
                    listening.server.message(&message)
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return listening.take_back().await,
                Some(Ok(_)) => continue,
            },
            call = calls.next() => {
                questions.push(calls.ask(call));
                continue;
            }
            _ = looks.tick() => None,
            changed = members.changed() => match changed {
                Ok(()) => None,
                Err(_nobody_left) => return Ok(()),
            },
        };
        let members = members.borrow_and_update().clone();
        listening.tell(&members, news).await?;
    }
}

/// Connects to a server of the same user, and finds the path that it is bound to: there may be a link to it.
async fn connect(socket: &Path) -> Result<(WebSocketStream<UnixStream>, PathBuf), String> {
    let socket = socket.to_owned();
    let bound = tokio::task::spawn_blocking(move || socket.canonicalize());
    let bound = bound.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let stream = UnixStream::connect(&bound).await.map_err(|error| error.to_string())?;
    let peer = stream.peer_cred().map_err(|error| error.to_string())?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err("it is somebody else's".to_owned());
    }
    let connected = tokio_tungstenite::client_async("ws://localhost/", stream).await;
    connected.map(|(stream, _)| (stream, bound)).map_err(|error| error.to_string())
}

struct Listening<'a> {
    /// Who is connected.
    around: Clients,
    server: CodexAppServer,
    clients: &'a mut CodexClients,
    /// Who was told of which thread.
    told: BTreeMap<RuntimeId, Told>,
    /// For those who have something to ask.
    line: Line,
    handle: &'a Handle,
}

/// A client whose thread is known.
struct Told {
    member: Arc<Member>,
    thread: String,
    _door: Opened,
}

impl Listening<'_> {
    /// Takes the answer to a question, and asks the next ones.
    fn answer(&mut self, message: &Value) -> Vec<Value> {
        let result = &message["result"];
        match message["id"].as_u64().filter(|_| message.get("method").is_none()) {
            Some(INITIALIZE) => vec![
                json!({"method": "initialized"}),
                json!({"id": LOADED, "method": "thread/loaded/list", "params": {}}),
            ],
            Some(LOADED) => {
                let ask =
                    |thread: &Value| json!({"id": THREAD, "method": "thread/read", "params": {"threadId": thread}});
                result["data"].as_array().into_iter().flatten().map(ask).collect()
            }
            Some(THREAD) => {
                self.server.thread(&result["thread"]);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// Tells each client's runtime what is new about its thread: all of it, if it is not known how it stood before.
    async fn tell(&mut self, members: &Members, news: Option<ThreadNews>) -> Result<(), Silence> {
        let connected = self.around.connected(members).await;
        let shown = self.clients.update(now(), connected.as_ref(), &self.server.threads());
        let shown: BTreeMap<_, _> = shown.into_iter().collect();
        let gone: Vec<_> = self.told.extract_if(.., |runtime, told| shown.get(runtime) != Some(&told.thread)).collect();
        for (_, Told { member, .. }) in gone {
            self.say(&member, vec![Reading::new(Signal::Withdrawn)]).await?;
        }
        for (runtime, thread) in shown {
            let Some(member) = members.iter().find(|member| member.runtime == runtime) else {
                continue;
            };
            if self.told.contains_key(&runtime) {
                let readings = news.as_ref().filter(|news| news.thread == thread).map(|news| news.readings.clone());
                self.say(member, readings.unwrap_or_default()).await?;
                continue;
            }
            let conversation = Conversation { session: Some(thread.clone()), ..Conversation::default() };
            self.handle.conversation(runtime.clone(), conversation).await?;
            self.say(member, self.server.standing(&thread)).await?;
            let (line, around) = (self.line.clone(), self.around.clone());
            let door = CodexDoor { runtime: runtime.clone(), thread: thread.clone(), line, around };
            // Apart, since what it asks is passed on by this very loop.
            tokio::spawn(door.clone().read_again());
            let door = self.handle.doors().open(runtime.clone(), Arc::new(door));
            self.told.insert(runtime, Told { member: Arc::clone(member), thread, _door: door });
        }
        Ok(())
    }

    async fn say(&self, member: &Member, readings: Vec<Reading>) -> Result<(), Silence> {
        if !readings.is_empty() {
            self.handle.said(Said::now(Source::AppServer, member.claim(), readings)).await?;
        }
        Ok(())
    }

    /// The server is heard no more.
    async fn take_back(self) -> Result<(), Silence> {
        for Told { member, .. } in self.told.values() {
            self.say(member, vec![Reading::new(Signal::Withdrawn)]).await?;
        }
        Ok(())
    }
}

fn now() -> Moment {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let unix_ms = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
    Moment { unix_ms, boot_ms: platform::boot_clock_ns() / 1_000_000 }
}
