//! The engine: one state, changed by events alone.
//!
//! [`Engine::apply`] is total and pure. Time is data: it passes first, up to the event's `at`, and then the event
//! happens. It never runs backwards; an event whose `at` lies behind counts as taken in at the latest time seen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::binding::{Pending, Processes};
use crate::command::{self, Command, Refusal};
use crate::deadlines::Deadlines;
use crate::event::{Event, FORMAT, Fact};
use crate::id::{PaneKey, RuntimeId};
use crate::intent::Intent;
use crate::mail::{MailId, Post, Transition};
use crate::policy::Policy;
use crate::prompt::Prompt;
use crate::runtime::Surroundings;
use crate::time::Timestamp;
use crate::topology::Topology;

mod apply;

/// Version of the stored form of [`EngineState`].
pub const STATE_FORMAT: u32 = 1;

/// Everything the engine knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineState {
    /// Version of the stored form.
    pub v: u32,
    /// Position in the log up to which events were applied.
    pub seq: u64,
    /// The latest time seen.
    pub now: Timestamp,
    /// The numbers to decide by.
    pub policy: Policy,
    /// Targets, servers, panes, runtimes.
    pub topology: Topology,
    /// Signals that wait for their runtime.
    pub pending: Pending,
    /// Messages between people and agents.
    #[serde(default, skip_serializing_if = "Post::is_empty")]
    pub mail: Post,
    /// Events that could not be used.
    pub ignored: Ignored,
}

/// Counts of events that changed nothing because they could not be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    /// Written in a newer format than this build reads.
    pub newer_format: u64,
    /// About a target, server, pane or runtime that is not known.
    pub about_nothing: u64,
    /// Signals of ended runtimes, and signals that can never be bound.
    pub unbindable: u64,
}

/// What became of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// What became of the signal, if it was one.
    pub disposition: Option<Disposition>,
    /// Panes whose row changed.
    pub changed: BTreeSet<PaneKey>,
    /// Whether the list of targets changed.
    pub targets_changed: bool,
    /// Messages that took a step.
    pub mail: BTreeSet<MailId>,
    /// Those steps, in their order.
    pub mail_steps: Vec<Transition>,
}

/// What became of a signal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// It counts for this runtime.
    Bound {
        /// Which.
        runtime: RuntimeId,
    },
    /// It waits for its runtime to be found.
    Pending,
    /// It was heard before.
    Duplicate {
        /// Its runtime.
        runtime: RuntimeId,
    },
    /// Its source has said something later already.
    OutOfOrder {
        /// Its runtime.
        runtime: RuntimeId,
    },
    /// Its runtime is over.
    RuntimeEnded {
        /// Which.
        runtime: RuntimeId,
    },
    /// It can never be bound.
    Unbound {
        /// Why.
        why: String,
    },
}

/// The state and what is derived from it.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    state: EngineState,
    deadlines: Deadlines,
    processes: Processes,
    pending_deadline: Option<Timestamp>,
    /// What agents ask permission for, as it was shown last.
    prompts: BTreeMap<RuntimeId, Prompt>,
}

impl Default for EngineState {
    fn default() -> Self {
        Self {
            v: STATE_FORMAT,
            seq: 0,
            now: Timestamp::default(),
            policy: Policy::default(),
            topology: Topology::default(),
            pending: Pending::default(),
            mail: Post::default(),
            ignored: Ignored::default(),
        }
    }
}

impl Engine {
    /// An engine that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine that goes on from a state.
    pub fn restore(state: EngineState) -> Self {
        let mut deadlines = Deadlines::default();
        for runtime in state.topology.runtimes.values() {
            let health = state.topology.health(&runtime.target);
            let around = Surroundings { policy: &state.policy, health, now: state.now };
            deadlines.set(&runtime.id, runtime.next_change(around));
        }
        let processes = Processes::of(&state.topology);
        let pending_deadline = state.pending.next_deadline();
        let mut engine = Self { state, deadlines, processes, pending_deadline, prompts: BTreeMap::new() };
        engine.prompts = engine.all_prompts();
        engine
    }

    /// The state.
    pub fn state(&self) -> &EngineState {
        &self.state
    }

    /// The latest time seen.
    pub fn now(&self) -> Timestamp {
        self.state.now
    }

    /// When time alone will change something. The shell answers with a [`Fact::Tick`].
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let mail = self.state.mail.next_deadline(self.state.policy.mail_alarm());
        [self.deadlines.next(), self.pending_deadline, mail, self.interrupts_deadline()].into_iter().flatten().min()
    }

    /// All wanted effects.
    pub fn outbox(&self) -> Vec<Intent> {
        self.state.topology.runtimes.values().filter_map(Intent::notify).collect()
    }

    /// Turns a request into facts for the log.
    ///
    /// # Errors
    /// A request that must not be carried out is refused.
    pub fn decide(&self, command: &Command) -> Result<Vec<Fact>, Refusal> {
        command::decide(&self.state, command)
    }

    /// Applies an event.
    pub fn apply(&mut self, event: &Event) -> Applied {
        let mut applied = Applied::default();
        if event.v > FORMAT {
            self.state.ignored.newer_format += 1;
            return applied;
        }
        self.state.mail.begin(event.seq);
        self.pass_time(event.at, &mut applied);
        self.state.seq = self.state.seq.max(event.seq);
        self.take_in(event, &mut applied);
        applied.mail = self.state.mail.take_touched();
        applied.mail_steps = self.state.mail.take_steps();
        for id in self.state.mail.take_stirred() {
            let is_late = self.state.mail.late_since(&id).is_some();
            let runtime = self.state.topology.runtimes.get_mut(&id).filter(|runtime| runtime.is_live());
            applied.changed.extend(runtime.map(|runtime| {
                runtime.attention.mail_waits(is_late);
                runtime.pane.clone()
            }));
        }
        applied
    }
}
