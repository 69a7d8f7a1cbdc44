//! How many signals a second the engine takes in, with 500 agents and three sources each.
//!
//! `cargo run --release -p agtmux-core --example throughput`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a measurement reads a clock and prints; the engine does neither"
)]

use std::time::Instant;

use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact, Place};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::signal::{Blocking, Claim, Outcome, Signal, SignalEvent, Source, Work};
use agtmux_core::time::{Stamp, Timestamp};

const AGENTS: u32 = 500;
const SIGNALS: u64 = 1_000_000;
const BATCH: usize = 2_000;

fn main() {
    let mut engine = Engine::new();
    for event in scene() {
        engine.apply(&event);
    }
    let log: Vec<_> = (0..SIGNALS).map(|n| event(10_000 + n, Fact::Signal(Box::new(signal(n))))).collect();
    // Other work on the machine slows some batches and quickens none.
    let mut rates: Vec<_> = log.chunks(BATCH).map(|batch| rate(&mut engine, batch)).collect();
    rates.sort_by(f64::total_cmp);
    println!(
        "signals/s in batches of {BATCH}: median {:.0}, best {:.0}",
        rates[rates.len() / 2],
        rates[rates.len() - 1]
    );
}

fn rate(engine: &mut Engine, batch: &[Event]) -> f64 {
    let start = Instant::now();
    for event in batch {
        engine.apply(event);
    }
    batch.len() as f64 / start.elapsed().as_secs_f64()
}

fn scene() -> Vec<Event> {
    let target = TargetName::local();
    let server = ServerId::derive(&target, "/tmp/tmux", 1, 0);
    let seen = Fact::ServerSeen { server, target, socket: "/tmp/tmux".to_owned(), pid: 1, start_time: 0 };
    let mut facts = vec![seen];
    for n in 0..AGENTS {
        let (agent, boot, process) = (AgentId::new("claude"), BootId::new("boot"), process(n));
        let runtime = RuntimeId::derive(&pane(n), &boot, process, &agent);
        facts.push(Fact::PanePlaced { pane: pane(n), place: place(n) });
        facts.push(Fact::RuntimeStarted { runtime, pane: pane(n), agent, boot, process, why: "comm".to_owned() });
    }
    facts.into_iter().zip(1..).map(|(fact, seq)| event(seq, fact)).collect()
}

fn event(seq: u64, fact: Fact) -> Event {
    Event { v: FORMAT, seq, at: Timestamp(seq as i64 / 20), fact }
}

fn signal(n: u64) -> SignalEvent {
    let agent = (n % u64::from(AGENTS)) as u32;
    let round = n / u64::from(AGENTS);
    let tool = || Signal::Working { with: Work::Tool { name: "Bash".to_owned() } };
    let (source, signal) = match round % 8 {
        0 => (Source::Hook, Signal::TurnStarted),
        1 | 3 => (Source::Hook, tool()),
        2 => (Source::Screen, Signal::TurnStarted),
        4 => (Source::Hook, Signal::Blocked { on: Blocking::Approval { subject: None, prompt_hash: None } }),
        5 => (Source::VendorFile, Signal::Unblocked),
        6 => (Source::Screen, Signal::StillSo),
        _ => (Source::Hook, Signal::TurnEnded { outcome: Outcome::Done }),
    };
    SignalEvent {
        event_id: EventId::new(format!("ev_{n}")),
        source,
        source_event_id: None,
        dedupe_key: format!("key_{n}"),
        source_seq: Some(n),
        emitted: Stamp { boot: BootId::new("boot"), ns: n },
        event_time: None,
        claim: Claim {
            target: TargetName::local(),
            runtime: None,
            pane: Some(pane(agent)),
            process: None,
            ancestors: Some(vec![ProcessKey { pid: 9, start: n }, process(agent)]),
        },
        signal,
        message: None,
        payload: None,
    }
}

fn pane(n: u32) -> PaneKey {
    PaneKey { server: ServerId::derive(&TargetName::local(), "/tmp/tmux", 1, 0), pane: PaneId(n) }
}

fn process(n: u32) -> ProcessKey {
    ProcessKey { pid: 1_000 + n, start: 1 }
}

fn place(n: u32) -> Place {
    Place {
        session: SessionId(0),
        session_name: "main".to_owned(),
        window: WindowId(n),
        window_index: n,
        window_name: "work".to_owned(),
        pane_index: 0,
    }
}
