//! Letting go of what is old, on request and in small steps.
//!
//! Events are pruned only from the front of the log, and only behind a checkpoint: an event that holds the whole state
//! and becomes the base from which the rest is replayed. Steps are small, so that appends wait for milliseconds, and
//! nothing here ever runs while a query is answered (F108).

use agtmux_core::engine::EngineState;
use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::time::{Span, Timestamp};
use rusqlite::{Connection, OptionalExtension};

use super::audit;
use super::database::{Database, Durability};
use super::error::StoreError;
use super::log::{Entry, integer};

/// How many rows one step deletes.
const STEP: i64 = 2_000;

/// How long things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Events, and runtimes that have ended.
    pub events_days: u32,
    /// Raw payloads; 0 keeps none at all.
    pub payload_days: u32,
    /// Beyond this size the oldest events go before their time.
    pub max_bytes: u64,
    /// Rows of the audit chain.
    pub audit_days: u32,
    /// Beyond this size the oldest rows of the audit chain go before their time.
    pub audit_max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Self {
        Self { events_days: 30, payload_days: 7, max_bytes: 256 << 20, audit_days: 365, audit_max_bytes: 128 << 20 }
    }
}

impl Retention {
    /// How long a payload is kept.
    pub(super) fn payload_life(&self) -> Span {
        days(self.payload_days)
    }
}

/// What retention did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retained {
    /// The `seq` of the checkpoint, if one was needed.
    pub checkpoint: Option<u64>,
    /// Events pruned.
    pub events: u64,
    /// Payloads dropped.
    pub payloads: u64,
    /// Rows of the audit chain that went.
    pub audit: u64,
}

/// A pruning in progress.
pub(super) struct Pruning {
    now: Timestamp,
    /// Events before this one may go for their age.
    keep_from: i64,
    /// How large the database may be: the audit chain is kept for its own time, and letting events go makes no room for it.
    max_bytes: u64,
    done: Retained,
}

/// Whether a pruning has more to do.
pub(super) enum Progress {
    More,
    Finished(Retained),
}

impl Pruning {
    /// Begins: if anything is to be pruned, writes `state` as the checkpoint `seq`, which must be the log's newest.
    pub(super) fn begin(
        database: &mut Database,
        now: Timestamp,
        state: EngineState,
        seq: u64,
    ) -> Result<Self, StoreError> {
        let retention = database.options().retention;
        let cutoff = Timestamp(now.0.saturating_sub(days(retention.events_days).0));
        let audit_cutoff = Timestamp(now.0.saturating_sub(days(retention.audit_days).0));
        let audit = database.transaction(Durability::Configured, |transaction| {
            audit::prune(transaction, now, audit_cutoff, retention.audit_max_bytes)
        })?;
        let max_bytes = retention.max_bytes.saturating_add(database.query(audit::bytes)?);
        let (keep_from, too_big) = database
            .query(|connection| Ok((first_since(connection, cutoff, seq)?, used_bytes(connection)? > max_bytes)))?;
        let oldest = database.query(oldest)?;
        let mut pruning = Self { now, keep_from, max_bytes, done: Retained { audit, ..Retained::default() } };
        if too_big || oldest.is_some_and(|oldest| oldest < keep_from) {
            let fact = Fact::Checkpoint { state: Box::new(state) };
            let entry = Entry::new(Event { v: FORMAT, seq, at: now, fact }, Span(0))
                .map_err(|error| StoreError::Rejected { detail: error.to_string() })?;
            // The first step shares the checkpoint's transaction, the others can only follow it.
            let events = database.transaction(Durability::PowerLoss, |transaction| {
                entry.insert(transaction)?;
                delete_events(transaction, keep_from)
            })?;
            pruning.done.checkpoint = Some(seq);
            pruning.done.events = events;
        }
        Ok(pruning)
    }

    /// What has been done up to now.
    pub(super) fn so_far(&self) -> Retained {
        self.done
    }

    /// Does a little of the rest.
    pub(super) fn step(&mut self, database: &mut Database) -> Result<Progress, StoreError> {
        let retention = database.options().retention;
        let checkpoint = self.done.checkpoint.map(integer);
        let (now, keep_from, max_bytes) = (self.now, self.keep_from, self.max_bytes);
        let ended_before = now.0.saturating_sub(days(retention.events_days).0);

        let (payloads, events) = database.transaction(Durability::Configured, |transaction| {
            let payloads = delete_payloads(transaction, now)?;
            let mut events = 0;
            if let Some(checkpoint) = checkpoint {
                events = delete_events(transaction, keep_from)?;
                if events == 0 && used_bytes(transaction)? > max_bytes {
                    events = delete_events(transaction, checkpoint)?;
                }
                delete_runtimes(transaction, ended_before)?;
                delete_action_snapshots(transaction, ended_before)?;
            }
            Ok((payloads, events))
        })?;
        self.done.payloads += payloads;
        self.done.events += events;
        if payloads + events > 0 {
            return Ok(Progress::More);
        }
        database.query(give_space_back)?;
        Ok(Progress::Finished(self.done))
    }
}

fn days(days: u32) -> Span {
    Span::hours(24 * i64::from(days))
}

fn oldest(connection: &Connection) -> rusqlite::Result<Option<i64>> {
    connection.query_row("SELECT min(seq) FROM events", [], |row| row.get(0))
}

/// The first event that is young enough to stay. Only the old ones before it may go: a clock that once stood wrong
/// can then make the log keep too much, never too little.
fn first_since(connection: &Connection, cutoff: Timestamp, checkpoint: u64) -> rusqlite::Result<i64> {
    let first = connection
        .query_row("SELECT seq FROM events WHERE ingested_at >= ?1 ORDER BY seq LIMIT 1", [cutoff.0], |row| row.get(0))
        .optional()?;
    Ok(first.unwrap_or_else(|| integer(checkpoint)))
}

/// Deletes a step's worth of the oldest events before `before`; their payloads go with them.
fn delete_events(connection: &Connection, before: i64) -> rusqlite::Result<u64> {
    let deleted = connection
        .prepare_cached(
            "DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq < ?1 ORDER BY seq LIMIT ?2)",
        )?
        .execute((before, STEP))?;
    Ok(deleted as u64)
}

fn delete_payloads(connection: &Connection, now: Timestamp) -> rusqlite::Result<u64> {
    let deleted = connection
        .prepare_cached(
            "DELETE FROM payloads WHERE seq IN
                 (SELECT seq FROM payloads WHERE expires_at <= ?1 ORDER BY expires_at LIMIT ?2)",
        )?
        .execute((now.0, STEP))?;
    Ok(deleted as u64)
}

/// Runtimes that ended before the log begins are history that nothing refers to.
fn delete_runtimes(connection: &Connection, ended_before: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM runtimes WHERE ended_at < ?1")?.execute([ended_before]).map(drop)
}

fn delete_action_snapshots(connection: &Connection, expired_before: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM action_snapshots WHERE expires_at < ?1")?.execute([expired_before]).map(drop)
}

/// The size of what is in use; pages that wait to be used again do not count.
fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let used = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
    Ok(used.max(0).cast_unsigned())
}

fn give_space_back(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare("PRAGMA incremental_vacuum")?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
