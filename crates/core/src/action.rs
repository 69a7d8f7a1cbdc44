//! Actions: what somebody wants done to an agent, the snapshot it was decided on, and whether that still holds.
//!
//! An action is compare-and-act. [`Engine::prepare`] finds what a reference means and writes down everything the decision
//! rests on; [`Engine::recheck`] asks, right before the act, whether all of it is still so. The last comparison is made
//! inside the tmux server, in the same breath as the act, by whoever carries it out. Whatever does not match refuses the
//! action and nothing is done.
//!
//! What each verb takes for granted, besides the conditions that the person gave:
//!
//! | verb | needs an agent | its state must stay | and |
//! |---|---|---|---|
//! | attach, view-output | no | no | the agent in the pane, if there was one, is the same |
//! | send | yes | no | nothing blocks it, it is not compacting |
//! | kill | yes | yes | |
//! | approve, deny | yes | yes | it asks for permission, and for the same thing |
//!
//! A state that moved is no reason to keep a text back, unless the person named one: whoever types looks at the screen first,
//! and a busy agent takes the text for afterwards. It may well be the text sent before that made it move.
//!
//! `force_stale` sets aside what is written under *state* and *and*, but never whom the action is aimed at, and never what
//! an approval is for: text that is typed at a dialog answers it, and nobody has read a prompt that has changed since.

use serde::{Deserialize, Serialize};

use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::event::{Health, ProcessState};
use crate::facts::{Held, Value};
use crate::id::{ActionId, AgentId, PaneKey, ProcessKey, RuntimeId, TargetName};
use crate::prompt::Prompt;
use crate::reference::RefError;
use crate::resolve::{self, Standing, Weighed};
use crate::runtime::{Runtime, Surroundings};
use crate::signal::{Blocking, Composer, Source};
use crate::state::State;
use crate::time::{Span, Timestamp};

/// What can be done to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// Show its pane to the person.
    Attach,
    /// Type text at it.
    Send,
    /// Read what it shows.
    ViewOutput,
    /// Signal its process.
    Kill,
    /// Say yes to what it asks permission for.
    Approve,
    /// Say no to it.
    Deny,
    /// Start one.
    Spawn,
    /// Give it a name.
    Adopt,
    /// Write it a message, which waits until it can be delivered.
    Message,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 9] = [
        Self::Attach,
        Self::Send,
        Self::ViewOutput,
        Self::Kill,
        Self::Approve,
        Self::Deny,
        Self::Spawn,
        Self::Adopt,
        Self::Message,
    ];

    /// The name used in the log, the API and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Attach => "attach",
            Self::Send => "send",
            Self::ViewOutput => "view-output",
            Self::Kill => "kill",
            Self::Approve => "approve",
            Self::Deny => "deny",
            Self::Spawn => "spawn",
            Self::Adopt => "adopt",
            Self::Message => "message",
        }
    }

    /// The verb of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verb| verb.name() == name)
    }

    /// Whether it is done to a pane, with or without an agent in it.
    const fn suits_any_pane(self) -> bool {
        matches!(self, Self::Attach | Self::ViewOutput)
    }

    /// Whether it was decided on the agent's state.
    const fn rests_on_state(self) -> bool {
        matches!(self, Self::Kill | Self::Approve | Self::Deny)
    }
}

/// What the person wants to be so, or else nothing done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conditions {
    /// The runtime, by its id or a beginning of it.
    pub runtime: Option<String>,
    /// The state.
    pub state: Option<State>,
    /// The state changed no longer ago than this.
    pub updated_within: Option<Span>,
    /// The prompt that is answered, by its hash or a beginning of it.
    pub prompt: Option<String>,
    /// Act though the state is not what it was.
    pub force_stale: bool,
}

/// A wish, before it is known what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// A fresh id.
    pub action: ActionId,
    /// What is to be done.
    pub verb: Verb,
    /// To whom.
    pub reference: String,
    /// If what is so.
    pub conditions: Conditions,
    /// When it was wished.
    pub at: Timestamp,
}

