//! What the store promises, tried out on real files.

mod audit;
mod crash;
mod disk_full;
mod migration;
mod ownership;
mod power;
mod redaction;
mod refusal;
mod retaining;
mod round_trip;
mod throughput;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use agtmux_core::action::Verb;
use agtmux_core::engine::EngineState;
use agtmux_core::event::{Ending, Event, FORMAT, Fact, Health, Place, ProcessState, TargetKind};
use agtmux_core::id::{
    ActionId, AgentId, BootId, EventId, IntentId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId,
    TargetName, WindowId,
};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{Claim, Evidence, Signal, SignalEvent, Source};
use agtmux_core::state::{Confidence, State, Verdict};
use agtmux_core::time::{Stamp, Timestamp};
use rusqlite::Connection;
use tempfile::TempDir;

use super::*;

const BOOT: &str = "boot-1";

fn state_dir() -> TempDir {
    tempfile::Builder::new().permissions(Permissions::from_mode(0o700)).tempdir().unwrap()
}

fn open_default(dir: &Path) -> Opened {
    open(dir, Options::default(), BOOT).unwrap()
}

fn event(seq: u64, fact: Fact) -> Event {
    Event { v: FORMAT, seq, at: Timestamp(1_700_000_000_000 + seq.cast_signed()), fact }
}

fn ticks(seqs: impl IntoIterator<Item = u64>) -> Batch {
    Batch { events: seqs.into_iter().map(|seq| event(seq, Fact::Tick)).collect(), ..Batch::default() }
}

fn runtime_id() -> RuntimeId {
    RuntimeId::new("rt_abcdefghijklmnop")
}

fn pane_key() -> PaneKey {
    PaneKey { server: ServerId::new("srv_abcdefghijklmnop"), pane: PaneId(3) }
}

fn place() -> Place {
    Place {
        session: SessionId(0),
        session_name: "main".into(),
        window: WindowId(1),
        window_index: 0,
        window_name: "agents".into(),
        pane_index: 2,
    }
}

fn signal(seq: u64, message: Option<&str>, payload: Option<&str>) -> Event {
    event(
        seq,
        Fact::Signal(Box::new(SignalEvent {
            event_id: EventId::new(format!("ev-{seq}")),
            source: Source::Hook,
            source_event_id: Some("Stop".into()),
            dedupe_key: format!("key-{seq}"),
            source_seq: Some(seq * 1_000),
            emitted: Stamp { boot: BootId::new(BOOT), ns: seq * 1_000 },
            event_time: Some(Timestamp(1_700_000_000_000)),
            claim: Claim {
                target: TargetName::new("local"),
                runtime: None,
                pane: Some(pane_key()),
                process: None,
                ancestors: Some(vec![ProcessKey { pid: 42, start: 4_242 }]),
            },
            signal: Signal::TurnStarted,
            message: message.map(str::to_owned),
            payload: payload.map(str::to_owned),
        })),
    )
}

/// One of every fact but the checkpoint, which is the business of retention.
fn one_of_each() -> Vec<Event> {
    let target = TargetName::new("local");
    let runtime = runtime_id();
    let server = pane_key().server;
    let facts = [
        Fact::PolicySet { policy: Policy::default() },
        Fact::TargetAdded { target: target.clone(), kind: TargetKind::Local, connection: None },
        Fact::TargetHealth { target: target.clone(), health: Health::Degraded, detail: Some("slow".into()) },
        Fact::ServerSeen {
            server: server.clone(),
            target: target.clone(),
            socket: "/tmp/tmux-1000/default".into(),
            pid: 1_234,
            start_time: 1_700_000_000,
        },
        Fact::PanePlaced { pane: pane_key(), place: place() },
        Fact::RuntimeStarted {
            runtime: runtime.clone(),
            pane: pane_key(),
            agent: AgentId::new("claude"),
            boot: BootId::new(BOOT),
            process: ProcessKey { pid: 42, start: 4_242 },
            why: "its executable is claude".into(),
        },
        Fact::ProcessChanged { runtime: runtime.clone(), process: ProcessState::Stopped },
        Fact::Seen { runtime: runtime.clone() },
        Fact::Acknowledged { runtime: runtime.clone(), nudge_seq: 7 },
        Fact::Named { runtime: runtime.clone(), name: Some("reviewer".into()) },
        Fact::IntentDone { intent: IntentId::new("intent-1") },
        Fact::Refused { what: "send".into(), code: "E_RUNTIME_STALE".into(), detail: "it has ended".into() },
        Fact::Tick,
        Fact::RuntimeEnded { runtime, how: Ending::Exited },
        Fact::PaneGone { pane: pane_key() },
        Fact::ServerGone { server },
        Fact::TargetRemoved { target },
    ];
    let mut events: Vec<Event> = facts.into_iter().zip(1..).map(|(fact, seq)| event(seq, fact)).collect();
    events.push(signal(events.len() as u64 + 1, Some("all done"), Some("{\"hook\":\"Stop\"}")));
    events
}

