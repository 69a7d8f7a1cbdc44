//! One event of every kind, with every field filled in somewhere.

use std::collections::BTreeMap;

use agtmux_core::action::{ActionFact, Actor, AimedAt, Conditions, Snapshot, Step, Verb};
use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Event, Fact, Health, Place, ProcessState, TargetKind};
use agtmux_core::id::{
    ActionId, AgentId, BootId, EventId, IntentId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId,
    TargetName, WindowId,
};
use agtmux_core::mail::{Category, DeliveryId, Letter, MailFact, MailId, Mode, Party, Receipt, Wanted};
use agtmux_core::policy::{FactKind, Lifetime, Policy};
use agtmux_core::prompt::Prompt;
use agtmux_core::signal::{Blocking, Cause, Claim, Composer, Outcome, Signal, SignalEvent, Source, Work};
use agtmux_core::state::State;
use agtmux_core::time::{Span, Stamp, Timestamp};

pub(crate) fn events() -> Vec<Event> {
    let mut facts = topology();
    facts.extend(signals().into_iter().enumerate().map(|(n, signal)| Fact::Signal(Box::new(signal_event(n, signal)))));
    facts.extend(people());
    facts.extend(mail());
    // What came later comes last: the numbers of the others are in their files.
    facts.push(Fact::Session { runtime: runtime(), session: "claude-1f0c33aa".to_owned() });
    let mut events: Vec<_> = facts.into_iter().zip(1..).map(|(fact, seq)| event(seq, fact)).collect();
    let mut engine = Engine::new();
    for event in events.iter().take(20) {
        engine.apply(event);
    }
    events.push(event(100, Fact::Checkpoint { state: Box::new(engine.state().clone()) }));
    events
}

fn event(seq: u64, fact: Fact) -> Event {
    Event { v: 1, seq, at: Timestamp(1_760_000_000_000 + seq as i64), fact }
}

fn topology() -> Vec<Fact> {
    let lifetime = Lifetime { fact: FactKind::TurnActive, source: Source::Screen, holds: Span::seconds(90) };
    let policy = Policy {
        completed_for: Span::seconds(60),
        bind_within: Span::seconds(5),
        lifetimes: BTreeMap::from([(AgentId::new("codex"), vec![lifetime])]),
        ..Policy::default()
    };
    let vm1 = TargetName::new("vm1");
    let closed = PaneKey { pane: PaneId(9), ..pane() };
    vec![
        Fact::PolicySet { policy },
        Fact::TargetAdded { target: vm1.clone(), kind: TargetKind::Ssh, connection: Some("vm1.example".to_owned()) },
        Fact::TargetHealth { target: vm1.clone(), health: Health::Down, detail: Some("no route to host".to_owned()) },
        Fact::TargetRemoved { target: vm1 },
        Fact::ServerSeen {
            server: server(),
            target: TargetName::local(),
            socket: "/tmp/tmux-1000/default".to_owned(),
            pid: 4_242,
            start_time: 1_759_999_000,
        },
        Fact::PanePlaced { pane: pane(), place: place() },
        Fact::PaneGone { pane: closed },
        Fact::ServerGone { server: ServerId::derive(&TargetName::local(), "/tmp/other", 1, 2) },
        Fact::RuntimeStarted {
            runtime: runtime(),
            pane: pane(),
            agent: AgentId::new("claude"),
            boot: boot(),
            process: process(),
            why: "comm is claude".to_owned(),
        },
        Fact::ProcessChanged { runtime: runtime(), process: ProcessState::Stopped },
        Fact::Named { runtime: runtime(), name: Some("builder".to_owned()) },
    ]
}

fn signals() -> Vec<Signal> {
    let approval = Blocking::Approval { subject: Some("Bash".to_owned()), prompt_hash: Some("9f86d081".to_owned()) };
    vec![
        Signal::TurnStarted,
        Signal::Blocked { on: approval },
        Signal::Unblocked,
        Signal::Working { with: Work::Tool { name: "Bash".to_owned() } },
        Signal::WorkEnded,
        Signal::Background { count: 2 },
        Signal::Composer { is: Composer::Queued { count: 1 } },
        Signal::StillSo,
        Signal::TurnEnded { outcome: Outcome::Failed { cause: Cause::RateLimit } },
        Signal::Idle,
        Signal::Unsupported { what: "hook_event_name: Later".to_owned() },
        Signal::Withdrawn,
    ]
}

fn people() -> Vec<Fact> {
    vec![
        Fact::Seen { runtime: runtime() },
        Fact::Acknowledged { runtime: runtime(), nudge_seq: 1 },
        Fact::IntentDone { intent: IntentId::new(format!("notify:{}:1", runtime())) },
        Fact::Refused {
            what: "send".to_owned(),
            code: "E_RUNTIME_STALE".to_owned(),
            detail: "the runtime is over".to_owned(),
        },
        Fact::Tick,
        Fact::RuntimeEnded { runtime: runtime(), how: Ending::Exited },
        action(Step::Prepared { snapshot: Box::new(snapshot()) }),
        action(Step::Started { detail: "send 12 bytes".to_owned() }),
        action(Step::Done { result: "submitted".to_owned() }),
        action(Step::Failed { code: "E_TIMEOUT".to_owned(), message: "tmux did not answer".to_owned() }),
        action(Step::Refused {
            verb: Verb::ViewOutput,
            reference: "api".to_owned(),
            code: "E_REF_NOT_FOUND".to_owned(),
            message: "nothing matches \"api\"".to_owned(),
        }),
        action(Step::Permitted { verb: Verb::Spawn, reference: "claude".to_owned() }),
        Fact::Conversation {
            runtime: runtime(),
            conversation: "aa04c1f2-88f3".to_owned(),
            cwd: Some("/home/me/proj".to_owned()),
        },
    ]
}