/// What an action was decided on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The action's id.
    pub action: ActionId,
    /// What is to be done.
    pub verb: Verb,
    /// To whom, as it was written.
    pub reference: String,
    /// If what is so.
    pub conditions: Conditions,
    /// Where.
    pub target: TargetName,
    /// The socket of the pane's server.
    pub socket: String,
    /// The server's process.
    pub server_pid: u32,
    /// When the server started, in seconds since the epoch.
    pub server_start: i64,
    /// The pane.
    pub pane: PaneKey,
    /// The agent in it.
    pub runtime: Option<AimedAt>,
    /// When all this was so.
    pub observed_at: Timestamp,
    /// From then on it may not be acted on.
    pub expires_at: Timestamp,
}

/// The agent that an action is aimed at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AimedAt {
    /// Its id.
    pub runtime: RuntimeId,
    /// Which agent.
    pub agent: AgentId,
    /// Its process.
    pub process: ProcessKey,
    /// Its state.
    pub state: State,
    /// The version of that.
    pub state_version: u64,
    /// What it asks permission for.
    pub prompt: Option<Prompt>,
}

/// Who wants something done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The user.
    pub uid: u32,
    /// The process, where the kernel told.
    pub pid: Option<u32>,
    /// The program's name, where the kernel told.
    pub program: Option<String>,
    /// The agent that the process belongs to; none for a person.
    pub agent: Option<RuntimeId>,
    /// How it is known that it belongs to an agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_by: Option<Proof>,
}

/// How it is known that a process belongs to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Proof {
    /// It runs below the agent's process.
    Ancestors,
    /// It has the capability that the agent was started with in its environment.
    Capability,
    /// Its environment says so.
    Environment,
}

impl Proof {
    /// The name in the log and the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ancestors => "ancestors",
            Self::Capability => "capability",
            Self::Environment => "environment",
        }
    }
}

/// A step in the life of an action, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionFact {
    /// Which action.
    pub action: ActionId,
    /// Who wanted it.
    pub actor: Actor,
    /// The step.
    pub step: Step,
}

/// What happened to an action. `Started` is logged before anything irreversible; a `Started` without an end is an action
/// whose outcome nobody knows, and replaying the log does nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    /// It was found out what it means.
    Prepared {
        /// What it was decided on.
        snapshot: Box<Snapshot>,
    },
    /// It has no snapshot, since it is done to nothing that is there yet, and it may be done.
    Permitted {
        /// What is to be done.
        verb: Verb,
        /// To what, for people.
        reference: String,
    },
    /// It is about to be carried out.
    Started {
        /// What exactly, for people, without the text that is sent.
        detail: String,
    },
    /// It was carried out.
    Done {
        /// With what result.
        result: String,
    },
    /// It was begun and failed; something may have been done.
    Failed {
        /// The stable error code.
        code: String,
        /// Why, for people.
        message: String,
    },
    /// Nothing was done: it was not begun, or what it needs turned out not to be so before anything was done.
    Refused {
        /// What was to be done.
        verb: Verb,
        /// To whom, as it was written.
        reference: String,
        /// The stable error code.
        code: String,
        /// Why, for people.
        message: String,
    },
}

impl Step {
    /// The name in the log and the API.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Prepared { .. } => "prepared",
            Self::Permitted { .. } => "permitted",
            Self::Started { .. } => "started",
            Self::Done { .. } => "done",
            Self::Failed { .. } => "failed",
            Self::Refused { .. } => "refused",
        }
    }
}

