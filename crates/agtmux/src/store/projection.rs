//! The queryable rows: what the log amounts to, for history queries and for people with a `sqlite3` shell.
//!
//! The daemon sends rows with the events that changed them and both are written in one transaction, so the projection
//! is never ahead of the log or behind it. Nothing is ever decided by reading it back.

use agtmux_core::action::Verb;
use agtmux_core::engine::Disposition;
use agtmux_core::event::{Ending, Health, Place, TargetKind};
use agtmux_core::id::{ActionId, AgentId, BootId, EventId, PaneKey, ProcessKey, RuntimeId, ServerId, TargetName};
use agtmux_core::signal::Source;
use agtmux_core::state::Verdict;
use agtmux_core::time::Timestamp;
use rusqlite::{Connection, named_params};

use super::log::integer;
use super::redact::redact;

/// A change of the projection. Order within a batch does not matter between tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    Target(TargetRow),
    /// Takes the target's servers and panes along.
    TargetGone(TargetName),
    Server(ServerRow),
    /// Takes the server's panes along.
    ServerGone(ServerId),
    Pane(PaneRow),
    PaneGone(PaneKey),
    Runtime(RuntimeRow),
    RuntimeEnded {
        runtime: RuntimeId,
        at: Timestamp,
        how: Ending,
    },
    State(StateRow),
    Cursor(CursorRow),
    Adapter(AdapterRow),
    ActionSnapshot(ActionSnapshotRow),
    /// What became of the signal with this `seq`; until then it is `pending_bind`.
    Disposition {
        seq: u64,
        disposition: Disposition,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRow {
    pub target: TargetName,
    pub kind: TargetKind,
    /// A non-secret reference such as an ssh alias.
    pub connection: Option<String>,
    pub is_default: bool,
    pub health: Health,
    pub last_seen_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    pub server: ServerId,
    pub target: TargetName,
    pub socket: String,
    pub pid: u32,
    /// In seconds since the Unix epoch, as tmux says.
    pub start_time: i64,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneRow {
    pub pane: PaneKey,
    pub place: Place,
    pub updated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeRow {
    pub runtime: RuntimeId,
    pub target: TargetName,
    pub pane: PaneKey,
    /// Counts the runtimes of the pane.
    pub epoch: u64,
    pub agent: AgentId,
    pub boot: BootId,
    pub process: ProcessKey,
    pub started_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRow {
    pub runtime: RuntimeId,
    pub verdict: Verdict,
    pub version: u64,
    pub last_seen_at: Option<Timestamp>,
    pub updated_at: Timestamp,
}

/// How far one source of one runtime has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CursorRow {
    pub runtime: RuntimeId,
    pub source: Source,
    pub source_seq: Option<u64>,
    pub event_time: Option<Timestamp>,
    pub ingested_at: Timestamp,
    pub event_id: EventId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterRow {
    pub name: String,
    pub agent: AgentId,
    pub version: String,
    pub capabilities: serde_json::Value,
    pub enabled: bool,
    pub updated_at: Timestamp,
}

/// What an action was decided on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionSnapshotRow {
    pub action: ActionId,
    pub verb: Verb,
    pub target: TargetName,
    pub server_pid: u32,
    /// In seconds since the Unix epoch, as tmux says.
    pub server_start: i64,
    pub pane: PaneKey,
    pub runtime: Option<RuntimeId>,
    pub state_version: Option<u64>,
    pub observed_at: Timestamp,
    pub expires_at: Timestamp,
}

/// Writes one row.
pub(super) fn write(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    match row {
        Row::Target(row) => write_target(connection, row),
        Row::TargetGone(target) => delete(connection, "DELETE FROM targets WHERE target = ?1", target.as_str()),
        Row::Server(row) => write_server(connection, row),
        Row::ServerGone(server) => delete(connection, "DELETE FROM servers WHERE server_id = ?1", server.as_str()),
        Row::Pane(row) => write_pane(connection, row),
        Row::PaneGone(pane) => connection
            .prepare_cached("DELETE FROM panes WHERE server_id = ?1 AND pane_id = ?2")?
            .execute((pane.server.as_str(), pane.pane.to_string()))
            .map(drop),
        Row::Runtime(row) => write_runtime(connection, row),
        Row::RuntimeEnded { runtime, at, how } => connection
            .prepare_cached("UPDATE runtimes SET ended_at = ?2, ending = ?3 WHERE runtime_id = ?1")?
            .execute((runtime.as_str(), at.0, how.name()))
            .map(drop),
        Row::State(row) => write_state(connection, row),
        Row::Cursor(row) => write_cursor(connection, row),
        Row::Adapter(row) => write_adapter(connection, row),
        Row::ActionSnapshot(row) => write_action_snapshot(connection, row),
        Row::Disposition { seq, disposition } => dispose(connection, *seq, disposition),
    }
}

fn delete(connection: &Connection, sql: &str, key: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([key]).map(drop)
}

fn write_target(connection: &Connection, row: &TargetRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO targets (target, kind, connection_ref, is_default, health, last_seen_at, updated_at)
             VALUES (:target, :kind, :connection_ref, :is_default, :health, :last_seen_at, :updated_at)
             ON CONFLICT (target) DO UPDATE SET kind = excluded.kind, connection_ref = excluded.connection_ref,
                 is_default = excluded.is_default, health = excluded.health,
                 last_seen_at = coalesce(excluded.last_seen_at, last_seen_at), updated_at = excluded.updated_at",
        )?
        .execute(named_params! {
            ":target": row.target.as_str(),
            ":kind": row.kind.name(),
            ":connection_ref": row.connection.as_deref().map(redact),
            ":is_default": row.is_default,
            ":health": row.health.name(),
            ":last_seen_at": row.last_seen_at.map(|time| time.0),
            ":updated_at": row.updated_at.0,
        })
        .map(drop)
}

fn write_server(connection: &Connection, row: &ServerRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO servers (server_id, target, socket, pid, start_time, updated_at)
             VALUES (:server_id, :target, :socket, :pid, :start_time, :updated_at)
             ON CONFLICT (server_id) DO UPDATE SET updated_at = excluded.updated_at",
        )?
        .execute(named_params! {
            ":server_id": row.server.as_str(),
            ":target": row.target.as_str(),
            ":socket": row.socket,
            ":pid": row.pid,
            ":start_time": row.start_time,
            ":updated_at": row.updated_at.0,
        })
        .map(drop)
}

fn write_pane(connection: &Connection, row: &PaneRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO panes (server_id, pane_id, session_id, session_name, window_id, window_index, window_name,
                 pane_index, updated_at)
             VALUES (:server_id, :pane_id, :session_id, :session_name, :window_id, :window_index, :window_name,
                 :pane_index, :updated_at)
             ON CONFLICT (server_id, pane_id) DO UPDATE SET session_id = excluded.session_id,
                 session_name = excluded.session_name, window_id = excluded.window_id,
                 window_index = excluded.window_index, window_name = excluded.window_name,
                 pane_index = excluded.pane_index, updated_at = excluded.updated_at",
        )?
        .execute(named_params! {
            ":server_id": row.pane.server.as_str(),
            ":pane_id": row.pane.pane.to_string(),
            ":session_id": row.place.session.to_string(),
            ":session_name": redact(&row.place.session_name),
            ":window_id": row.place.window.to_string(),
            ":window_index": row.place.window_index,
            ":window_name": redact(&row.place.window_name),
            ":pane_index": row.place.pane_index,
            ":updated_at": row.updated_at.0,
        })
        .map(drop)
}

