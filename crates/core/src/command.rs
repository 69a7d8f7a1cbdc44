//! Requests from people and agents: each becomes facts for the log, or is refused with a stable code and nothing done.

use crate::engine::{Engine, EngineState};
use crate::event::{Fact, TargetKind};
use crate::id::{RuntimeId, TargetName};
use crate::policy::Policy;
use crate::runtime::Runtime;
use crate::signal::SignalEvent;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Make a target known.
    AddTarget {
        /// Its name.
        target: TargetName,
        /// How it is reached.
        kind: TargetKind,
        /// Where.
        connection: Option<String>,
    },
    /// Forget a target.
    RemoveTarget {
        /// Its name.
        target: TargetName,
    },
    /// Say that one knows of a call.
    Acknowledge {
        /// Whose call.
        runtime: RuntimeId,
        /// Which one; the latest unless given.
        nudge_seq: Option<u64>,
    },
    /// Give a runtime a friendly name, or take it away.
    Name {
        /// Which runtime.
        runtime: RuntimeId,
        /// The name.
        name: Option<String>,
    },
    /// Remember the session id that a runtime has in its environment.
    Session {
        /// Which runtime.
        runtime: RuntimeId,
        /// The id.
        session: String,
    },
    /// Take in a signal.
    Ingest(Box<SignalEvent>),
    /// Change the numbers to decide by.
    SetPolicy(Policy),
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// The stable code.
    pub code: RefusalCode,
    /// Why, for people.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Stable codes of refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalCode {
    /// A name that may not be given.
    BadName,
    /// The name is taken.
    NameTaken,
    /// There is a target of that name already.
    TargetExists,
    /// There is no such target.
    TargetNotFound,
    /// The runtime is over or was never known.
    RuntimeStale,
    /// Something that must hold does not.
    PreconditionFailed,
    /// What an action was decided on is too old.
    SnapshotExpired,
    /// The target is down.
    TargetUnreachable,
    /// The agent shows something that text would answer.
    Blocked,
    /// An agent asked for what only a person may do.
    NotAllowed,
    /// An agent has written as much as it may.
    RateLimited,
    /// There is no such message.
    MessageNotFound,
}

impl RefusalCode {
    /// The code as text.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BadName => "E_BAD_NAME",
            Self::NameTaken => "E_NAME_TAKEN",
            Self::TargetExists => "E_TARGET_EXISTS",
            Self::TargetNotFound => "E_TARGET_NOT_FOUND",
            Self::RuntimeStale => "E_RUNTIME_STALE",
            Self::PreconditionFailed => "E_PRECONDITION_FAILED",
            Self::SnapshotExpired => "E_SNAPSHOT_EXPIRED",
            Self::TargetUnreachable => "E_TARGET_UNREACHABLE",
            Self::Blocked => "E_BLOCKED",
            Self::NotAllowed => "E_NOT_ALLOWED",
            Self::RateLimited => "E_RATE_LIMITED",
            Self::MessageNotFound => "E_REF_NOT_FOUND",
        }
    }
}

impl Engine {
    /// Whether a name may be given to a runtime that is about to be started.
    ///
    /// # Errors
    /// Refused for a name that is none, and for one that a living runtime has.
    pub fn name_is_free(&self, name: &str) -> Result<(), Refusal> {
        check_new_name(self.state(), None, Some(name))
    }
}

