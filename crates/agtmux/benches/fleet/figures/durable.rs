//! How many events a second are kept durably: through the daemon's API, and by the store's writer alone.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use agtmux::store::{self, Batch, Options, PaneRow, Row, RuntimeRow, ServerRow, StateRow, Synchronous, TargetRow};
use agtmux_core::engine::Disposition;
use agtmux_core::event::{Event, FORMAT, Fact, Health, Place, TargetKind};
use agtmux_core::id::{
    AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, SessionId, TargetName, WindowId,
};
use agtmux_core::signal::{Claim, Evidence, Signal, SignalEvent, Source};
use agtmux_core::state::{Confidence, State, Verdict};
use agtmux_core::time::{Stamp, Timestamp};
use agtmux_wire::list::PaneItem;
use anyhow::{Context, Result};
use serde_json::json;
use tokio::task::JoinSet;

use crate::cleanup;
use crate::daemon::Daemon;
use crate::http::Connection;
use crate::report::{Figure, Goal, Report};
use crate::stats::median;

/// How many clients post at once.
const CONNECTIONS: usize = 64;

/// What one client posts or asks. The daemon grants a burst of 20,000 requests before it slows a client down.
const REQUESTS: usize = 100;

/// How long the grant takes to be whole again.
const REGAIN: Duration = Duration::from_secs(2);

/// How many events are committed together when the writer is measured alone.
const BATCH: u64 = 1_000;

/// How many events a second the writer has to keep.
const GOAL: f64 = 20_000.0;

const PAYLOAD: &str = r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","cwd":"/home/me/project","tool_input":{"command":"cargo test"}}"#;

/// Needs a daemon that has settled.
pub(crate) async fn through_daemon(
    daemon: &Daemon,
    agents: &[PaneItem],
    rounds: usize,
    report: &mut Report,
) -> Result<()> {
    let (mut posts, mut nothings) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        posts.push(rate(daemon, agents, Request::Post).await?);
        tokio::time::sleep(REGAIN).await;
        nothings.push(rate(daemon, agents, Request::Health).await?);
        tokio::time::sleep(REGAIN).await;
    }
    let (post, nothing) = (median(posts), median(nothings));
    report.add(Figure {
        name: format!("durable events by `POST /v1/events`, {CONNECTIONS} connections, {} agents", agents.len()),
        measured: format!("{post:.0}/s"),
        baseline: format!("`GET /v1/health` on the same connections: {nothing:.0}/s"),
        ratio: Some(post / nothing),
        goal: None,
    });
    Ok(())
}

#[derive(Clone, Copy)]
enum Request {
    Post,
    Health,
}

async fn rate(daemon: &Daemon, agents: &[PaneItem], request: Request) -> Result<f64> {
    let mut clients = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(daemon.client.socket()).await?);
    }
    let since = Instant::now();
    for (client, mut connection) in connections.into_iter().enumerate() {
        let agent = agents.get(client % agents.len()).context("there are no agents")?.runtime_id.clone();
        clients.spawn(async move {
            for run in 0..REQUESTS {
                match request {
                    Request::Post => {
                        let state = if run % 2 == 0 { "running" } else { "idle" };
                        let body = json!({ "state": state, "message": format!("run {run}"), "runtime_id": agent });
                        connection.post("/v1/events", &body).await?;
                    }
                    Request::Health => {
                        connection.get("/v1/health").await?;
                    }
                }
            }
            Ok::<_, anyhow::Error>(())
        });
    }
    while let Some(client) = clients.join_next().await {
        client??;
    }
    Ok((CONNECTIONS * REQUESTS) as f64 / since.elapsed().as_secs_f64())
}

/// The writer by itself, without daemon, engine or API.
pub(crate) async fn by_writer(batches: u64, rounds: usize, report: &mut Report) -> Result<()> {
    for synchronous in [Synchronous::Normal, Synchronous::Full] {
        let (mut store, mut plain) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let dir = tempfile::Builder::new().prefix("agtmux-bench-").tempdir()?;
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700))?;
            cleanup::register_directory(dir.path());
            store.push(stored(dir.path(), synchronous, batches).await?);
            plain.push(appended(&dir.path().join("plain"), synchronous, batches)?);
            cleanup::remove(dir.path());
        }
        let (store, plain) = (median(store), median(plain));
        let (mode, sync) = match synchronous {
            Synchronous::Normal => ("NORMAL", "no sync"),
            Synchronous::Full => ("FULL", "fdatasync per batch"),
        };
        report.add(Figure {
            name: format!("durable events by the writer, {mode}, batches of {BATCH}"),
            measured: format!("{store:.0}/s"),
            baseline: format!("the same JSON appended to a file, {sync}: {plain:.0}/s"),
            ratio: Some(store / plain),
            goal: Goal::new(format!("≥ {GOAL:.0}/s"), store >= GOAL),
        });
    }
    Ok(())
}

