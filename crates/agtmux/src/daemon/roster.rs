//! The agents that live right now, for the daemon's own readers: whose files, screens and streams are to be read.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agtmux_core::id::{AgentId, PaneKey, ProcessKey, RuntimeId, TargetName};
use agtmux_core::runtime::Runtime;
use agtmux_core::signal::{Claim, Source};
use agtmux_core::state::{State, Verdict};
use agtmux_core::time::Timestamp;
use tokio::sync::watch;

use super::world::{LOCAL, World};
use crate::platform;

/// All living runtimes.
pub type Roster = BTreeMap<RuntimeId, Arc<Member>>;

/// A living runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub runtime: RuntimeId,
    /// Which agent.
    pub agent: AgentId,
    /// Its pane.
    pub pane: PaneKey,
    /// The socket of the pane's tmux server.
    pub socket: PathBuf,
    /// Its process.
    pub process: ProcessKey,
    /// When it was found.
    pub started_at: Timestamp,
    /// Its state as shown.
    pub verdict: Verdict,
    /// Its conversation, once a hook or record named it.
    pub conversation: Option<Conversation>,
}

/// The conversation of an agent, in the agent's own terms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    /// The agent's id of it.
    pub session: Option<String>,
    /// Where the agent records it.
    pub transcript: Option<PathBuf>,
    /// A file that the agent keeps while it lives and removes when it ends in order.
    pub standing: Option<PathBuf>,
}

impl Member {
    /// That something was read which is this agent's.
    pub fn claim(&self) -> Claim {
        Claim::of_runtime(TargetName::new(LOCAL), self.runtime.clone())
    }

    /// Whether it is shown to wait for what the agent itself declared it needs.
    pub fn declares_a_need(&self) -> bool {
        let waits = matches!(self.verdict.state, State::WaitingInput | State::WaitingApproval);
        waits && self.verdict.source.is_some_and(Source::declares)
    }

    /// Whether the agent's process is gone and left standing what it removes when it ends in order: it was killed, or
    /// it crashed. False where nobody knows.
    pub fn ended_without_farewell(&self) -> bool {
        let standing = self.conversation.as_ref().and_then(|conversation| conversation.standing.as_ref());
        standing.is_some_and(|file| file.exists()) && !platform::is_running(self.process.pid, self.process.start)
    }
}

impl Conversation {
    /// Takes over what somebody found out. Another session makes what is known of the one before worthless.
    pub fn learn(&mut self, news: Self) {
        if news.session.is_some() && news.session != self.session {
            self.transcript = None;
        }
        self.session = news.session.or(self.session.take());
        self.transcript = news.transcript.or(self.transcript.take());
        self.standing = news.standing.or(self.standing.take());
    }
}

/// Brings the roster up to date with the world. Readers are woken only when something about a member changed.
pub fn refresh(roster: &watch::Sender<Arc<Roster>>, world: &World) {
    let state = world.engine.state();
    let sockets = |runtime: &Runtime| {
        let server = state.topology.servers.get(&runtime.pane.server);
        server.map(|server| PathBuf::from(&server.socket)).unwrap_or_default()
    };
    let member = |known: Option<&Arc<Member>>, runtime: &Runtime| {
        let conversation = world.conversations.get(&runtime.id);
        let is_same = |known: &&Arc<Member>| {
            known.verdict == runtime.verdict
                && known.pane == runtime.pane
                && known.conversation.as_ref() == conversation
        };
        known.filter(is_same).cloned().unwrap_or_else(|| {
            Arc::new(Member {
                runtime: runtime.id.clone(),
                agent: runtime.agent.clone(),
                pane: runtime.pane.clone(),
                socket: sockets(runtime),
                process: runtime.process,
                started_at: runtime.started_at,
                verdict: runtime.verdict.clone(),
                conversation: conversation.cloned(),
            })
        })
    };
    roster.send_if_modified(|roster| {
        let live = state.topology.runtimes.values().filter(|runtime| runtime.is_live());
        let fresh: Roster =
            live.map(|runtime| (runtime.id.clone(), member(roster.get(&runtime.id), runtime))).collect();
        let is_same = fresh.len() == roster.len()
            && fresh.iter().zip(roster.iter()).all(|((_, new), (_, old))| Arc::ptr_eq(new, old));
        if !is_same {
            *roster = Arc::new(fresh);
        }
        !is_same
    });
}

/// The verdict on an agent of which nothing is known, for tests that need a [`Member`].
#[cfg(test)]
pub fn unknown() -> Verdict {
    use agtmux_core::state::{Confidence, State};
    Verdict {
        state: State::Unknown,
        reason: "no_signal".to_owned(),
        confidence: Confidence::Low,
        evidence: None,
        source: None,
        since: Timestamp(0),
        message: None,
    }
}
