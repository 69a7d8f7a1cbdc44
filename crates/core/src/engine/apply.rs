//! What each fact does to the state. One small function per fact; the table comes first.
//!
//! A fact about a target, server, pane or runtime that is not known changes nothing and is counted.

use crate::binding::{self, Binding, Waiting};
use crate::event::{Ending, Event, Fact, Health, Place, TargetKind};
use crate::id::{PaneKey, RuntimeId, ServerId, TargetName};
use crate::intent;
use crate::ordering::Admission;
use crate::query::Heard;
use crate::runtime::{Conversation, Found, Runtime, Surroundings};
use crate::signal::SignalEvent;
use crate::time::Timestamp;
use crate::topology::{Server, Target, Topology};

use super::{Applied, Disposition, Engine, EngineState, STATE_FORMAT};

impl Engine {
    /// Lets an event happen, after time has passed up to it.
    pub(super) fn take_in(&mut self, event: &Event, applied: &mut Applied) {
        match &event.fact {
            Fact::PolicySet { policy } => {
                self.state.policy = policy.clone();
                self.refresh_where(|_| true, applied);
            }
            Fact::TargetAdded { target, kind, connection } => {
                self.add_target(target, *kind, connection, applied);
            }
            Fact::TargetRemoved { target } => self.remove_target(target, applied),
            Fact::TargetHealth { target, health, detail } => {
                self.change_health(target, *health, detail, applied);
            }
            Fact::ServerSeen { server, target, socket, pid, start_time } => {
                let seen =
                    Server { target: target.clone(), socket: socket.clone(), pid: *pid, start_time: *start_time };
                self.add_server(server, seen, applied);
            }
            Fact::ServerGone { server } => {
                self.drop_servers(|id, _| id == server, Ending::ServerGone, applied);
            }
            Fact::PanePlaced { pane, place } => self.place_pane(pane, place, applied),
            Fact::PaneGone { pane } => self.drop_pane(pane, Ending::PaneClosed, applied),
            Fact::RuntimeStarted { runtime, pane, agent, boot, process, why } => {
                let Some(target) = self.state.topology.target_of(pane).cloned() else {
                    return self.about_nothing();
                };
                let found = Found { target, pane, agent, boot, process: *process, why };
                self.start_runtime(Runtime::new(runtime, found, self.state.now), applied);
            }
            Fact::ProcessChanged { runtime, process } => {
                let now = self.state.now;
                self.change_runtime(runtime, applied, |runtime| runtime.set_process(*process, now));
            }
            Fact::RuntimeEnded { runtime, how } => self.end_runtime(runtime, *how, applied),
            Fact::Named { runtime, name } => {
                self.change_runtime(runtime, applied, |runtime| runtime.name.clone_from(name));
            }
            Fact::Session { runtime, session } => {
                self.change_runtime(runtime, applied, |runtime| runtime.session = Some(session.clone()));
            }
            Fact::Conversation { runtime, conversation, cwd } => {
                let conversation = Conversation { id: conversation.clone(), cwd: cwd.clone() };
                self.change_runtime(runtime, applied, |runtime| runtime.conversation = Some(conversation));
            }
            Fact::Signal(signal) => {
                let binding = binding::bind(&self.state.topology, &self.processes, signal);
                let disposition = self.route(signal, binding, event.seq, self.state.now, applied);
                applied.disposition = Some(disposition);
            }
            Fact::Seen { runtime } => {
                self.change_runtime(runtime, applied, |runtime| runtime.attention.see(event.seq));
            }
            Fact::Acknowledged { runtime, nudge_seq } => {
                self.change_runtime(runtime, applied, |runtime| runtime.attention.acknowledge(*nudge_seq, event.seq));
            }
            Fact::IntentDone { intent } => match intent::parse_notify(intent) {
                Some((runtime, nudge_seq)) => {
                    self.change_runtime(&runtime, applied, |runtime| runtime.attention.notified(nudge_seq))
                }
                None => self.about_nothing(),
            },
            Fact::Mail(fact) => {
                if !self.state.mail.apply(fact, self.state.now) {
                    self.about_nothing();
                }
            }
            Fact::Refused { .. } | Fact::Action(_) | Fact::Tick => {}
            Fact::Checkpoint { state } => self.start_over_from(state, event, applied),
        }
    }

