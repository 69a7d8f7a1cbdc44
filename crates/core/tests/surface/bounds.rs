//! Nothing grows for ever: an engine that runs for months holds what a bound allows and no more.

use crate::world::{World, server, signal};
use agtmux_core::binding::Pending;
use agtmux_core::engine::Disposition;
use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::id::{AgentId, BootId, PaneId, PaneKey, ProcessKey, RuntimeId, TargetName};
use agtmux_core::signal::{Blocking, InputKind, Signal};
use agtmux_core::time::Timestamp;
use agtmux_core::topology::Topology;

#[test]
fn ended_runtimes_are_forgotten_one_day() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let (agent, boot) = (AgentId::new("claude"), BootId::new("boot"));
    let lives = Topology::REMEMBERED as u32 + 100;
    let id = |pid| RuntimeId::derive(&pane, &boot, ProcessKey { pid, start: 1 }, &agent);
    for pid in 1..=lives {
        world.apply(Fact::RuntimeStarted {
            runtime: id(pid),
            pane: pane.clone(),
            agent: agent.clone(),
            boot: boot.clone(),
            process: ProcessKey { pid, start: 1 },
            why: String::new(),
        });
    }
    let topology = &world.engine.state().topology;
    assert_eq!(topology.runtimes.len(), Topology::REMEMBERED + 1, "and the one that lives");
    assert!(!topology.runtimes.contains_key(&id(1)));
    assert!(topology.runtimes.contains_key(&id(lives - 1)));
    assert_eq!(topology.living_in(&pane).unwrap().epoch, lives);
}

#[test]
fn pending_signals_make_room_for_newer_ones() {
    let mut world = World::default();
    for n in 0..Pending::CAPACITY as u64 + 50 {
        let mut event = signal(TargetName::local(), None, n, Signal::TurnStarted);
        event.claim.pane = Some(PaneKey { server: server("local"), pane: PaneId(7) });
        let fact = Fact::Signal(Box::new(event));
        let applied = world.engine.apply(&Event { v: FORMAT, seq: n, at: Timestamp(0), fact });
        assert_eq!(applied.disposition, Some(Disposition::Pending));
    }
    let pending = &world.engine.state().pending;
    assert_eq!((pending.iter().count(), pending.dropped), (Pending::CAPACITY, 50));
    assert_eq!(pending.iter().next().unwrap().seq, 50, "the oldest went first");
}

#[test]
fn a_talkative_runtime_stays_small() {
    let mut world = World::default();
    let pane = world.pane("local", "main", (0, "work"), 1);
    let runtime = world.agent(&pane, "claude", "running");
    let mut sizes = Vec::new();
    for n in 0..12_000u64 {
        let question = Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } };
        let mut event = signal(TargetName::local(), Some(runtime.clone()), 1_000 + n, question);
        event.message = (n % 3 > 0).then(|| format!("question {n}"));
        world.apply(Fact::Signal(Box::new(event)));
        if n % 4_000 == 3_999 {
            sizes.push(serde_json::to_string(world.engine.state()).unwrap().len());
        }
    }
    assert!(sizes.iter().all(|size| *size < 150_000), "{sizes:?} bytes");
}
