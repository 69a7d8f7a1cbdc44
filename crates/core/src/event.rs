//! The log: the envelope of an event and the closed list of facts it may carry.
//!
//! This is a stored format. A change that an old reader could misread raises [`FORMAT`]; golden files keep every
//! variant of every released format readable.

use serde::{Deserialize, Serialize};

use crate::action::{ActionFact, Step};
use crate::engine::EngineState;
use crate::id::{AgentId, BootId, IntentId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId};
use crate::mail::MailFact;
use crate::policy::Policy;
use crate::signal::SignalEvent;
use crate::time::Timestamp;

/// Version of the log format that this build writes.
pub const FORMAT: u32 = 1;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Version of the format it was written in.
    pub v: u32,
    /// Position in the log; grows, with gaps.
    pub seq: u64,
    /// When the daemon took it in, on its wall clock.
    pub at: Timestamp,
    /// What happened.
    pub fact: Fact,
}

/// Everything that can change the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// The numbers to decide by changed.
    PolicySet {
        /// The new ones.
        policy: Policy,
    },
    /// A target was made known.
    TargetAdded {
        /// Its name.
        target: TargetName,
        /// How it is reached.
        kind: TargetKind,
        /// Where, as a non-secret reference such as an ssh alias.
        connection: Option<String>,
    },
    /// A target was forgotten, and everything on it.
    TargetRemoved {
        /// Its name.
        target: TargetName,
    },
    /// A target's health changed.
    TargetHealth {
        /// Its name.
        target: TargetName,
        /// The new health.
        health: Health,
        /// What is wrong, for people.
        detail: Option<String>,
    },
    /// A tmux server was found.
    ServerSeen {
        /// The id derived from the rest.
        server: ServerId,
        /// Where it runs.
        target: TargetName,
        /// Its socket.
        socket: String,
        /// Its process id.
        pid: u32,
        /// When it started, in seconds since the epoch, as tmux says.
        start_time: i64,
    },
    /// A tmux server is gone, with all its panes and runtimes.
    ServerGone {
        /// Which.
        server: ServerId,
    },
    /// A pane was found, or moved, or what it sits in was renamed.
    PanePlaced {
        /// Which pane.
        pane: PaneKey,
        /// Where it is.
        place: Place,
    },
    /// A pane is gone, and the runtime in it.
    PaneGone {
        /// Which.
        pane: PaneKey,
    },
    /// An agent's process was found in a pane. Ends the pane's previous runtime, if that has not ended.
    RuntimeStarted {
        /// The id derived from the rest.
        runtime: RuntimeId,
        /// The pane it runs in.
        pane: PaneKey,
        /// Which agent.
        agent: AgentId,
        /// The boot the process belongs to.
        boot: BootId,
        /// Its process.
        process: ProcessKey,
        /// Why the process counts as this agent.
        why: String,
    },
    /// An agent's process stopped (Ctrl-Z) or went on.
    ProcessChanged {
        /// Which runtime.
        runtime: RuntimeId,
        /// How its process is now.
        process: ProcessState,
    },
    /// A runtime is over.
    RuntimeEnded {
        /// Which.
        runtime: RuntimeId,
        /// How.
        how: Ending,
    },
    /// A runtime got a friendly name, or lost it. The name dies with the runtime; pane reuse never rebinds it.
    Named {
        /// Which runtime.
        runtime: RuntimeId,
        /// The name.
        name: Option<String>,
    },
    /// A runtime was started with a session id of its own in its environment, `SCHMUX_SESSION_ID`.
    Session {
        /// Which runtime.
        runtime: RuntimeId,
        /// The id.
        session: String,
    },
    /// An agent named the conversation that it is in, by which it can be told to go on with it later.
    Conversation {
        /// Which runtime.
        runtime: RuntimeId,
        /// The agent's own id of it.
        conversation: String,
        /// The directory that the agent runs in.
        cwd: Option<String>,
    },
    /// A source said something.
    Signal(Box<SignalEvent>),
    /// A person looked at the pane of a runtime.
    Seen {
        /// Which runtime.
        runtime: RuntimeId,
    },
    /// A person said that they know.
    Acknowledged {
        /// Which runtime.
        runtime: RuntimeId,
        /// Of which call for attention.
        nudge_seq: u64,
    },
    /// A wanted effect was carried out.
    IntentDone {
        /// Which.
        intent: IntentId,
    },
    /// A request was refused. Changes nothing; kept so that "why did it not?" has an answer.
    Refused {
        /// What was asked for.
        what: String,
        /// The stable error code.
        code: String,
        /// Why, for people.
        detail: String,
    },
    /// A step in the life of an action. Changes nothing by itself; what an action brings about is seen by observers.
    Action(Box<ActionFact>),
    /// A step in the life of messages.
    Mail(Box<MailFact>),
    /// Time passed; answers [`crate::engine::Engine::next_deadline`].
    Tick,
    /// The whole state at this point. Retention writes it as the new base of a pruned log.
    Checkpoint {
        /// The state.
        state: Box<EngineState>,
    },
}

