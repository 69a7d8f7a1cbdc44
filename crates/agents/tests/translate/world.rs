//! An engine with one agent in one pane, to which readings are said as the daemon says them.

use std::sync::LazyLock;

use agtmux_agents::{Reading, Registry};
use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact, Place};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{Claim, SignalEvent, Source};
use agtmux_core::state::Verdict;
use agtmux_core::time::{Stamp, Timestamp};

pub(crate) static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// One agent and what is known about it.
pub(crate) struct World {
    engine: Engine,
    runtime: RuntimeId,
    seq: u64,
    /// Milliseconds since the agent started; never runs backwards.
    now: i64,
}

impl World {
    pub(crate) fn with(agent: &str) -> Self {
        let target = TargetName::local();
        let server = ServerId::derive(&target, "/tmp/tmux", 1, 0);
        let pane = PaneKey { server: server.clone(), pane: PaneId(0) };
        let (boot, process) = (BootId::new("boot"), ProcessKey { pid: 100, start: 1_000 });
        let id = AgentId::new(agent);
        let runtime = RuntimeId::derive(&pane, &boot, process, &id);
        let lifetimes = REGISTRY.get(agent).unwrap().lifetimes();
        let policy = Policy { lifetimes: [(id.clone(), lifetimes)].into(), ..Policy::default() };
        let place = Place {
            session: SessionId(0),
            session_name: "main".to_owned(),
            window: WindowId(0),
            window_index: 0,
            window_name: "work".to_owned(),
            pane_index: 0,
        };
        let mut world = Self { engine: Engine::new(), runtime: runtime.clone(), seq: 0, now: 0 };
        world.apply(Fact::PolicySet { policy });
        world.apply(Fact::ServerSeen { server, target, socket: "/tmp/tmux".to_owned(), pid: 1, start_time: 0 });
        world.apply(Fact::PanePlaced { pane: pane.clone(), place });
        world.apply(Fact::RuntimeStarted { runtime, pane, agent: id, boot, process, why: String::new() });
        world
    }

    /// Lets time pass.
    pub(crate) fn after(&mut self, millis: i64) {
        self.now += millis.max(0);
    }

    /// Lets time pass in which nobody says anything.
    pub(crate) fn stand(&mut self, millis: i64) {
        self.after(millis);
        self.apply(Fact::Tick);
    }

    pub(crate) fn say(&mut self, source: Source, readings: Vec<Reading>) {
        for (place, reading) in readings.into_iter().enumerate() {
            let event_id = format!("ev_{}", self.seq);
            let signal = SignalEvent {
                source,
                source_event_id: None,
                dedupe_key: reading.key.map_or_else(|| event_id.clone(), |key| format!("{key}#{place}")),
                event_id: EventId::new(event_id),
                source_seq: None,
                emitted: Stamp { boot: BootId::new("boot"), ns: self.now as u64 * 1_000_000 },
                event_time: None,
                claim: Claim {
                    target: TargetName::local(),
                    runtime: Some(self.runtime.clone()),
                    pane: None,
                    process: None,
                    ancestors: None,
                },
                signal: reading.signal,
                message: reading.message,
                payload: None,
            };
            self.apply(Fact::Signal(Box::new(signal)));
        }
    }

    pub(crate) fn verdict(&self) -> &Verdict {
        &self.engine.state().topology.runtimes[&self.runtime].verdict
    }

    fn apply(&mut self, fact: Fact) {
        self.seq += 1;
        self.engine.apply(&Event { v: FORMAT, seq: self.seq, at: Timestamp(self.now), fact });
    }
}
