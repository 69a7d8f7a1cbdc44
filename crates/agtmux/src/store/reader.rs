//! Queries, on connections of their own: a slow reader never holds up the writer, nor the other way round.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agtmux_core::action::ActionFact;
use agtmux_core::event::Event;
use agtmux_core::id::{ActionId, RuntimeId};
use agtmux_core::mail::MailId;
use agtmux_core::time::Timestamp;
use rusqlite::{Connection, OpenFlags, params_from_iter, types::Value};

use super::audit::{self, Verified};
use super::database::CACHE_KIB;
use super::error::StoreError;
use super::log::{self, integer};
use super::texts;

/// How many connections are kept for the next readers.
const IDLE: usize = 4;

/// Reads the log. Cheap to clone; calls block, so the daemon makes them away from its loop.
#[derive(Clone, Debug)]
pub struct Reader {
    path: PathBuf,
    /// Connections that are not in use, at most [`IDLE`] of them.
    idle: Arc<Mutex<Vec<Connection>>>,
}

/// Which events are wanted; the default is all of them, without payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those about this runtime.
    pub runtime: Option<RuntimeId>,
    /// Only these types, by the name they have in the log; empty for all.
    pub types: Vec<String>,
    /// Of the ticks only those at these places in the log; none for all ticks.
    pub ticks: Option<BTreeSet<u64>>,
    /// Whether raw payloads that are still kept come along.
    pub payloads: bool,
}

/// How much is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    pub events: u64,
    /// The oldest event that is still there.
    pub first_seq: Option<u64>,
    pub last_seq: Option<u64>,
    pub payloads: u64,
    /// Of the database and its write-ahead log on disk.
    pub bytes: u64,
}

/// An action, as the audit chain tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audited {
    pub action: ActionId,
    /// Its steps that are in the chain, in their order. At least one.
    pub steps: Vec<AuditedStep>,
}

/// A row of the audit chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditedStep {
    pub n: u64,
    pub at: Timestamp,
    pub fact: ActionFact,
    pub hash: String,
}