/// How a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// This host.
    Local,
    /// Another host, by OpenSSH.
    Ssh,
}

/// How a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Everything works.
    Ok,
    /// Some of it works.
    Degraded,
    /// Out of reach; nothing on it is known.
    Down,
}

impl TargetKind {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Ssh => "ssh",
        }
    }
}

impl Health {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Degraded => "degraded",
            Self::Down => "down",
        }
    }
}

/// Where a pane sits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The session's id.
    pub session: SessionId,
    /// The session's name.
    pub session_name: String,
    /// The window's id.
    pub window: WindowId,
    /// The window's place in the session.
    pub window_index: u32,
    /// The window's name.
    pub window_name: String,
    /// The pane's place in the window.
    pub pane_index: u32,
}

/// How an agent's process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProcessState {
    /// It can run.
    Alive,
    /// It is stopped by job control or a signal.
    Stopped,
}

/// How a runtime ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The process ended in order, was told to end, or ended in a way that nobody could tell.
    Exited,
    /// The process was killed or crashed: see [`crate::ending`].
    Crashed,
    /// Another agent took the pane, or the process became another program.
    Replaced,
    /// The pane was closed.
    PaneClosed,
    /// The tmux server is gone.
    ServerGone,
    /// The target was removed.
    TargetRemoved,
}

impl Ending {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Crashed => "crashed",
            Self::Replaced => "replaced",
            Self::PaneClosed => "pane_closed",
            Self::ServerGone => "server_gone",
            Self::TargetRemoved => "target_removed",
        }
    }
}

impl Fact {
    /// The runtime that a fact names, if it names one.
    pub fn runtime(&self) -> Option<&RuntimeId> {
        match self {
            Self::RuntimeStarted { runtime, .. }
            | Self::ProcessChanged { runtime, .. }
            | Self::RuntimeEnded { runtime, .. }
            | Self::Named { runtime, .. }
            | Self::Session { runtime, .. }
            | Self::Conversation { runtime, .. }
            | Self::Seen { runtime }
            | Self::Acknowledged { runtime, .. } => Some(runtime),
            Self::Signal(signal) => signal.claim.runtime.as_ref(),
            Self::Action(action) => match &action.step {
                Step::Prepared { snapshot } => snapshot.runtime.as_ref().map(|aimed| &aimed.runtime),
                Step::Permitted { .. }
                | Step::Started { .. }
                | Step::Done { .. }
                | Step::Failed { .. }
                | Step::Refused { .. } => None,
            },
            Self::Mail(fact) => match &**fact {
                MailFact::Opened { runtime, .. }
                | MailFact::Leased { runtime, .. }
                | MailFact::PutBack { runtime }
                | MailFact::Busy { runtime, .. }
                | MailFact::Ready { runtime, .. } => Some(runtime),
                MailFact::Queued { letter } => Some(&letter.to),
                MailFact::Started { .. }
                | MailFact::Interrupted { .. }
                | MailFact::Offered { .. }
                | MailFact::InTheWay { .. }
                | MailFact::SetAside { .. }
                | MailFact::Returned { .. }
                | MailFact::Submitted { .. }
                | MailFact::Unconfirmed { .. }
                | MailFact::Confirmed { .. }
                | MailFact::Cancelled { .. } => None,
            },
            Self::PolicySet { .. }
            | Self::TargetAdded { .. }
            | Self::TargetRemoved { .. }
            | Self::TargetHealth { .. }
            | Self::ServerSeen { .. }
            | Self::ServerGone { .. }
            | Self::PanePlaced { .. }
            | Self::PaneGone { .. }
            | Self::IntentDone { .. }
            | Self::Refused { .. }
            | Self::Tick
            | Self::Checkpoint { .. } => None,
        }
    }
}
