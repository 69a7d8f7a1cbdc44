//! The engine: one state, changed by events alone.
//!
//! [`Engine::apply`] is total and pure. Time is data: it passes first, up to the event's `at`, and then the event
//! happens. It never runs backwards; an event whose `at` lies behind counts as taken in at the latest time seen.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::binding::{self, Binding, Pending, Processes, Waiting};
use crate::command::{self, Command, Refusal};
use crate::deadlines::Deadlines;
use crate::event::{Ending, Event, FORMAT, Fact, Health, Place, ProcessState, TargetKind};
use crate::id::{PaneKey, RuntimeId, ServerId, TargetName};
use crate::intent::{self, Intent};
use crate::ordering::Admission;
use crate::policy::Policy;
use crate::resolve;
use crate::runtime::{Runtime, Surroundings};
use crate::signal::SignalEvent;
use crate::time::Timestamp;
use crate::topology::{Server, Target, Topology};

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
            deadlines.set(&runtime.id, runtime.next_change(&state.policy, state.now));
        }
        let processes = Processes::of(&state.topology);
        let pending_deadline = state.pending.next_deadline();
        Self {
            state,
            deadlines,
            processes,
            pending_deadline,
        }
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
        [self.deadlines.next(), self.pending_deadline]
            .into_iter()
            .flatten()
            .min()
    }

    /// All wanted effects.
    pub fn outbox(&self) -> Vec<Intent> {
        self.state
            .topology
            .runtimes
            .values()
            .filter_map(Intent::notify)
            .collect()
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
        self.pass_time(event.at, &mut applied);
        self.state.seq = self.state.seq.max(event.seq);
        self.take_in(event, &mut applied);
        applied
    }

    fn take_in(&mut self, event: &Event, applied: &mut Applied) {
        let now = self.state.now;
        match &event.fact {
            Fact::PolicySet { policy } => {
                self.state.policy = policy.clone();
                self.refresh_where(|_| true, applied);
            }
            Fact::TargetAdded {
                target,
                kind,
                connection,
            } => self.add_target(target, *kind, connection, applied),
            Fact::TargetRemoved { target } => self.remove_target(target, applied),
            Fact::TargetHealth {
                target,
                health,
                detail,
            } => {
                let Some(known) = self.state.topology.targets.get_mut(target) else {
                    return self.about_nothing();
                };
                if known.health.0 != *health {
                    known.health = (*health, now);
                    applied.targets_changed = true;
                }
                applied.targets_changed |= known.detail != *detail;
                known.detail.clone_from(detail);
                self.refresh_where(|runtime| runtime.target == *target, applied);
            }
            Fact::ServerSeen {
                server,
                target,
                socket,
                pid,
                start_time,
            } => {
                if !self.state.topology.targets.contains_key(target) {
                    return self.about_nothing();
                }
                let seen = Server {
                    target: target.clone(),
                    socket: socket.clone(),
                    pid: *pid,
                    start_time: *start_time,
                };
                // One socket has one server: whoever was behind it before is gone, though nobody saw it go.
                let before = |id: &_, other: &Server| {
                    id != server && other.target == *target && other.socket == *socket
                };
                self.drop_servers(before, Ending::ServerGone, applied);
                self.state.topology.servers.insert(server.clone(), seen);
            }
            Fact::ServerGone { server } => {
                self.drop_servers(|id, _| id == server, Ending::ServerGone, applied)
            }
            Fact::PanePlaced { pane, place } => self.place_pane(pane, place, applied),
            Fact::PaneGone { pane } => self.drop_pane(pane, Ending::PaneClosed, applied),
            Fact::RuntimeStarted { .. } => self.start_runtime(event, applied),
            Fact::ProcessChanged { runtime, process } => {
                self.with_runtime(runtime, applied, |runtime| {
                    if runtime.process_state.0 != *process {
                        runtime.process_state = (*process, now);
                    }
                })
            }
            Fact::RuntimeEnded { runtime, how } => self.end_runtime(runtime, *how, applied),
            Fact::Named { runtime, name } => {
                if let Some(known) = self.state.topology.live(runtime)
                    && known.name != *name
                {
                    applied.changed.insert(known.pane.clone());
                }
                self.with_runtime(runtime, applied, |runtime| runtime.name.clone_from(name));
            }
            Fact::Signal(signal) => {
                let binding = binding::bind(&self.state.topology, &self.processes, signal);
                applied.disposition = Some(self.route(signal, binding, event.seq, now, applied));
            }
            Fact::Seen { runtime } => {
                self.with_runtime(runtime, applied, |runtime| runtime.attention.see(event.seq))
            }
            Fact::Acknowledged { runtime, nudge_seq } => {
                let known = |engine: &Self| {
                    engine
                        .state
                        .topology
                        .live(runtime)
                        .map(|r| r.attention.is_acknowledged())
                };
                let before = known(self);
                self.with_runtime(runtime, applied, |runtime| {
                    runtime.attention.acknowledge(*nudge_seq, event.seq)
                });
                if known(self) != before
                    && let Some(runtime) = self.state.topology.live(runtime)
                {
                    applied.changed.insert(runtime.pane.clone());
                }
            }
            Fact::IntentDone { intent } => {
                if let Some((runtime, nudge_seq)) = intent::parse_notify(intent) {
                    self.with_runtime(&runtime, applied, |runtime| {
                        runtime.attention.notify(nudge_seq)
                    });
                }
            }
            Fact::Refused { .. } | Fact::Tick => {}
            Fact::Checkpoint { state } => self.start_over_from(state, event, applied),
        }
    }

    /// Lets time pass: drops what has waited too long, and shows what has expired or aged.
    fn pass_time(&mut self, at: Timestamp, applied: &mut Applied) {
        self.state.now = self.state.now.max(at);
        if self
            .pending_deadline
            .is_some_and(|deadline| deadline <= self.state.now)
        {
            self.state.pending.expire(self.state.now);
            self.pending_deadline = self.state.pending.next_deadline();
        }
        for id in self.deadlines.due(self.state.now) {
            self.refresh(&id, applied);
        }
    }

    fn add_target(
        &mut self,
        name: &TargetName,
        kind: TargetKind,
        connection: &Option<String>,
        applied: &mut Applied,
    ) {
        let now = self.state.now;
        let target = self
            .state
            .topology
            .targets
            .entry(name.clone())
            .or_insert_with(|| {
                applied.targets_changed = true;
                Target {
                    kind,
                    connection: None,
                    health: (Health::Ok, now),
                    detail: None,
                }
            });
        if target.kind != kind || target.connection != *connection {
            target.kind = kind;
            target.connection.clone_from(connection);
            applied.targets_changed = true;
        }
    }

    fn remove_target(&mut self, target: &TargetName, applied: &mut Applied) {
        if *target == TargetName::local() || !self.state.topology.targets.contains_key(target) {
            return self.about_nothing();
        }
        self.drop_servers(
            |_, server| server.target == *target,
            Ending::TargetRemoved,
            applied,
        );
        self.state.topology.targets.remove(target);
        applied.targets_changed = true;
    }

    fn drop_servers(
        &mut self,
        suits: impl Fn(&ServerId, &Server) -> bool,
        how: Ending,
        applied: &mut Applied,
    ) {
        for pane in self.state.topology.panes_of_servers(&suits) {
            self.drop_pane(&pane, how, applied);
        }
        self.state
            .topology
            .servers
            .retain(|id, server| !suits(id, server));
    }

    fn place_pane(&mut self, key: &PaneKey, place: &Place, applied: &mut Applied) {
        if !self.state.topology.servers.contains_key(&key.server) {
            return self.about_nothing();
        }
        let pane = self.state.topology.panes.entry(key.clone()).or_default();
        if pane.place.as_ref() != Some(place) {
            pane.place = Some(place.clone());
            applied.changed.insert(key.clone());
        }
    }

    fn drop_pane(&mut self, key: &PaneKey, how: Ending, applied: &mut Applied) {
        let Some(pane) = self.state.topology.panes.get(key) else {
            return self.about_nothing();
        };
        if let Some(runtime) = pane.runtime.clone() {
            self.end_runtime(&runtime, how, applied);
        }
        self.state.topology.panes.remove(key);
        applied.changed.insert(key.clone());
    }

    fn start_runtime(&mut self, event: &Event, applied: &mut Applied) {
        let Fact::RuntimeStarted {
            runtime: id,
            pane,
            agent,
            boot,
            process,
            why,
        } = &event.fact
        else {
            return;
        };
        let Some(target) = self.state.topology.target_of(pane).cloned() else {
            return self.about_nothing();
        };
        if self.state.topology.live(id).is_some() {
            return;
        }
        if let Some(before) = self
            .state
            .topology
            .living_in(pane)
            .map(|runtime| runtime.id.clone())
        {
            self.end_runtime(&before, Ending::Replaced, applied);
        }
        let at = self.state.now;
        self.state.topology.start(Runtime {
            id: id.clone(),
            target,
            pane: pane.clone(),
            epoch: 0,
            agent: agent.clone(),
            boot: boot.clone(),
            process: *process,
            why: why.clone(),
            name: None,
            started_at: at,
            process_state: (ProcessState::Alive, at),
            ended: None,
            clock: Default::default(),
            sources: BTreeMap::new(),
            attention: Default::default(),
            verdict: resolve::unknown("no_signal", at),
            state_version: 1,
            updated_at: at,
        });
        if let Some(runtime) = self.state.topology.live(id) {
            self.processes.add(runtime);
        }
        applied.changed.insert(pane.clone());
        self.refresh(id, applied);
        self.settle_pending(applied);
    }

    fn end_runtime(&mut self, id: &RuntimeId, how: Ending, applied: &mut Applied) {
        let Some(pane) = self.state.topology.end(id, how, self.state.now) else {
            return self.about_nothing();
        };
        if let Some(runtime) = self.state.topology.runtimes.get(id) {
            self.processes.remove(runtime);
        }
        self.deadlines.set(id, None);
        applied.changed.insert(pane);
    }

    fn settle_pending(&mut self, applied: &mut Applied) {
        let topology = &self.state.topology;
        let processes = &self.processes;
        for (waiting, binding) in self
            .state
            .pending
            .settle(|event| binding::bind(topology, processes, event))
        {
            self.route(&waiting.event, binding, waiting.seq, waiting.at, applied);
        }
        self.pending_deadline = self.state.pending.next_deadline();
    }

    fn route(
        &mut self,
        signal: &SignalEvent,
        binding: Binding,
        seq: u64,
        at: Timestamp,
        applied: &mut Applied,
    ) -> Disposition {
        match binding {
            Binding::To(id) => self.hear(&id, signal, seq, at, applied),
            Binding::Pending => {
                let until = at + self.state.policy.bind_within;
                self.state.pending.push(Waiting {
                    seq,
                    at,
                    until,
                    event: Box::new(signal.clone()),
                });
                self.pending_deadline = self.pending_deadline.into_iter().chain([until]).min();
                Disposition::Pending
            }
            Binding::Ended(runtime) => {
                self.state.ignored.unbindable += 1;
                Disposition::RuntimeEnded { runtime }
            }
            Binding::Nobody(why) => {
                self.state.ignored.unbindable += 1;
                Disposition::Unbound {
                    why: why.to_owned(),
                }
            }
        }
    }

    fn hear(
        &mut self,
        id: &RuntimeId,
        signal: &SignalEvent,
        seq: u64,
        at: Timestamp,
        applied: &mut Applied,
    ) -> Disposition {
        let Some(runtime) = self.state.topology.runtimes.get_mut(id) else {
            return Disposition::Unbound {
                why: "unknown runtime".to_owned(),
            };
        };
        let admission = runtime.hear(signal, seq, at, &self.state.policy);
        let runtime = id.clone();
        match admission {
            Admission::New(_) => {
                self.refresh(id, applied);
                Disposition::Bound { runtime }
            }
            Admission::Duplicate => Disposition::Duplicate { runtime },
            Admission::OutOfOrder => Disposition::OutOfOrder { runtime },
        }
    }

    fn with_runtime(
        &mut self,
        id: &RuntimeId,
        applied: &mut Applied,
        change: impl FnOnce(&mut Runtime),
    ) {
        match self
            .state
            .topology
            .runtimes
            .get_mut(id)
            .filter(|runtime| runtime.is_live())
        {
            Some(runtime) => change(runtime),
            None => return self.about_nothing(),
        }
        self.refresh(id, applied);
    }

    fn refresh_where(&mut self, suits: impl Fn(&Runtime) -> bool, applied: &mut Applied) {
        let live = self
            .state
            .topology
            .runtimes
            .values()
            .filter(|runtime| runtime.is_live() && suits(runtime));
        let ids: Vec<_> = live.map(|runtime| runtime.id.clone()).collect();
        for id in ids {
            self.refresh(&id, applied);
        }
    }

    /// Shows a runtime anew and notes when it may next change by itself.
    fn refresh(&mut self, id: &RuntimeId, applied: &mut Applied) {
        let EngineState {
            topology,
            policy,
            now,
            ..
        } = &mut self.state;
        let Topology {
            runtimes, targets, ..
        } = topology;
        let Some(runtime) = runtimes.get_mut(id).filter(|runtime| runtime.is_live()) else {
            return;
        };
        let health = targets
            .get(&runtime.target)
            .map_or((Health::Down, *now), |target| target.health);
        if runtime.refresh(Surroundings {
            policy,
            health,
            now: *now,
        }) {
            applied.changed.insert(runtime.pane.clone());
        }
        let next = runtime.next_change(policy, *now);
        self.deadlines.set(id, next);
    }

    fn start_over_from(&mut self, state: &EngineState, event: &Event, applied: &mut Applied) {
        if state.v > STATE_FORMAT {
            self.state.ignored.newer_format += 1;
            return;
        }
        applied
            .changed
            .extend(self.state.topology.panes.keys().cloned());
        *self = Self::restore(state.clone());
        applied
            .changed
            .extend(self.state.topology.panes.keys().cloned());
        applied.targets_changed = true;
        self.state.seq = self.state.seq.max(event.seq);
        self.pass_time(event.at, applied);
    }

    fn about_nothing(&mut self) {
        self.state.ignored.about_nothing += 1;
    }
}
