//! opencode's own server, where it was started with `--port`: every event as it happens, answers and aborts included.

mod door;
mod requests;
mod server;

use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::translate::{OpencodePrompts, Translator, opencode_standing};
use agtmux_agents::{Reading, Registry};
use agtmux_core::mail::{Receipt, may_hold_receipts};
use agtmux_core::signal::{Signal, Source};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use self::door::OpencodeDoor;
use self::requests::Requests;
use self::server::{Failure, Server, is_plain};
use super::own::{own_processes, own_sockets};
use super::sse::Events;
use crate::daemon::Handle;
use crate::daemon::roster::{Conversation, Member, Roster};
use crate::daemon::said::Said;
use crate::error::CommandError;
use crate::platform;
use crate::target::manifests::Manifests;

/// The agent that this is about.
pub(super) const AGENT: &str = "opencode";

/// More sessions than are busy at once in one opencode.
const SESSIONS: usize = 32;

/// How much of a conversation is read anew for messages that its agent was given while nobody listened.
const MISSED: usize = 20;

/// Of how many conversations, those that went on last.
const LATELY: usize = 3;

/// A server sends a sign of life every ten seconds. One that is silent for longer than this has gone away.
const SILENCE: Duration = Duration::from_secs(40);

/// How often it is looked whether another agent uses the server as well.
const LOOK: Duration = Duration::from_secs(1);

/// How long to wait before a server is tried again: it opens a while after its process starts.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(10)];

/// Listens to the server of a runtime, if it has one, until aborted.
pub(super) async fn listen(member: Arc<Member>, handle: Handle, manifests: Manifests) {
    let Some(port) = find_port(&member, &manifests).await else {
        return;
    };
    for attempt in 0_usize.. {
        match attend(&member, port, &handle, &manifests).await {
            Ok(()) => {}
            Err(Silence::Server(why)) => tracing::debug!(%why, port, "opencode's server is not heard"),
            Err(Silence::Daemon) => return,
        }
        sleep(PAUSES[attempt.min(PAUSES.len() - 1)]).await;
    }
}