/// Why an action is not prepared: the reference means nothing, or what it means must not be acted on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPrepared {
    /// The reference.
    #[error(transparent)]
    Reference(#[from] RefError),
    /// The guard.
    #[error(transparent)]
    Refused(#[from] Refusal),
}

/// How long a snapshot may be acted on. Long enough for a person to read a question and say yes.
pub const SNAPSHOT_LIFE: Span = Span::seconds(60);

impl Engine {
    /// Finds out what a wish means and whether it may be carried out.
    ///
    /// # Errors
    /// Refused unless the reference means exactly one thing and everything the wish takes for granted is so.
    pub fn prepare(&self, wish: &Wish) -> Result<Snapshot, NotPrepared> {
        let found = self.resolve_ref(&wish.reference)?;
        let topology = &self.state().topology;
        let Some(server) = topology.servers.get(&found.pane.server) else {
            return Err(refuse(RefusalCode::RuntimeStale, "the pane's tmux server is gone").into());
        };
        self.reaches(&server.target)?;
        let runtime = found.runtime.as_ref().and_then(|id| topology.live(id));
        let snapshot = Snapshot {
            action: wish.action.clone(),
            verb: wish.verb,
            reference: wish.reference.clone(),
            conditions: wish.conditions.clone(),
            target: server.target.clone(),
            socket: server.socket.clone(),
            server_pid: server.pid,
            server_start: server.start_time,
            pane: found.pane.clone(),
            runtime: runtime.map(|runtime| self.aim(runtime)),
            observed_at: wish.at,
            expires_at: wish.at + SNAPSHOT_LIFE,
        };
        self.allows(&snapshot, runtime, wish.at)?;
        Ok(snapshot)
    }

    /// Whether what an action was decided on is still so.
    ///
    /// # Errors
    /// Refused if anything that the action rests on has changed.
    pub fn recheck(&self, snapshot: &Snapshot, now: Timestamp) -> Result<(), Refusal> {
        if now >= snapshot.expires_at {
            let message = "what this was decided on is too old to act on";
            return Err(refuse(RefusalCode::SnapshotExpired, message).hint("look again, then ask again"));
        }
        self.reaches(&snapshot.target)?;
        let topology = &self.state().topology;
        if !topology.panes.contains_key(&snapshot.pane) {
            return Err(stale(format!("pane {} is gone", snapshot.pane.pane)));
        }
        let living = topology.living_in(&snapshot.pane);
        let runtime = match (&snapshot.runtime, living) {
            (None, None) => None,
            (Some(aimed), Some(living)) if living.id == aimed.runtime => Some(living),
            (Some(aimed), _) => {
                return Err(stale(format!("{} is not in pane {} any more", aimed.runtime, snapshot.pane.pane)));
            }
            (None, Some(living)) => {
                return Err(stale(format!("{} has begun in pane {}", living.id, snapshot.pane.pane)));
            }
        };
        if let (Some(aimed), Some(runtime)) = (&snapshot.runtime, runtime) {
            let (then, now_is) = (aimed.state, runtime.verdict.state);
            let moved = snapshot.verb.rests_on_state() && at_rest(then) != at_rest(now_is);
            if moved && !snapshot.conditions.force_stale {
                let message =
                    format!("{} was {} when this was decided and is {} now", aimed.runtime, then.name(), now_is.name());
                return Err(refuse(RefusalCode::PreconditionFailed, message).hint("look again, then ask again"));
            }
            let now_asked = self.prompt(runtime);
            let is_same = matches!((&aimed.prompt, &now_asked), (Some(then), Some(now)) if then.is_same(now));
            if matches!(snapshot.verb, Verb::Approve | Verb::Deny) && !is_same {
                return Err(another_prompt(aimed, now_asked.as_ref()));
            }
        }
        self.allows(snapshot, runtime, now)
    }

    /// What an agent's program shows that has to be dealt with before it takes anything else. What the agent merely declares,
    /// that it needs an answer for instance, covers no composer: text is how it gets one.
    pub fn blocking<'a>(&self, runtime: &'a Runtime) -> Option<&'a Blocking> {
        let shown = |w: &Weighed<'a>| !w.source.declares() && matches!(w.held.value, Value::Blocked(_));
        match self.strongest(runtime, shown)? {
            Value::Blocked(on) => Some(on),
            _ => None,
        }
    }

    /// What is in an agent's composer, if anybody has seen it.
    pub fn composer<'a>(&self, runtime: &'a Runtime) -> Option<&'a Composer> {
        match self.strongest(runtime, |w| matches!(w.held.value, Value::Composer(_)))? {
            Value::Composer(is) => Some(is),
            _ => None,
        }
    }

    /// The sources that said since a place in the log that a turn of this runtime began.
    pub fn turn_begun_since(&self, runtime: &RuntimeId, seq: u64) -> Vec<Source> {
        let Some(runtime) = self.state().topology.live(runtime) else {
            return Vec::new();
        };
        let began = |held: &Held| held.value == Value::TurnActive && held.last.seq > seq;
        let sources = runtime.sources.iter().filter(|(_, record)| record.facts().iter().any(began));
        sources.map(|(source, _)| *source).collect()
    }

    /// The fresh fact of a kind that weighs most.
    fn strongest<'a>(&self, runtime: &'a Runtime, suits: impl Fn(&Weighed<'a>) -> bool) -> Option<&'a Value> {
        let facts = self.fresh(runtime);
        facts.iter().filter(|w| suits(w)).max_by_key(|w| resolve::weight(w)).map(|w| &w.held.value)
    }

    /// The facts about an agent that count right now. So does a question that may be answered already: nothing is to be
    /// typed into it.
    pub(crate) fn fresh<'a>(&self, runtime: &'a Runtime) -> Vec<Weighed<'a>> {
        let mut facts = self.weighed(runtime);
        facts.retain(|w| matches!(w.standing, Standing::Fresh | Standing::Doubted { .. }));
        facts
    }

    /// All facts about an agent.
    pub(crate) fn weighed<'a>(&self, runtime: &'a Runtime) -> Vec<Weighed<'a>> {
        let state = self.state();
        let health = state.topology.health(&runtime.target);
        resolve::judge(runtime, Surroundings { policy: &state.policy, health, now: state.now }).facts
    }

    fn aim(&self, runtime: &Runtime) -> AimedAt {
        AimedAt {
            runtime: runtime.id.clone(),
            agent: runtime.agent.clone(),
            process: runtime.process,
            state: runtime.verdict.state,
            state_version: runtime.state_version,
            prompt: self.prompt(runtime),
        }
    }

    fn reaches(&self, target: &TargetName) -> Result<(), Refusal> {
        match self.state().topology.health(target) {
            (Health::Ok | Health::Degraded, _) => Ok(()),
            (Health::Down, _) => {
                let message = format!("target {target} cannot be reached");
                Err(refuse(RefusalCode::TargetUnreachable, message).hint("`agtmux target list` says why"))
            }
        }
    }

    /// Everything that must be so of the agent itself.
    fn allows(&self, snapshot: &Snapshot, runtime: Option<&Runtime>, now: Timestamp) -> Result<(), Refusal> {
        let Snapshot { verb, conditions, .. } = snapshot;
        let Some(runtime) = runtime else {
            if let Some(wanted) = &conditions.runtime {
                return Err(stale(format!("{wanted} is not in pane {}", snapshot.pane.pane)));
            }
            let unconditional = conditions.state.is_none() && conditions.updated_within.is_none();
            if verb.suits_any_pane() && unconditional {
                return Ok(());
            }
            let message = format!("no agent lives in pane {}", snapshot.pane.pane);
            return Err(
                refuse(RefusalCode::PreconditionFailed, message).hint("`agtmux list panes` shows the agents there are")
            );
        };
        if let Some(wanted) = &conditions.runtime
            && !runtime.id.as_str().starts_with(wanted.strip_prefix("runtime:").unwrap_or(wanted))
        {
            return Err(stale(format!("{} lives in pane {}, not {wanted}", runtime.id, snapshot.pane.pane)));
        }
        if !conditions.force_stale {
            meets(conditions, runtime, now)?;
            if *verb == Verb::Send {
                self.takes_text(runtime)?;
            }
        }
        if matches!(verb, Verb::Approve | Verb::Deny) {
            let prompt = self.prompt(runtime).ok_or_else(|| {
                let message =
                    format!("{} does not ask for permission; it is {}", runtime.id, runtime.verdict.state.name());
                refuse(RefusalCode::PreconditionFailed, message)
                    .hint(format!("`agtmux explain {}` shows what it is doing", runtime.id))
            })?;
            if let Some(wanted) = &conditions.prompt
                && !prompt.is_named(wanted)
            {
                if wanted.len() < Prompt::SHORTEST {
                    let message = format!("{wanted:?} is too short to name a prompt");
                    let hint = format!("give at least {} characters of the hash", Prompt::SHORTEST);
                    return Err(refuse(RefusalCode::PreconditionFailed, message).hint(hint));
                }
                let message = format!(
                    "{} asks about another prompt: {} {}",
                    runtime.id,
                    prompt.hash,
                    prompt.subject.unwrap_or_default()
                );
                return Err(refuse(RefusalCode::PreconditionFailed, message.trim_end().to_owned())
                    .hint("read what it asks now, then answer that"));
            }
        }
        Ok(())
    }

    /// Whether text that is typed at an agent becomes a prompt, and nothing else. Whether somebody's draft is in the composer is
    /// not asked here: what is known of that is a moment old, and whoever types looks.
    fn takes_text(&self, runtime: &Runtime) -> Result<(), Refusal> {
        let id = &runtime.id;
        if runtime.process_state.0 == ProcessState::Stopped {
            let message = format!("{id} is suspended and reads nothing");
            return Err(refuse(RefusalCode::PreconditionFailed, message)
                .hint("bring it to the foreground first: `fg` in its pane"));
        }
        if let Some(blocking) = self.blocking(runtime) {
            let (what, hint) = match blocking {
                Blocking::Approval { .. } => {
                    ("asks for permission", "answer it with `agtmux approve` or `agtmux deny`")
                }
                Blocking::Input { .. } => ("asks a question", "answer it in its pane: `agtmux attach`"),
                Blocking::Dialog { .. } => ("shows a dialog", "deal with it in its pane: `agtmux attach`"),
            };
            let message = format!("{id} {what}; text typed now would answer that");
            return Err(refuse(RefusalCode::Blocked, message).hint(hint));
        }
        if runtime.verdict.state == State::Running && runtime.verdict.reason == "compacting" {
            let message = format!("{id} is compacting its conversation; text typed now can get lost");
            return Err(refuse(RefusalCode::Blocked, message).hint("wait until it is done"));
        }
        Ok(())
    }
}