/// Checks a request against the state.
pub(crate) fn decide(state: &EngineState, command: &Command) -> Result<Vec<Fact>, Refusal> {
    let fact = match command {
        Command::AddTarget { target, kind, connection } => {
            if is_known_so(state, target, *kind, connection.as_deref())? {
                return Ok(Vec::new());
            }
            Fact::TargetAdded { target: target.clone(), kind: *kind, connection: connection.clone() }
        }
        Command::RemoveTarget { target } => {
            known_target(state, target)?;
            if *target == TargetName::local() {
                return Err(refuse(RefusalCode::PreconditionFailed, "this host is always a target")
                    .hint("only targets that were added can be removed"));
            }
            Fact::TargetRemoved { target: target.clone() }
        }
        Command::Acknowledge { runtime, nudge_seq } => {
            let latest = live_runtime(state, runtime)?.attention.nudge_seq;
            let nudge_seq = nudge_seq.unwrap_or(latest);
            if nudge_seq > latest {
                let message = format!("{runtime} has called {latest} times, not {nudge_seq}");
                return Err(refuse(RefusalCode::PreconditionFailed, message));
            }
            Fact::Acknowledged { runtime: runtime.clone(), nudge_seq }
        }
        Command::Name { runtime, name } => {
            live_runtime(state, runtime)?;
            check_new_name(state, Some(runtime), name.as_deref())?;
            Fact::Named { runtime: runtime.clone(), name: name.clone() }
        }
        Command::Session { runtime, session } => {
            // What runs below an agent inherits the id. It stays with the runtime that had it first.
            let has_it = |runtime: &Runtime| runtime.is_live() && runtime.session.as_deref() == Some(session);
            if live_runtime(state, runtime)?.session.is_some() || state.topology.runtimes.values().any(has_it) {
                return Ok(Vec::new());
            }
            Fact::Session { runtime: runtime.clone(), session: session.clone() }
        }
        Command::Ingest(event) => {
            known_target(state, &event.claim.target)?;
            if let Some(runtime) = &event.claim.runtime {
                live_runtime(state, runtime)?;
            }
            Fact::Signal(event.clone())
        }
        Command::SetPolicy(policy) => Fact::PolicySet { policy: policy.clone() },
    };
    Ok(vec![fact])
}

/// What to do about a runtime that is not there.
const STALE_HINT: &str = "`agtmux list panes` shows the runtimes there are";

impl Refusal {
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

pub(crate) fn refuse(code: RefusalCode, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into(), hint: None }
}

/// Whether there is such a target already. One of the same name that is reached otherwise is in the way.
fn is_known_so(
    state: &EngineState,
    target: &TargetName,
    kind: TargetKind,
    connection: Option<&str>,
) -> Result<bool, Refusal> {
    if !target.is_valid() {
        return Err(refuse(RefusalCode::BadName, format!("{:?} cannot name a target", target.as_str()))
            .hint("1 to 63 of a-z, 0-9, '.', '_' and '-', the first a letter or digit"));
    }
    match state.topology.targets.get(target) {
        None => Ok(false),
        Some(known) if known.kind == kind && known.connection.as_deref() == connection => Ok(true),
        Some(_) => Err(refuse(RefusalCode::TargetExists, format!("there is a target {target} with other settings"))
            .hint("choose another name; `agtmux target list` shows how each is reached")),
    }
}

fn check_new_name(state: &EngineState, runtime: Option<&RuntimeId>, name: Option<&str>) -> Result<(), Refusal> {
    let Some(name) = name else { return Ok(()) };
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
    let means_else = name.starts_with("rt_") || name.starts_with('-');
    if name.is_empty() || name.chars().count() > 63 || !name.chars().all(plain) || means_else {
        return Err(refuse(RefusalCode::BadName, format!("{name:?} cannot name a runtime"))
            .hint("1 to 63 letters, digits, '.', '_' and '-', not beginning with a dash or rt_"));
    }
    let taken = |other: &Runtime| other.is_live() && Some(&other.id) != runtime && other.name.as_deref() == Some(name);
    if let Some(other) = state.topology.runtimes.values().find(|other| taken(other)) {
        return Err(refuse(RefusalCode::NameTaken, format!("{name} is the name of {}", other.id))
            .hint("choose another, or take it away with `agtmux adopt --no-name`"));
    }
    Ok(())
}

fn known_target(state: &EngineState, target: &TargetName) -> Result<(), Refusal> {
    if state.topology.targets.contains_key(target) {
        return Ok(());
    }
    let known: Vec<_> = state.topology.targets.keys().map(TargetName::as_str).collect();
    Err(refuse(RefusalCode::TargetNotFound, format!("there is no target {:?}", target.as_str()))
        .hint(format!("known: {}", known.join(", "))))
}

fn live_runtime<'a>(state: &'a EngineState, id: &RuntimeId) -> Result<&'a Runtime, Refusal> {
    match state.topology.runtimes.get(id) {
        Some(runtime) => match runtime.ended {
            None => Ok(runtime),
            Some((how, _)) => {
                Err(refuse(RefusalCode::RuntimeStale, format!("{id} is over: {}", how.name())).hint(STALE_HINT))
            }
        },
        None => Err(refuse(RefusalCode::RuntimeStale, format!("{id} is not known")).hint(STALE_HINT)),
    }
}
