//! Random worlds: two targets, three panes, a few processes, and sources that say anything in any order.

use std::collections::BTreeMap;
use std::ops::Range;

use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Event, FORMAT, Fact, Health, Place, ProcessState, TargetKind};
use agtmux_core::id::{
    AgentId, BootId, EventId, IntentId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName,
    WindowId,
};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{Blocking, Cause, Claim, Composer, InputKind, Outcome, Signal, SignalEvent, Source, Work};
use agtmux_core::time::{Span, Stamp, Timestamp};
use proptest::prelude::*;

/// A statement of a source about the one runtime of [`settled_world`].
#[derive(Clone, Debug)]
pub(crate) struct Said {
    source: Source,
    signal: Signal,
    ns: u64,
    key: u32,
    seq: Option<u64>,
    message: Option<String>,
}

/// Statements that are under way at the same time, and one order in which sources might be heard.
#[derive(Clone, Debug)]
pub(crate) struct Burst {
    pub(crate) statements: Vec<Said>,
    turns: Vec<Source>,
}

impl Burst {
    /// The statements in another order, but each source's in its own.
    pub(crate) fn shuffled(&self) -> Vec<&Said> {
        let mut by_source: BTreeMap<Source, Vec<&Said>> = BTreeMap::new();
        for said in self.statements.iter().rev() {
            by_source.entry(said.source).or_default().push(said);
        }
        self.turns.iter().filter_map(|source| by_source.get_mut(source).and_then(Vec::pop)).collect()
    }
}

pub(crate) fn burst() -> impl Strategy<Value = Burst> {
    prop::collection::vec(said(), 1..12).prop_flat_map(|statements| {
        let turns: Vec<_> = statements.iter().map(|said| said.source).collect();
        Just(turns).prop_shuffle().prop_map(move |turns| Burst { statements: statements.clone(), turns })
    })
}

/// Anything a source may say. Stamps are few, so that many collide.
pub(crate) fn said() -> impl Strategy<Value = Said> {
    said_of(any_signal())
}

/// What says nothing about the state.
pub(crate) fn meaningless() -> impl Strategy<Value = Said> {
    said_of(prop_oneof![
        ".{0,8}".prop_map(|what| Signal::Unsupported { what }),
        Just(Signal::StillSo),
        Just(Signal::Withdrawn),
        composer().prop_map(|is| Signal::Composer { is }),
        (0..3u32).prop_map(|count| Signal::Background { count }),
    ])
}

/// What no rule understands, without a place in its source's order.
pub(crate) fn garbage() -> impl Strategy<Value = Said> {
    said_of(".{0,8}".prop_map(|what| Signal::Unsupported { what })).prop_map(|said| Said { ns: 0, seq: None, ..said })
}

fn said_of(signal: impl Strategy<Value = Signal>) -> impl Strategy<Value = Said> {
    let message = prop::option::of(prop_oneof![Just("a".to_owned()), Just("b".to_owned())]);
    let seq = prop::option::weighted(0.3, 0..30u64);
    (source(), signal, 0..25u64, any::<u32>(), seq, message).prop_map(|(source, signal, ns, key, seq, message)| Said {
        source,
        signal,
        ns,
        key,
        seq,
        message,
    })
}

/// Events that say these things, some seconds apart, sometimes hours, with the clock set back now and then.
pub(crate) fn log_of(said: impl Strategy<Value = Said>, size: Range<usize>) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((said, pause()), size).prop_map(|statements| {
        let mut at = 10_000;
        let number = |(n, (said, pause)): (usize, (Said, i64))| {
            at = (at + pause).max(0);
            stage(100 + n as u64, Timestamp(at), signal_event(&said, n as u64))
        };
        statements.into_iter().enumerate().map(number).collect()
    })
}

/// An engine with one runtime in one pane.
pub(crate) fn settled_world() -> Engine {
    let mut engine = Engine::new();
    let facts = [server_seen(0), placed(&pane(0)), started(&pane(0), 100, "claude")];
    for (n, fact) in facts.into_iter().enumerate() {
        engine.apply(&stage(n as u64 + 1, Timestamp(1_000), fact));
    }
    engine
}

pub(crate) fn stage(seq: u64, at: Timestamp, fact: Fact) -> Event {
    Event { v: FORMAT, seq, at, fact }
}

/// The fact that a statement about the one runtime is. `salt` keeps its key from meeting another's.
pub(crate) fn signal_event(said: &Said, salt: u64) -> Fact {
    let claim = Claim {
        target: TargetName::local(),
        runtime: Some(runtime_id(&pane(0), 100, "claude")),
        pane: None,
        process: None,
        ancestors: None,
    };
    fact_of(said, salt, claim)
}

