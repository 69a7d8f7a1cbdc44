//! A small world for tests of what is read from an engine and asked of it.

use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact, Health, Place, TargetKind};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::signal::{Claim, Signal, SignalEvent, Source, from_state_name};
use agtmux_core::time::{Stamp, Timestamp};

/// An engine and a log position.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    seq: u64,
    /// The steps of messages that were told of.
    steps: Vec<String>,
}

impl World {
    pub(crate) fn apply(&mut self, fact: Fact) {
        self.apply_at(Timestamp((self.seq + 1) as i64 * 1_000), fact);
    }

    pub(crate) fn apply_at(&mut self, at: Timestamp, fact: Fact) {
        self.seq += 1;
        let applied = self.engine.apply(&Event { v: FORMAT, seq: self.seq, at, fact });
        self.steps.extend(applied.mail_steps.iter().map(|step| format!("{} {}", step.id, step.step.to)));
    }

    /// The steps of messages that are told of while something happens.
    pub(crate) fn heard(&mut self, happens: impl FnOnce(&mut Self)) -> Vec<String> {
        self.steps.clear();
        happens(self);
        std::mem::take(&mut self.steps)
    }

    pub(crate) fn target(&mut self, name: &str) {
        let target = TargetName::new(name);
        self.apply(Fact::TargetAdded { target: target.clone(), kind: TargetKind::Ssh, connection: None });
        self.apply(Fact::TargetHealth { target, health: Health::Ok, detail: None });
    }

    /// A pane `%n` in window `@n` of a session; servers come up as they are needed, one per target.
    pub(crate) fn pane(&mut self, target: &str, session: &str, (index, name): (u32, &str), n: u32) -> PaneKey {
        let pane = PaneKey { server: server(target), pane: PaneId(n) };
        self.apply(Fact::ServerSeen {
            server: pane.server.clone(),
            target: TargetName::new(target),
            socket: "/tmp/tmux".to_owned(),
            pid: 1,
            start_time: 0,
        });
        let place = Place {
            session: SessionId(0),
            session_name: session.to_owned(),
            window: WindowId(n),
            window_index: index,
            window_name: name.to_owned(),
            pane_index: 0,
        };
        self.apply(Fact::PanePlaced { pane: pane.clone(), place });
        pane
    }

    /// An agent in a pane, in the state that a name stands for.
    pub(crate) fn agent(&mut self, pane: &PaneKey, agent: &str, state: &str) -> RuntimeId {
        let runtime = self.silent_agent(pane, agent);
        let target = self.engine.state().topology.target_of(pane).cloned().unwrap();
        let event = signal(target, Some(runtime.clone()), self.seq, from_state_name(state).unwrap());
        self.apply(Fact::Signal(Box::new(event)));
        runtime
    }

    /// Has an agent say what it is doing now.
    pub(crate) fn say(&mut self, runtime: &RuntimeId, state: &str) {
        let target = self.engine.state().topology.runtimes[runtime].target.clone();
        let event = signal(target, Some(runtime.clone()), self.seq, from_state_name(state).unwrap());
        self.apply(Fact::Signal(Box::new(event)));
    }

    /// An agent in a pane of which nothing has been heard.
    pub(crate) fn silent_agent(&mut self, pane: &PaneKey, agent: &str) -> RuntimeId {
        let (agent, boot) = (AgentId::new(agent), BootId::new("boot"));
        let process = ProcessKey { pid: 100 + pane.pane.0, start: 1 };
        let runtime = RuntimeId::derive(pane, &boot, process, &agent);
        let why = "test".to_owned();
        self.apply(Fact::RuntimeStarted { runtime: runtime.clone(), pane: pane.clone(), agent, boot, process, why });
        runtime
    }
}

pub(crate) fn server(target: &str) -> ServerId {
    ServerId::derive(&TargetName::new(target), "/tmp/tmux", 1, 0)
}

pub(crate) fn signal(target: TargetName, runtime: Option<RuntimeId>, n: u64, signal: Signal) -> SignalEvent {
    SignalEvent {
        event_id: EventId::new(format!("ev_{n}")),
        source: Source::Hook,
        source_event_id: None,
        dedupe_key: n.to_string(),
        source_seq: None,
        emitted: Stamp { boot: BootId::new("boot"), ns: n },
        event_time: None,
        claim: Claim { target, runtime, pane: None, process: None, ancestors: None },
        signal,
        message: None,
        payload: None,
    }
}