impl Reader {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), idle: Arc::default() }
    }

    /// The first `limit` events after `seq`, in order. A row that cannot be decoded is left out.
    pub fn events_after(&self, seq: u64, limit: usize, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        self.select(seq, "ASC", limit, filter)
    }

    /// The last `limit` events, in order. A row that cannot be decoded is left out.
    pub fn newest_events(&self, limit: usize, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        let mut events = self.select(0, "DESC", limit, filter)?;
        events.reverse();
        Ok(events)
    }

    fn select(&self, after: u64, order: &str, limit: usize, filter: &EventFilter) -> Result<Vec<Event>, StoreError> {
        let from = if filter.payloads {
            "payloads.raw FROM events LEFT JOIN payloads USING (seq)"
        } else {
            "NULL FROM events"
        };
        let mut sql = format!("SELECT {}, {from} WHERE events.seq > ?", log::COLUMNS);
        let mut values = vec![Value::from(integer(after))];
        if let Some(runtime) = &filter.runtime {
            sql += " AND events.runtime_id = ?";
            values.push(Value::from(runtime.as_str().to_owned()));
        }
        if !filter.types.is_empty() {
            sql += " AND events.event_type IN (SELECT value FROM json_each(?))";
            values.push(Value::from(serde_json::Value::from(filter.types.as_slice()).to_string()));
        }
        if let Some(ticks) = &filter.ticks {
            sql += " AND (events.event_type != 'tick' OR events.seq IN (SELECT value FROM json_each(?)))";
            values.push(Value::from(serde_json::Value::from_iter(ticks.iter().copied()).to_string()));
        }
        sql = sql + " ORDER BY events.seq " + order + " LIMIT ?";
        values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));

        self.with_connection(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), log::decode)?;
            rows.filter_map(|row| row.map(Result::ok).transpose()).collect()
        })
    }

    /// To which runtimes the signals between two places of the log, both included, were bound.
    pub fn bound_runtimes(&self, first: u64, last: u64) -> Result<BTreeMap<u64, RuntimeId>, StoreError> {
        let sql = "SELECT seq, runtime_id FROM events WHERE seq BETWEEN ?1 AND ?2 AND runtime_id IS NOT NULL";
        self.with_connection(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map((integer(first), integer(last)), |row| {
                Ok((row.get::<_, i64>(0)?.cast_unsigned(), RuntimeId::new(row.get::<_, String>(1)?)))
            })?;
            rows.collect()
        })
    }

    /// The last `limit` actions of the audit chain, in the order of their last steps. A row that cannot be decoded is left out.
    pub fn audit(&self, limit: usize) -> Result<Vec<Audited>, StoreError> {
        let sql = "SELECT latest.action_id, n, at, body, hash FROM
                 (SELECT action_id, max(n) AS last FROM audit WHERE action_id IS NOT NULL
                  GROUP BY action_id ORDER BY last DESC LIMIT ?1) AS latest
             JOIN audit ON audit.action_id = latest.action_id ORDER BY latest.last, n";
        self.audited(sql, &i64::try_from(limit).unwrap_or(i64::MAX))
    }

    /// An action of the audit chain, if it is there.
    pub fn action(&self, id: &ActionId) -> Result<Option<Audited>, StoreError> {
        let sql = "SELECT action_id, n, at, body, hash FROM audit WHERE action_id = ?1 ORDER BY n";
        Ok(self.audited(sql, &id.as_str())?.pop())
    }

    fn audited(&self, sql: &str, parameter: &dyn rusqlite::ToSql) -> Result<Vec<Audited>, StoreError> {
        self.with_connection(|connection| {
            let mut actions: Vec<Audited> = Vec::new();
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([parameter])?;
            while let Some(row) = rows.next()? {
                let action = ActionId::new(row.get::<_, String>(0)?);
                let Some(fact) = audit::fact(row.get_ref(3)?.as_str()?) else {
                    continue;
                };
                let n = row.get::<_, i64>(1)?.cast_unsigned();
                let step = AuditedStep { n, at: Timestamp(row.get(2)?), fact, hash: row.get(4)? };
                match actions.last_mut() {
                    Some(last) if last.action == action => last.steps.push(step),
                    _ => actions.push(Audited { action, steps: vec![step] }),
                }
            }
            Ok(actions)
        })
    }

    /// Walks along the audit chain and compares it with the log. `kept` is a hash that should be in it.
    pub fn verify_audit(&self, kept: Option<&str>) -> Result<Verified, StoreError> {
        self.with_connection(|connection| audit::verify(connection, kept))
    }

    /// The texts of messages that are under way: of these, or of all.
    pub fn texts(&self, of: Option<&[MailId]>) -> Result<BTreeMap<MailId, String>, StoreError> {
        self.with_connection(|connection| texts::read(connection, of))
    }

    /// How much is stored.
    pub fn stats(&self) -> Result<Stats, StoreError> {
        let bytes = [self.path.clone(), self.path.with_extension("db-wal")]
            .iter()
            .filter_map(|file| std::fs::metadata(file).ok())
            .map(|metadata| metadata.len())
            .sum();
        self.with_connection(|connection| {
            connection.query_row(
                "SELECT (SELECT count(*) FROM events), (SELECT min(seq) FROM events),
                     (SELECT max(seq) FROM events), (SELECT count(*) FROM payloads)",
                [],
                |row| {
                    let seq = |at| row.get::<_, Option<i64>>(at).map(|seq| seq.map(i64::cast_unsigned));
                    Ok(Stats {
                        events: row.get::<_, i64>(0)?.cast_unsigned(),
                        first_seq: seq(1)?,
                        last_seq: seq(2)?,
                        payloads: row.get::<_, i64>(3)?.cast_unsigned(),
                        bytes,
                    })
                },
            )
        })
    }

    /// Runs a query. A connection that failed is dropped rather than used again.
    fn with_connection<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let sqlite = |error: rusqlite::Error| StoreError::sqlite(&self.path, &error);
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path).map_err(sqlite)?,
        };
        let answer = query(&connection).map_err(sqlite)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE {
            idle.push(connection);
        }
        Ok(answer)
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(connection)
}