    /// Lets time pass: drops what has waited too long, and shows what has expired or aged.
    pub(super) fn pass_time(&mut self, at: Timestamp, applied: &mut Applied) {
        self.state.now = self.state.now.max(at);
        self.state.mail.pass_time(self.state.now, self.state.policy.mail_alarm());
        if self.pending_deadline.is_some_and(|deadline| deadline <= self.state.now) {
            self.state.pending.expire(self.state.now);
            self.pending_deadline = self.state.pending.next_deadline();
        }
        for id in self.deadlines.due(self.state.now) {
            self.refresh(&id, applied);
        }
    }

    fn add_target(&mut self, name: &TargetName, kind: TargetKind, connection: &Option<String>, applied: &mut Applied) {
        let (health, detail) = match kind {
            TargetKind::Local => (Health::Ok, None),
            TargetKind::Ssh => (Health::Down, Some("not connected yet".to_owned())),
        };
        let added = Target { kind, connection: connection.clone(), health: (health, self.state.now), detail };
        let target = self.state.topology.targets.entry(name.clone()).or_insert_with(|| {
            applied.targets_changed = true;
            added
        });
        if target.kind != kind || target.connection != *connection {
            target.kind = kind;
            target.connection.clone_from(connection);
            applied.targets_changed = true;
        }
    }

    fn change_health(&mut self, name: &TargetName, health: Health, detail: &Option<String>, applied: &mut Applied) {
        let Some(target) = self.state.topology.targets.get_mut(name) else {
            return self.about_nothing();
        };
        applied.targets_changed |= target.health.0 != health || target.detail != *detail;
        if target.health.0 != health {
            target.health = (health, self.state.now);
        }
        target.detail.clone_from(detail);
        self.refresh_where(|runtime| runtime.target == *name, applied);
    }

    fn add_server(&mut self, id: &ServerId, seen: Server, applied: &mut Applied) {
        if !self.state.topology.targets.contains_key(&seen.target) {
            return self.about_nothing();
        }
        // One socket has one server: whoever was behind it before is gone, though nobody saw it go.
        let before = |other_id: &ServerId, other: &Server| {
            other_id != id && other.target == seen.target && other.socket == seen.socket
        };
        self.drop_servers(before, Ending::ServerGone, applied);
        self.state.topology.servers.insert(id.clone(), seen);
    }

    fn remove_target(&mut self, target: &TargetName, applied: &mut Applied) {
        if *target == TargetName::local() || !self.state.topology.targets.contains_key(target) {
            return self.about_nothing();
        }
        self.drop_servers(|_, server| server.target == *target, Ending::TargetRemoved, applied);
        self.state.topology.targets.remove(target);
        applied.targets_changed = true;
    }