/// A log of a world in which everything happens.
pub(crate) fn log(length: usize) -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((fact(), pause()), 5..length).prop_map(|facts| {
        let mut at = 1_000;
        let scene = [
            Fact::TargetAdded { target: TargetName::new("vm1"), kind: TargetKind::Ssh, connection: None },
            server_seen(0),
            server_seen(1),
            placed(&pane(0)),
            started(&pane(0), 100, "claude"),
        ];
        let mut log: Vec<_> = scene.into_iter().map(|fact| (fact, 0)).chain(facts).collect();
        let number = |(n, (mut fact, pause)): (usize, (Fact, i64))| {
            at = (at + pause).max(0);
            if let Fact::Signal(signal) = &mut fact {
                signal.event_id = EventId::new(format!("ev_{n}"));
            }
            stage(n as u64 + 1, Timestamp(at), fact)
        };
        log.drain(..).enumerate().map(number).collect()
    })
}

fn pause() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 0..5_000i64,
        3 => 5_000..150_000i64,
        2 => 150_000..3_000_000i64,
        1 => 3_000_000..60_000_000i64,
        1 => -4_000_000..0i64,
    ]
}

fn fact() -> impl Strategy<Value = Fact> {
    let about = || runtime().prop_map(|(pane, pid, agent)| runtime_id(&pane, pid, agent));
    prop_oneof![
        20 => (said(), claim()).prop_map(|(said, claim)| fact_of(&said, 0, claim)),
        4 => runtime().prop_map(|(pane, pid, agent)| started(&pane, pid, agent)),
        2 => any_pane().prop_map(|pane| placed(&pane)),
        1 => any_pane().prop_map(|pane| Fact::PaneGone { pane }),
        1 => (0..2usize).prop_map(server_seen),
        1 => (0..2usize).prop_map(|n| Fact::ServerGone { server: server(n) }),
        1 => about().prop_map(|runtime| Fact::RuntimeEnded { runtime, how: Ending::Exited }),
        2 => (about(), any::<bool>()).prop_map(|(runtime, stopped)| Fact::ProcessChanged {
            runtime,
            process: if stopped { ProcessState::Stopped } else { ProcessState::Alive },
        }),
        2 => about().prop_map(|runtime| Fact::Seen { runtime }),
        1 => (about(), 0..4u64).prop_map(|(runtime, nudge_seq)| Fact::Acknowledged { runtime, nudge_seq }),
        1 => (about(), 0..4u64).prop_map(|(runtime, n)| Fact::IntentDone { intent: IntentId::new(format!("notify:{runtime}:{n}")) }),
        1 => about().prop_map(|runtime| Fact::Conversation { runtime, conversation: "c1".to_owned(), cwd: None }),
        1 => about().prop_map(|runtime| Fact::Named { runtime, name: Some("builder".to_owned()) }),
        2 => (0..2usize, 0..3usize).prop_map(|(n, health)| Fact::TargetHealth {
            target: target(n),
            health: [Health::Ok, Health::Degraded, Health::Down][health],
            detail: None,
        }),
        1 => Just(Fact::TargetRemoved { target: target(1) }),
        1 => Just(Fact::TargetAdded { target: target(1), kind: TargetKind::Ssh, connection: None }),
        1 => (1..300i64, 1..60i64).prop_map(|(completed, bind)| Fact::PolicySet {
            policy: Policy { completed_for: Span::seconds(completed), bind_within: Span::seconds(bind), ..Policy::default() },
        }),
        3 => Just(Fact::Tick),
    ]
}

fn claim() -> impl Strategy<Value = Claim> {
    let process = || prop::sample::select(vec![100u32, 200, 300]).prop_map(process);
    (
        0..2usize,
        prop::option::weighted(0.4, runtime()),
        prop::option::weighted(0.8, any_pane()),
        prop::option::weighted(0.2, process()),
        prop::option::weighted(0.5, prop::collection::vec(process(), 0..3)),
    )
        .prop_map(|(n, runtime, pane, process, ancestors)| Claim {
            target: target(n),
            runtime: runtime.map(|(pane, pid, agent)| runtime_id(&pane, pid, agent)),
            pane,
            process,
            ancestors,
        })
}

fn runtime() -> impl Strategy<Value = (PaneKey, u32, &'static str)> {
    (any_pane(), prop::sample::select(vec![100u32, 200]), prop::sample::select(vec!["claude", "codex"]))
}