/// The conditions that the person gave.
fn meets(conditions: &Conditions, runtime: &Runtime, now: Timestamp) -> Result<(), Refusal> {
    let is = runtime.verdict.state;
    if let Some(wanted) = conditions.state
        && wanted != is
    {
        let message = format!("{} is {}, not {}", runtime.id, is.name(), wanted.name());
        return Err(
            refuse(RefusalCode::PreconditionFailed, message).hint(format!("`agtmux explain {}` says why", runtime.id))
        );
    }
    if let Some(within) = conditions.updated_within
        && runtime.updated_at + within < now
    {
        let age = now.0.saturating_sub(runtime.updated_at.0) / 1_000;
        let message = format!("the state of {} last changed {age} s ago", runtime.id);
        return Err(refuse(RefusalCode::PreconditionFailed, message)
            .hint("allow more with --if-updated-within, or leave it out"));
    }
    Ok(())
}

/// `completed` becomes `idle` by the mere passing of time, so the two are one for whoever decided on either.
fn at_rest(state: State) -> State {
    if state == State::Completed { State::Idle } else { state }
}

fn stale(message: String) -> Refusal {
    refuse(RefusalCode::RuntimeStale, message)
        .hint("nothing was done; `agtmux list panes` shows the runtimes there are")
}

fn another_prompt(aimed: &AimedAt, now: Option<&Prompt>) -> Refusal {
    let message = match now {
        Some(now) => {
            format!("{} asks about another prompt now: {}", aimed.runtime, now.subject.as_deref().unwrap_or(&now.hash))
        }
        None => format!("{} does not ask for permission any more", aimed.runtime),
    };
    refuse(RefusalCode::PreconditionFailed, message).hint("read what it asks now, then answer that")
}