fn mail() -> Vec<Fact> {
    let (delivery, id) = (DeliveryId::new("dl_1"), MailId::parse("m_1").unwrap());
    let letter = Letter {
        id: id.clone(),
        to: runtime(),
        to_name: "api".to_owned(),
        from: Party::Agent { runtime: RuntimeId::new("rt_b"), name: "lead".to_owned() },
        mode: Mode::Important,
        category: Category::Mail,
        bytes: 5,
        digest: Letter::digest_of("hello"),
        preview: "hello".to_owned(),
        queued_at: Timestamp(1_760_000_000_000),
        timeout: Some(Span::minutes(5)),
        reply_to: Some(MailId::parse("m_0").unwrap()),
        hops: 1,
        not_before: None,
        every: None,
        wanted: Wanted::default(),
        series: None,
        again: None,
        command: false,
    };
    let steps = [
        MailFact::Opened { runtime: runtime(), nonce: "k7f3".to_owned() },
        MailFact::Queued { letter: Box::new(letter) },
        MailFact::Leased { delivery: delivery.clone(), runtime: runtime(), letters: vec![id.clone()] },
        MailFact::Started { delivery: delivery.clone() },
        MailFact::Returned { delivery: delivery.clone(), why: "somebody types".to_owned() },
        MailFact::Submitted {
            delivery: delivery.clone(),
            channel: "wrapper".to_owned(),
            evidence: "it left the composer".to_owned(),
        },
        MailFact::Unconfirmed { delivery: delivery.clone(), why: "the daemon ended while it was typed".to_owned() },
        MailFact::Confirmed { letters: vec![id.clone()], by: Receipt::Hook },
        MailFact::Cancelled { id, by: "by uid 1000".to_owned() },
        MailFact::Busy {
            runtime: runtime(),
            reason: "the build runs".to_owned(),
            until: Timestamp(1_760_003_600_000),
            by: "by rt_a".to_owned(),
        },
        MailFact::Ready { runtime: runtime(), by: "by rt_a".to_owned() },
        MailFact::Interrupted { delivery: delivery.clone() },
        MailFact::Offered { delivery: delivery.clone() },
        MailFact::InTheWay {
            delivery: delivery.clone(),
            digest: "draft_a".to_owned(),
            again: Span::seconds(5),
            stuck: None,
        },
        MailFact::SetAside { delivery },
        MailFact::PutBack { runtime: runtime() },
    ];
    steps.into_iter().map(|step| Fact::Mail(Box::new(step))).collect()
}

fn action(step: Step) -> Fact {
    let actor = Actor {
        uid: 1_000,
        pid: Some(6_000),
        program: Some("agtmux".to_owned()),
        agent: Some(runtime()),
        known_by: None,
    };
    Fact::Action(Box::new(ActionFact { action: ActionId::new("act_1"), actor, step }))
}

fn snapshot() -> Snapshot {
    Snapshot {
        action: ActionId::new("act_1"),
        verb: Verb::Approve,
        reference: "api".to_owned(),
        conditions: Conditions {
            runtime: Some("rt_a".to_owned()),
            state: Some(State::WaitingApproval),
            updated_within: Some(Span::minutes(5)),
            prompt: Some("p_1".to_owned()),
            force_stale: false,
        },
        target: TargetName::local(),
        socket: "/tmp/tmux-1000/default".to_owned(),
        server_pid: 4_242,
        server_start: 1_759_999_000,
        pane: pane(),
        runtime: Some(AimedAt {
            runtime: runtime(),
            agent: AgentId::new("claude"),
            process: process(),
            state: State::WaitingApproval,
            state_version: 7,
            prompt: Some(Prompt {
                subject: Some("Bash: rm -r build".to_owned()),
                hash: "p_1".to_owned(),
                tellings: Vec::new(),
            }),
        }),
        observed_at: Timestamp(1_760_000_000_000),
        expires_at: Timestamp(1_760_000_060_000),
    }
}

fn signal_event(n: usize, signal: Signal) -> SignalEvent {
    SignalEvent {
        event_id: EventId::new(format!("0199b2c4-0000-7000-8000-{n:012}")),
        source: Source::Hook,
        source_event_id: Some("PreToolUse".to_owned()),
        dedupe_key: format!("toolu_{n}"),
        source_seq: Some(n as u64),
        emitted: Stamp { boot: boot(), ns: 1_000_000 + n as u64 },
        event_time: Some(Timestamp(1_759_999_999_000)),
        claim: Claim {
            target: TargetName::local(),
            runtime: None,
            pane: Some(pane()),
            process: Some(process()),
            ancestors: Some(vec![ProcessKey { pid: 9_000, start: 88_000 }, process()]),
        },
        signal,
        message: Some("Räum auf: rm -r build".to_owned()),
        payload: Some("{\"tool_name\":\"Bash\"}".to_owned()),
    }
}

fn runtime() -> RuntimeId {
    RuntimeId::derive(&pane(), &boot(), process(), &AgentId::new("claude"))
}

fn pane() -> PaneKey {
    PaneKey { server: server(), pane: PaneId(3) }
}

fn server() -> ServerId {
    ServerId::derive(&TargetName::local(), "/tmp/tmux-1000/default", 4_242, 1_759_999_000)
}

fn place() -> Place {
    Place {
        session: SessionId(0),
        session_name: "work/öl".to_owned(),
        window: WindowId(1),
        window_index: 2,
        window_name: "api".to_owned(),
        pane_index: 0,
    }
}

fn process() -> ProcessKey {
    ProcessKey { pid: 5_000, start: 77_000 }
}

fn boot() -> BootId {
    BootId::new("6c0a3c1e-9d5c-4f6a-8a53-2f0f4b8f2d11")
}