/// One row of every table.
fn rows() -> Vec<Row> {
    let at = Timestamp(1_700_000_000_000);
    let target = TargetName::new("local");
    let server = pane_key().server;
    // Children first: the order within a batch must not matter.
    vec![
        Row::State(state_row(State::Running, 1)),
        Row::Cursor(CursorRow {
            runtime: runtime_id(),
            source: Source::Hook,
            source_seq: Some(17_000),
            event_time: Some(at),
            ingested_at: at,
            event_id: EventId::new("ev-17"),
        }),
        Row::Pane(PaneRow { pane: pane_key(), place: place(), updated_at: at }),
        Row::Server(ServerRow {
            server,
            target: target.clone(),
            socket: "/tmp/tmux-1000/default".into(),
            pid: 1_234,
            start_time: 1_700_000_000,
            updated_at: at,
        }),
        Row::Target(TargetRow {
            target: target.clone(),
            kind: TargetKind::Local,
            connection: None,
            is_default: true,
            health: Health::Ok,
            last_seen_at: Some(at),
            updated_at: at,
        }),
        Row::Runtime(RuntimeRow {
            runtime: runtime_id(),
            target,
            pane: pane_key(),
            epoch: 1,
            agent: AgentId::new("claude"),
            boot: BootId::new(BOOT),
            process: ProcessKey { pid: 42, start: u64::MAX },
            started_at: at,
        }),
        Row::Adapter(AdapterRow {
            name: "claude".into(),
            agent: AgentId::new("claude"),
            version: "1".into(),
            capabilities: serde_json::json!({"supports_completed": true}),
            enabled: true,
            updated_at: at,
        }),
        Row::ActionSnapshot(ActionSnapshotRow {
            action: ActionId::new("act_0123456789abcdef"),
            verb: Verb::Send,
            target: TargetName::new("local"),
            server_pid: 1_234,
            server_start: 1_700_000_000,
            pane: pane_key(),
            runtime: Some(runtime_id()),
            state_version: Some(7),
            observed_at: at,
            expires_at: Timestamp(at.0 + 60_000),
        }),
    ]
}

fn state_row(state: State, version: u64) -> StateRow {
    StateRow {
        runtime: runtime_id(),
        verdict: Verdict {
            state,
            reason: "turn_active".into(),
            confidence: Confidence::High,
            evidence: Some(Evidence::Reported),
            source: Some(Source::Hook),
            since: Timestamp(1_700_000_000_000),
            message: Some("thinking".into()),
        },
        version,
        last_seen_at: None,
        updated_at: Timestamp(1_700_000_000_000),
    }
}

fn engine_state() -> EngineState {
    EngineState::default()
}

/// A connection as a person with a `sqlite3` shell would have it.
fn shell(dir: &Path) -> Connection {
    Connection::open(dir.join("agtmux.db")).unwrap()
}

fn integrity(dir: &Path) -> String {
    shell(dir).query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

fn logged_seqs(dir: &Path) -> Vec<u64> {
    let connection = shell(dir);
    let mut statement = connection.prepare("SELECT seq FROM events ORDER BY seq").unwrap();
    let seqs = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    seqs.map(|seq| seq.unwrap().cast_unsigned()).collect()
}