/// The port that an agent serves on, if any. A launcher may take a moment to start the program that has one.
async fn find_port(member: &Arc<Member>, manifests: &Manifests) -> Option<u16> {
    for pause in PAUSES {
        let (member, registry) = (Arc::clone(member), manifests.now());
        if let Ok(Some(port)) = tokio::task::spawn_blocking(move || port_of(&registry, &member)).await {
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

/// A connection, and what was heard on it.
struct Listening<'a> {
    member: &'a Member,
    sharing: Sharing,
    /// When it was last looked whether the server is shared, and whether it is.
    looked: Option<(Instant, bool)>,
    server: Server,
    translator: Translator,
    prompts: OpencodePrompts,
    requests: Requests,
    handle: &'a Handle,
}

/// Listens to one connection until it ends. Then what the server said last may be true no longer, and is taken back.
async fn attend(member: &Arc<Member>, port: u16, handle: &Handle, manifests: &Manifests) -> Result<(), Silence> {
    let server = Server { pid: member.process.pid, port };
    let opened = async {
        server.is_its_own().await?;
        server.get("/event", "text/event-stream").await
    };
    let mut body = opened.await.map_err(|failure| Silence::Server(failure.to_string()))?.into_body();
    let mut events = Events::default();
    let sharing = Sharing { member: Arc::clone(member), handle: handle.clone(), manifests: manifests.clone() };
    let mut listening = Listening {
        member,
        sharing: sharing.clone(),
        looked: None,
        server,
        translator: Translator::default(),
        prompts: OpencodePrompts::default(),
        requests: Requests::new(member, server, handle),
        handle,
    };
    // Asked when the events are heard already, so that nothing falls between.
    let mut has_spoken = false;
    if !listening.is_passed_over().await? {
        has_spoken = listening.restate().await?;
        listening.read_again().await?;
    }
    let door = OpencodeDoor { runtime: member.runtime.clone(), server, sharing, handle: handle.clone() };
    let _door = handle.doors().open(member.runtime.clone(), Arc::new(door));
    while let Ok(Some(Ok(frame))) = timeout(SILENCE, body.frame()).await {
        for event in frame.data_ref().map(|piece| events.take(piece)).unwrap_or_default() {
            has_spoken |= listening.tell(&event).await?;
        }
    }
    if has_spoken {
        let withdrawn = vec![Reading::new(Signal::Withdrawn)];
        handle.said(Said::now(Source::AppServer, member.claim(), withdrawn)).await?;
    }
    Ok(())
}

impl Listening<'_> {
    /// Asks how things stand: nobody knows what happened while nobody listened. A server that cannot say that is known from
    /// its next event on.
    async fn restate(&mut self) -> Result<bool, CommandError> {
        let events = match standing(self.server).await {
            Ok(events) => events,
            Err(why) => {
                tracing::debug!(%why, ?self.server, "opencode does not say how it stands");
                return Ok(false);
            }
        };
        let mut readings = Vec::new();
        for event in events {
            let translation = self.translator.hook(AGENT, None, &event);
            self.requests.follow(&event, &translation);
            readings.extend(translation.readings.into_iter().filter(|_| translation.foreign.is_none()));
        }
        if readings.is_empty() {
            readings.push(Reading::new(Signal::Idle));
        }
        // It may have been said before the connection was lost, and taken back. That it is said again is news.
        readings.iter_mut().for_each(|reading| reading.key = None);
        self.handle.said(Said::now(Source::AppServer, self.member.claim(), readings)).await?;
        Ok(true)
    }

    /// Reads what the agent was given while nobody listened, if it is waited for.
    async fn read_again(&mut self) -> Result<(), CommandError> {
        if !self.handle.is_waiting_for_receipts(&self.member.runtime).await? {
            return Ok(());
        }
        let given = match given_lately(self.server).await {
            Ok(given) => given,
            Err(why) => {
                tracing::debug!(%why, ?self.server, "opencode does not say what it was given");
                return Ok(());
            }
        };
        for prompt in given {
            self.read(prompt).await?;
        }
        Ok(())
    }

    /// Whether what the server says may be about the agent of another pane. Then all that it said is taken back.
    async fn is_passed_over(&mut self) -> Result<bool, CommandError> {
        let before = self.looked.filter(|(at, _)| at.elapsed() < LOOK);
        let is_shared = match before {
            Some((_, is_shared)) => is_shared,
            None => self.sharing.is_shared().await,
        };
        let was_shared = self.looked.is_some_and(|(_, was_shared)| was_shared);
        if before.is_none() {
            self.looked = Some((Instant::now(), is_shared));
        }
        if is_shared && !was_shared {
            let withdrawn = vec![Reading::new(Signal::Withdrawn)];
            self.handle.said(Said::now(Source::AppServer, self.member.claim(), withdrawn)).await?;
        } else if was_shared && !is_shared {
            self.restate().await?;
        }
        Ok(is_shared)
    }

    async fn tell(&mut self, event: &[u8]) -> Result<bool, CommandError> {
        if self.is_passed_over().await? {
            return Ok(false);
        }
        let Ok(payload) = serde_json::from_slice(event) else {
            return Ok(false);
        };
        let translation = self.translator.hook(AGENT, None, &payload);
        self.requests.follow(&payload, &translation);
        if translation.foreign.is_some() {
            return Ok(false);
        }
        if let Some(prompt) = self.prompts.event(&payload) {
            self.read(prompt).await?;
        }
        if translation.readings.is_empty() {
            return Ok(false);
        }
        let member = self.member;
        if let Some(session) = translation.session {
            let conversation = Conversation { session: Some(session), ..Conversation::default() };
            self.handle.conversation(member.runtime.clone(), conversation).await?;
        }
        let mut said = Said::now(Source::AppServer, member.claim(), translation.readings);
        said.event = Some(translation.event);
        said.payload = Some(String::from_utf8_lossy(event).into_owned());
        self.handle.said(said).await?;
        Ok(true)
    }

    /// The agent was given this.
    async fn read(&self, prompt: String) -> Result<(), CommandError> {
        if may_hold_receipts(&prompt) {
            self.handle.mail_read(self.member.runtime.clone(), prompt, Receipt::Server).await?;
        }
        Ok(())
    }
}

/// How things stand, as the events that led there.
async fn standing(server: Server) -> Result<Vec<Value>, Failure> {
    let status = server.document("/session/status").await?;
    let mut sessions = Vec::new();
    for id in status.as_object().into_iter().flatten().map(|(id, _)| id).take(SESSIONS) {
        if is_plain(id) {
            sessions.push(server.document(&format!("/session/{id}")).await?);
        }
    }
    let (permissions, questions) = (server.document("/permission").await?, server.document("/question").await?);
    Ok(opencode_standing(&sessions, &status, &permissions, &questions))
}

/// What was given lately in the conversations that went on last; not in those of subagents.
async fn given_lately(server: Server) -> Result<Vec<String>, Failure> {
    let sessions = server.document(&format!("/session?roots=true&limit={SESSIONS}")).await?;
    let sessions = sessions.as_array().into_iter().flatten().filter(|session| session.get("parentID").is_none());
    let mut given = Vec::new();
    for id in sessions.filter_map(|session| session["id"].as_str()).filter(|id| is_plain(id)).take(LATELY) {
        let messages = server.document(&format!("/session/{id}/message?limit={MISSED}")).await?;
        given.extend(OpencodePrompts::listed(&messages));
    }
    Ok(given)
}

/// The port that an agent was told to serve on: by its own arguments, or by those of the program that it launched.
fn port_of(registry: &Registry, member: &Member) -> Option<u16> {
    own_processes(registry, member).iter().find_map(|process| port_in(&process.argv))
}

/// Whether the agent of another pane uses the server of this one, so that what the server says may be about that.
pub(in crate::ingest) fn is_shared(registry: &Registry, member: &Member, roster: &Roster) -> bool {
    if member.agent.as_str() != AGENT {
        return false;
    }
    let mut others = roster.values().filter(|other| other.agent.as_str() == AGENT && other.runtime != member.runtime);
    let Some(first) = others.next() else {
        return false;
    };
    let Some(ends) = port_of(registry, member).map(platform::tcp_clients) else {
        return false;
    };
    // Where nobody can say who is connected, it may be anybody.
    let Some(ends) = ends else {
        return true;
    };
    std::iter::once(first).chain(others).any(|other| {
        let own = own_sockets(registry, other);
        ends.iter().any(|end| own.contains(end))
    })
}

/// What it takes to look whether a server is shared at any time.
#[derive(Clone)]
struct Sharing {
    member: Arc<Member>,
    handle: Handle,
    manifests: Manifests,
}

impl Sharing {
    async fn is_shared(&self) -> bool {
        let (registry, roster) = (self.manifests.now(), self.handle.roster().borrow().clone());
        let member = Arc::clone(&self.member);
        tokio::task::spawn_blocking(move || is_shared(&registry, &member, &roster)).await.unwrap_or(true)
    }
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