fn any_pane() -> impl Strategy<Value = PaneKey> {
    (0..3u32).prop_map(pane)
}

fn source() -> impl Strategy<Value = Source> {
    prop::sample::select(vec![
        Source::Hook,
        Source::Notify,
        Source::VendorFile,
        Source::Marker,
        Source::Screen,
        Source::Scrollback,
        Source::Llm,
    ])
}

fn any_signal() -> impl Strategy<Value = Signal> {
    prop_oneof![
        4 => Just(Signal::TurnStarted),
        4 => outcome().prop_map(|outcome| Signal::TurnEnded { outcome }),
        2 => Just(Signal::Idle),
        4 => blocking().prop_map(|on| Signal::Blocked { on }),
        3 => Just(Signal::Unblocked),
        3 => work().prop_map(|with| Signal::Working { with }),
        1 => Just(Signal::WorkEnded),
        1 => (0..3u32).prop_map(|count| Signal::Background { count }),
        1 => composer().prop_map(|is| Signal::Composer { is }),
        2 => Just(Signal::StillSo),
        1 => Just(Signal::Withdrawn),
        1 => Just(Signal::Unsupported { what: "?".to_owned() }),
    ]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        3 => Just(Outcome::Done),
        1 => Just(Outcome::Interrupted),
        1 => Just(Outcome::Failed { cause: Cause::RateLimit }),
        1 => Just(Outcome::Failed { cause: Cause::Network }),
    ]
}

fn blocking() -> impl Strategy<Value = Blocking> {
    prop_oneof![
        Just(Blocking::Approval { subject: Some("Bash".to_owned()), prompt_hash: None }),
        Just(Blocking::Approval { subject: None, prompt_hash: Some("1f".to_owned()) }),
        Just(Blocking::Input { kind: InputKind::Question }),
        Just(Blocking::Input { kind: InputKind::NeedsTesting }),
        Just(Blocking::Dialog { name: None }),
    ]
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        Just(Work::Thinking),
        Just(Work::Tool { name: "Bash".to_owned() }),
        Just(Work::Compacting),
        Just(Work::Retrying { cause: Cause::Network }),
    ]
}

fn composer() -> impl Strategy<Value = Composer> {
    prop_oneof![Just(Composer::Ready), Just(Composer::Draft), Just(Composer::Queued { count: 1 })]
}

fn fact_of(said: &Said, salt: u64, claim: Claim) -> Fact {
    Fact::Signal(Box::new(SignalEvent {
        event_id: EventId::new("ev"),
        source: said.source,
        source_event_id: None,
        dedupe_key: format!("{} {salt}", said.key),
        source_seq: said.seq,
        emitted: Stamp { boot: BootId::new("boot"), ns: said.ns },
        event_time: None,
        claim,
        signal: said.signal.clone(),
        message: said.message.clone(),
        payload: None,
    }))
}

pub(crate) fn started(pane: &PaneKey, pid: u32, agent: &str) -> Fact {
    Fact::RuntimeStarted {
        runtime: runtime_id(pane, pid, agent),
        pane: pane.clone(),
        agent: AgentId::new(agent),
        boot: BootId::new("boot"),
        process: process(pid),
        why: "comm".to_owned(),
    }
}

pub(crate) fn placed(pane: &PaneKey) -> Fact {
    let place = Place {
        session: SessionId(0),
        session_name: "main".to_owned(),
        window: WindowId(0),
        window_index: 0,
        window_name: "work".to_owned(),
        pane_index: pane.pane.0,
    };
    Fact::PanePlaced { pane: pane.clone(), place }
}

pub(crate) fn server_seen(n: usize) -> Fact {
    Fact::ServerSeen { server: server(n), target: target(n), socket: "/tmp/tmux".to_owned(), pid: 1, start_time: 0 }
}

pub(crate) fn runtime_id(pane: &PaneKey, pid: u32, agent: &str) -> RuntimeId {
    RuntimeId::derive(pane, &BootId::new("boot"), process(pid), &AgentId::new(agent))
}

fn process(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: u64::from(pid) }
}

/// The third pane is on the other target.
pub(crate) fn pane(n: u32) -> PaneKey {
    PaneKey { server: server(n as usize / 2), pane: PaneId(n) }
}

fn server(n: usize) -> ServerId {
    ServerId::derive(&target(n), "/tmp/tmux", 1, 0)
}

fn target(n: usize) -> TargetName {
    if n == 0 { TargetName::local() } else { TargetName::new("vm1") }
}