async fn stored(dir: &Path, synchronous: Synchronous, batches: u64) -> Result<f64> {
    let opened = store::open(dir, Options { synchronous, ..Options::default() }, "bench")?;
    opened.writer.append(Batch { projection: ground_rows(), ..Batch::default() }).await?;
    let work: Vec<_> = (0..batches).map(batch).map(with_rows).collect();
    let since = Instant::now();
    for batch in work {
        opened.writer.append(batch).await?;
    }
    let rate = (batches * BATCH) as f64 / since.elapsed().as_secs_f64();
    opened.writer.close().await?;
    Ok(rate)
}

fn appended(path: &Path, synchronous: Synchronous, batches: u64) -> Result<f64> {
    let work: Vec<_> = (0..batches).map(batch).collect();
    let mut file = File::create(path)?;
    let since = Instant::now();
    for events in &work {
        file.write_all(&serde_json::to_vec(events)?)?;
        if synchronous == Synchronous::Full {
            file.sync_data()?;
        }
    }
    Ok((batches * BATCH) as f64 / since.elapsed().as_secs_f64())
}

/// Signals with a message and a payload, as hooks bring them.
fn batch(number: u64) -> Vec<Event> {
    let first = number * BATCH + 1;
    (first..first + BATCH)
        .map(|seq| Event { v: FORMAT, seq, at: at(seq), fact: Fact::Signal(Box::new(signal(seq))) })
        .collect()
}

fn signal(seq: u64) -> SignalEvent {
    SignalEvent {
        event_id: EventId::new(format!("event-{seq}")),
        source: Source::Hook,
        source_event_id: Some("PostToolUse".into()),
        dedupe_key: format!("key-{seq}"),
        source_seq: Some(seq),
        emitted: Stamp { boot: BootId::new("bench"), ns: seq },
        event_time: Some(at(seq)),
        claim: Claim {
            target: TargetName::new("local"),
            runtime: None,
            pane: Some(pane()),
            process: None,
            ancestors: None,
        },
        signal: Signal::TurnStarted,
        message: Some("running the tests".into()),
        payload: Some(PAYLOAD.into()),
    }
}

fn at(seq: u64) -> Timestamp {
    Timestamp(1_700_000_000_000 + seq.cast_signed())
}

/// The rows that the daemon keeps up to date with each signal.
fn with_rows(events: Vec<Event>) -> Batch {
    let rows = events.iter().flat_map(|event| {
        let disposition = Disposition::Bound { runtime: runtime() };
        [Row::State(state_row(event.seq)), Row::Disposition { seq: event.seq, disposition }]
    });
    Batch { projection: rows.collect(), events, ..Batch::default() }
}

fn state_row(seq: u64) -> StateRow {
    StateRow {
        runtime: runtime(),
        verdict: Verdict {
            state: State::Running,
            reason: "turn_active".into(),
            confidence: Confidence::High,
            evidence: Some(Evidence::Reported),
            source: Some(Source::Hook),
            since: at(seq),
            message: Some("running the tests".into()),
        },
        version: seq,
        last_seen_at: None,
        updated_at: at(seq),
    }
}

/// What the rows of a signal refer to.
fn ground_rows() -> Vec<Row> {
    let target = TargetName::new("local");
    vec![
        Row::Target(TargetRow {
            target: target.clone(),
            kind: TargetKind::Local,
            connection: None,
            is_default: true,
            health: Health::Ok,
            last_seen_at: None,
            updated_at: at(0),
        }),
        Row::Server(ServerRow {
            server: pane().server,
            target: target.clone(),
            socket: "/tmp/tmux-1000/default".into(),
            pid: 1_234,
            start_time: 1_700_000_000,
            updated_at: at(0),
        }),
        Row::Pane(PaneRow { pane: pane(), place: place(), updated_at: at(0) }),
        Row::Runtime(RuntimeRow {
            runtime: runtime(),
            target,
            pane: pane(),
            epoch: 1,
            agent: AgentId::new("claude"),
            boot: BootId::new("bench"),
            process: ProcessKey { pid: 42, start: 4_242 },
            started_at: at(0),
        }),
    ]
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

fn pane() -> PaneKey {
    PaneKey { server: ServerId::new("srv_bench"), pane: PaneId(3) }
}

fn runtime() -> RuntimeId {
    RuntimeId::new("rt_bench")
}