fn write_runtime(connection: &Connection, row: &RuntimeRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO runtimes (runtime_id, target, server_id, pane_id, pane_epoch, agent, boot_id, pid,
                 process_start, started_at)
             VALUES (:runtime_id, :target, :server_id, :pane_id, :pane_epoch, :agent, :boot_id, :pid,
                 :process_start, :started_at)
             ON CONFLICT (runtime_id) DO UPDATE SET pane_epoch = excluded.pane_epoch, ended_at = NULL, ending = NULL",
        )?
        .execute(named_params! {
            ":runtime_id": row.runtime.as_str(),
            ":target": row.target.as_str(),
            ":server_id": row.pane.server.as_str(),
            ":pane_id": row.pane.pane.to_string(),
            ":pane_epoch": integer(row.epoch),
            ":agent": row.agent.as_str(),
            ":boot_id": row.boot.as_str(),
            ":pid": row.process.pid,
            // Opaque and compared only for equality, so that a value past the sign bit may look negative.
            ":process_start": row.process.start.cast_signed(),
            ":started_at": row.started_at.0,
        })
        .map(drop)
}

fn write_state(connection: &Connection, row: &StateRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO states (runtime_id, state, reason_code, confidence, evidence, source, message, since,
                 state_version, last_seen_at, updated_at)
             VALUES (:runtime_id, :state, :reason_code, :confidence, :evidence, :source, :message, :since,
                 :state_version, :last_seen_at, :updated_at)
             ON CONFLICT (runtime_id) DO UPDATE SET state = excluded.state, reason_code = excluded.reason_code,
                 confidence = excluded.confidence, evidence = excluded.evidence, source = excluded.source,
                 message = excluded.message, since = excluded.since, state_version = excluded.state_version,
                 last_seen_at = coalesce(excluded.last_seen_at, last_seen_at), updated_at = excluded.updated_at",
        )?
        .execute(named_params! {
            ":runtime_id": row.runtime.as_str(),
            ":state": row.verdict.state.name(),
            ":reason_code": row.verdict.reason,
            ":confidence": row.verdict.confidence.name(),
            ":evidence": row.verdict.evidence.map(|evidence| evidence.name()),
            ":source": row.verdict.source.map(Source::name),
            ":message": row.verdict.message.as_deref().map(redact),
            ":since": row.verdict.since.0,
            ":state_version": integer(row.version),
            ":last_seen_at": row.last_seen_at.map(|time| time.0),
            ":updated_at": row.updated_at.0,
        })
        .map(drop)
}