    fn drop_servers(&mut self, suits: impl Fn(&ServerId, &Server) -> bool, how: Ending, applied: &mut Applied) {
        for pane in self.state.topology.panes_of_servers(&suits) {
            self.drop_pane(&pane, how, applied);
        }
        self.state.topology.servers.retain(|id, server| !suits(id, server));
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

    /// Puts a runtime into its pane. One that is there already is not started again.
    fn start_runtime(&mut self, runtime: Runtime, applied: &mut Applied) {
        let topology = &self.state.topology;
        if topology.live(&runtime.id).is_some() {
            return;
        }
        if let Some(before) = topology.living_in(&runtime.pane).map(|before| before.id.clone()) {
            self.end_runtime(&before, Ending::Replaced, applied);
        }
        applied.changed.insert(runtime.pane.clone());
        self.processes.add(&runtime);
        let id = runtime.id.clone();
        self.state.topology.start(runtime);
        self.refresh(&id, applied);
        self.settle_pending(applied);
    }

    fn end_runtime(&mut self, id: &RuntimeId, how: Ending, applied: &mut Applied) {
        let Some(pane) = self.state.topology.end(id, how, self.state.now) else {
            return self.about_nothing();
        };
        if let Some(runtime) = self.state.topology.runtimes.get(id) {
            self.processes.remove(runtime);
            self.state.mail.runtime_ended(runtime, how, self.state.now);
        }
        self.deadlines.set(id, None);
        applied.changed.insert(pane);
    }

    fn settle_pending(&mut self, applied: &mut Applied) {
        let topology = &self.state.topology;
        let processes = &self.processes;
        for (waiting, binding) in self.state.pending.settle(|event| binding::bind(topology, processes, event)) {
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
                self.state.pending.push(Waiting { seq, at, until, event: Box::new(signal.clone()) });
                self.pending_deadline = self.pending_deadline.into_iter().chain([until]).min();
                Disposition::Pending
            }
            Binding::Ended(runtime) => {
                self.state.ignored.unbindable += 1;
                Disposition::RuntimeEnded { runtime }
            }
            Binding::Nobody(why) => {
                self.state.ignored.unbindable += 1;
                Disposition::Unbound { why: why.to_owned() }
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
            return Disposition::Unbound { why: "unknown runtime".to_owned() };
        };
        let before = Heard::of(runtime);
        let admission = runtime.hear(signal, seq, at, &self.state.policy);
        if Heard::of(runtime) != before {
            applied.changed.insert(runtime.pane.clone());
        }
        let runtime = id.clone();
        match admission {
            Admission::New(_) | Admission::Late(_) => {
                self.refresh(id, applied);
                Disposition::Bound { runtime }
            }
            Admission::Duplicate => Disposition::Duplicate { runtime },
            Admission::OutOfOrder => Disposition::OutOfOrder { runtime },
        }
    }

    /// Changes a living runtime.
    fn change_runtime(&mut self, id: &RuntimeId, applied: &mut Applied, change: impl FnOnce(&mut Runtime)) {
        let shown = |runtime: &Runtime| (runtime.name.clone(), runtime.attention.is_acknowledged());
        let runtime = self.state.topology.runtimes.get_mut(id);
        let Some(runtime) = runtime.filter(|runtime| runtime.is_live()) else {
            return self.about_nothing();
        };
        let before = shown(runtime);
        change(runtime);
        if shown(runtime) != before {
            applied.changed.insert(runtime.pane.clone());
        }
        self.refresh(id, applied);
    }

    fn refresh_where(&mut self, suits: impl Fn(&Runtime) -> bool, applied: &mut Applied) {
        let live = self.state.topology.runtimes.values().filter(|runtime| runtime.is_live() && suits(runtime));
        let ids: Vec<_> = live.map(|runtime| runtime.id.clone()).collect();
        for id in ids {
            self.refresh(&id, applied);
        }
    }

    /// Shows a runtime anew and notes when it may next change by itself.
    fn refresh(&mut self, id: &RuntimeId, applied: &mut Applied) {
        let EngineState { topology, policy, now, .. } = &mut self.state;
        let Topology { runtimes, targets, .. } = topology;
        let Some(runtime) = runtimes.get_mut(id).filter(|runtime| runtime.is_live()) else {
            return;
        };
        let health = targets.get(&runtime.target).map_or((Health::Down, *now), |target| target.health);
        let refreshed = runtime.refresh(Surroundings { policy, health, now: *now });
        if refreshed.changed {
            applied.changed.insert(runtime.pane.clone());
        }
        self.deadlines.set(id, refreshed.next_change);
        self.refresh_prompt(id, applied);
    }

    /// A question can become another one while the state stays what it is.
    fn refresh_prompt(&mut self, id: &RuntimeId, applied: &mut Applied) {
        let Some(runtime) = self.state.topology.live(id) else { return };
        let (pane, asks) = (runtime.pane.clone(), self.shown_prompt(runtime));
        if self.prompts.get(id) != asks.as_ref() {
            applied.changed.insert(pane);
            match asks {
                Some(asks) => self.prompts.insert(id.clone(), asks),
                None => self.prompts.remove(id),
            };
        }
    }

    fn start_over_from(&mut self, state: &EngineState, event: &Event, applied: &mut Applied) {
        if state.v > STATE_FORMAT {
            self.state.ignored.newer_format += 1;
            return;
        }
        applied.changed.extend(self.state.topology.panes.keys().cloned());
        *self = Self::restore(state.clone());
        applied.changed.extend(self.state.topology.panes.keys().cloned());
        applied.targets_changed = true;
        self.state.seq = self.state.seq.max(event.seq);
        self.state.mail.begin(event.seq);
        self.pass_time(event.at, applied);
    }

    fn about_nothing(&mut self) {
        self.state.ignored.about_nothing += 1;
    }
}
