//! Which rows of the projection an event changed. Rows go to the store with the next events.

use agtmux_core::action::Step;
use agtmux_core::engine::{Applied, Disposition, Engine};
use agtmux_core::event::{Event, Fact};
use agtmux_core::id::{PaneKey, RuntimeId, TargetName};
use agtmux_core::time::Timestamp;

use super::world::LOCAL;
use crate::store::{ActionSnapshotRow, CursorRow, PaneRow, Row, RuntimeRow, ServerRow, StateRow, TargetRow};

/// Rows that wait to be written.
#[derive(Default)]
pub struct Projection {
    rows: Vec<Row>,
}

impl Projection {
    /// The rows of all targets: this host is one without ever having been added.
    pub fn of_targets(engine: &Engine) -> Self {
        let mut projection = Self::default();
        for name in engine.state().topology.targets.keys() {
            projection.target(engine, engine.now(), name);
        }
        projection
    }

    /// Takes the rows that wait.
    pub fn take(&mut self) -> Vec<Row> {
        std::mem::take(&mut self.rows)
    }

    /// Notes what an event that was just applied changed.
    pub fn note(&mut self, engine: &Engine, event: &Event, applied: &Applied) {
        let topology = &engine.state().topology;
        match &event.fact {
            Fact::TargetAdded { target, .. } | Fact::TargetHealth { target, .. } => {
                self.target(engine, event.at, target)
            }
            Fact::TargetRemoved { target } => self.rows.push(Row::TargetGone(target.clone())),
            Fact::ServerSeen { server, target, socket, pid, start_time } => self.rows.push(Row::Server(ServerRow {
                server: server.clone(),
                target: target.clone(),
                socket: socket.clone(),
                pid: *pid,
                start_time: *start_time,
                updated_at: event.at,
            })),
            Fact::ServerGone { server } => self.rows.push(Row::ServerGone(server.clone())),
            Fact::RuntimeStarted { runtime, .. } => self.runtime(engine, runtime),
            Fact::Signal(signal) => {
                if let Some(Disposition::Bound { runtime }) = &applied.disposition {
                    self.rows.push(Row::Cursor(CursorRow {
                        runtime: runtime.clone(),
                        source: signal.source,
                        source_seq: signal.source_seq,
                        event_time: signal.event_time,
                        ingested_at: event.at,
                        event_id: signal.event_id.clone(),
                    }));
                }
                if let Some(disposition) = applied.disposition.clone() {
                    self.rows.push(Row::Disposition { seq: event.seq, disposition });
                }
            }
            Fact::RuntimeEnded { runtime, how } => {
                self.rows.push(Row::RuntimeEnded { runtime: runtime.clone(), at: event.at, how: *how });
            }
            Fact::Action(action) => self.action(&action.step),
            Fact::PolicySet { .. }
            | Fact::PanePlaced { .. }
            | Fact::PaneGone { .. }
            | Fact::ProcessChanged { .. }
            | Fact::Named { .. }
            | Fact::Session { .. }
            | Fact::Conversation { .. }
            | Fact::Seen { .. }
            | Fact::Acknowledged { .. }
            | Fact::IntentDone { .. }
            | Fact::Refused { .. }
            | Fact::Mail(_)
            | Fact::Tick
            | Fact::Checkpoint { .. } => {}
        }
        for key in &applied.changed {
            match topology.panes.get(key) {
                Some(_) => self.pane(engine, event, key),
                None => self.rows.push(Row::PaneGone(key.clone())),
            }
        }
    }

    fn target(&mut self, engine: &Engine, now: Timestamp, name: &TargetName) {
        if let Some(target) = engine.state().topology.targets.get(name) {
            self.rows.push(Row::Target(TargetRow {
                target: name.clone(),
                kind: target.kind,
                connection: target.connection.clone(),
                is_default: name.as_str() == LOCAL,
                health: target.health.0,
                last_seen_at: Some(target.health.1),
                updated_at: now,
            }));
        }
    }

    fn runtime(&mut self, engine: &Engine, id: &RuntimeId) {
        if let Some(runtime) = engine.state().topology.runtimes.get(id) {
            self.rows.push(Row::Runtime(RuntimeRow {
                runtime: id.clone(),
                target: runtime.target.clone(),
                pane: runtime.pane.clone(),
                epoch: u64::from(runtime.epoch),
                agent: runtime.agent.clone(),
                boot: runtime.boot.clone(),
                process: runtime.process,
                started_at: runtime.started_at,
            }));
        }
    }

    fn action(&mut self, step: &Step) {
        if let Step::Prepared { snapshot } = step {
            self.rows.push(Row::ActionSnapshot(ActionSnapshotRow {
                action: snapshot.action.clone(),
                verb: snapshot.verb,
                target: snapshot.target.clone(),
                server_pid: snapshot.server_pid,
                server_start: snapshot.server_start,
                pane: snapshot.pane.clone(),
                runtime: snapshot.runtime.as_ref().map(|aimed| aimed.runtime.clone()),
                state_version: snapshot.runtime.as_ref().map(|aimed| aimed.state_version),
                observed_at: snapshot.observed_at,
                expires_at: snapshot.expires_at,
            }));
        }
    }

    fn pane(&mut self, engine: &Engine, event: &Event, key: &PaneKey) {
        let topology = &engine.state().topology;
        if let Some(place) = topology.panes.get(key).and_then(|pane| pane.place.clone()) {
            self.rows.push(Row::Pane(PaneRow { pane: key.clone(), place, updated_at: event.at }));
        }
        if let Some(runtime) = topology.living_in(key) {
            self.rows.push(Row::State(StateRow {
                runtime: runtime.id.clone(),
                verdict: runtime.verdict.clone(),
                version: runtime.state_version,
                last_seen_at: Some(event.at),
                updated_at: runtime.updated_at,
            }));
        }
    }
}