fn write_cursor(connection: &Connection, row: &CursorRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO runtime_source_cursors (runtime_id, source, last_source_seq, last_order_event_time,
                 last_order_ingested_at, last_order_event_id)
             VALUES (:runtime_id, :source, :source_seq, :event_time, :ingested_at, :event_id)
             ON CONFLICT (runtime_id, source) DO UPDATE SET last_source_seq = excluded.last_source_seq,
                 last_order_event_time = excluded.last_order_event_time,
                 last_order_ingested_at = excluded.last_order_ingested_at,
                 last_order_event_id = excluded.last_order_event_id",
        )?
        .execute(named_params! {
            ":runtime_id": row.runtime.as_str(),
            ":source": row.source.name(),
            ":source_seq": row.source_seq.map(integer),
            ":event_time": row.event_time.map(|time| time.0),
            ":ingested_at": row.ingested_at.0,
            ":event_id": redact(row.event_id.as_str()),
        })
        .map(drop)
}

fn write_adapter(connection: &Connection, row: &AdapterRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO adapters (adapter_name, agent, version, capabilities, enabled, updated_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (adapter_name) DO UPDATE SET agent = excluded.agent, version = excluded.version,
                 capabilities = excluded.capabilities, enabled = excluded.enabled, updated_at = excluded.updated_at",
        )?
        .execute((
            &row.name,
            row.agent.as_str(),
            &row.version,
            row.capabilities.to_string(),
            row.enabled,
            row.updated_at.0,
        ))
        .map(drop)
}

fn write_action_snapshot(connection: &Connection, row: &ActionSnapshotRow) -> rusqlite::Result<()> {
    let id = row.action.as_str();
    connection
        .prepare_cached(
            "INSERT INTO action_snapshots (snapshot_id, verb, target, server_id, server_pid, server_start, pane_id,
                 runtime_id, state_version, observed_at, expires_at, nonce)
             VALUES (:snapshot_id, :verb, :target, :server_id, :server_pid, :server_start, :pane_id,
                 :runtime_id, :state_version, :observed_at, :expires_at, :nonce)
             ON CONFLICT (snapshot_id) DO NOTHING",
        )?
        .execute(named_params! {
            ":snapshot_id": id,
            ":verb": row.verb.name(),
            ":target": row.target.as_str(),
            ":server_id": row.pane.server.as_str(),
            ":server_pid": row.server_pid,
            ":server_start": row.server_start,
            ":pane_id": row.pane.pane.to_string(),
            ":runtime_id": row.runtime.as_ref().map(RuntimeId::as_str),
            ":state_version": row.state_version.map(integer),
            ":observed_at": row.observed_at.0,
            ":expires_at": row.expires_at.0,
            ":nonce": id.rsplit('_').next().unwrap_or_default(),
        })
        .map(drop)
}

/// Marks a logged signal. A second "first occurrence" of a dedupe key is kept as a duplicate: the log has seen both,
/// and which came first is already settled.
fn dispose(connection: &Connection, seq: u64, disposition: &Disposition) -> rusqlite::Result<()> {
    let (runtime, status) = match disposition {
        Disposition::Bound { runtime } => (Some(runtime), "bound"),
        Disposition::Pending => (None, "pending_bind"),
        Disposition::Duplicate { runtime } => (Some(runtime), "duplicate"),
        Disposition::OutOfOrder { runtime } => (Some(runtime), "out_of_order"),
        Disposition::RuntimeEnded { runtime } => (Some(runtime), "runtime_ended"),
        Disposition::Unbound { .. } => (None, "dropped_unbound"),
    };
    let runtime = runtime.map(RuntimeId::as_str);
    let mut mark =
        connection.prepare_cached("UPDATE OR IGNORE events SET runtime_id = ?2, bind_status = ?3 WHERE seq = ?1")?;
    if mark.execute((integer(seq), runtime, status))? == 0 {
        mark.execute((integer(seq), runtime, "duplicate"))?;
    }
    Ok(())
}
