//! The chain of everything that was done to agents, or refused.
//!
//! Each row holds one step of one action and the hash of the row before it, and is written in the transaction of the event
//! it is about: no action without a row. Whoever changes, removes or inserts a row breaks the chain behind it; whoever
//! cuts off its end, or makes the whole chain anew, cannot make it contain a hash that somebody kept elsewhere.
//!
//! Old rows may go, from the front only. The row that says so is itself in the chain and vouches for the first that is left.

use agtmux_core::action::ActionFact;
use agtmux_core::event::{Event, Fact};
use agtmux_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::log::integer;

/// What stands before the first row.
const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The body of a row for an event of the log, which is already redacted and encoded.
pub(super) fn body(event: &Event, fact: &str) -> Option<String> {
    let Fact::Action(_) = &event.fact else {
        return None;
    };
    Some(format!("{{\"seq\":{},\"at\":{},\"fact\":{fact}}}", integer(event.seq), event.at.0))
}

/// The step that a row is about, unless it is about the chain itself.
pub(super) fn fact(body: &str) -> Option<ActionFact> {
    let mut value: Value = serde_json::from_str(body).ok()?;
    serde_json::from_value(value.get_mut("fact")?.take()).ok()
}

/// Adds a row to the end of the chain.
pub(super) fn append(connection: &Connection, body: &str) -> rusqlite::Result<()> {
    let (n, prev_hash) = end(connection)?.unwrap_or((0, GENESIS.to_owned()));
    let columns = Columns::of(body).unwrap_or_default();
    connection
        .prepare_cached(
            "INSERT INTO audit (n, seq, at, action_id, step, actor, body, prev_hash, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute((
            n + 1,
            columns.seq,
            columns.at,
            columns.action,
            columns.step,
            columns.actor,
            body,
            &prev_hash,
            link(&prev_hash, body),
        ))
        .map(drop)
}

/// Lets go of rows from the front: all before `cutoff`, and as many more as make the rest no larger than `most_bytes`. What
/// is let go is said in the chain. Gives the number of rows.
pub(super) fn prune(
    connection: &Connection,
    now: Timestamp,
    cutoff: Timestamp,
    most_bytes: u64,
) -> rusqlite::Result<u64> {
    // As with events, one row that is young enough keeps all that follow it, whatever their clocks said.
    let aged: i64 = connection.query_row(
        "SELECT coalesce((SELECT min(n) FROM audit WHERE at >= ?1), (SELECT max(n) + 1 FROM audit), 1) - 1",
        [cutoff.0],
        |row| row.get(0),
    )?;
    let surplus: i64 = connection.query_row(
        "SELECT coalesce(max(n), 0) FROM (SELECT n, sum(octet_length(body)) OVER (ORDER BY n DESC) AS size FROM audit)
         WHERE size > ?1",
        [integer(most_bytes)],
        |row| row.get(0),
    )?;
    let upto = aged.max(surplus);
    let last: Option<String> =
        connection.query_row("SELECT hash FROM audit WHERE n = ?1", [upto], |row| row.get(0)).optional()?;
    let Some(hash) = last else {
        return Ok(0);
    };
    let seq: Option<i64> =
        connection.query_row("SELECT max(seq) FROM audit WHERE n <= ?1", [upto], |row| row.get(0))?;
    let pruned = json!({ "upto": upto, "hash": hash, "seq": seq });
    append(connection, &json!({ "at": now.0, "pruned": pruned }).to_string())?;
    connection.execute("DELETE FROM audit WHERE n <= ?1", [upto]).map(|rows| rows as u64)
}

/// The size of all bodies; what else a row takes is small beside its body.
pub(super) fn bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sum: i64 =
        connection.query_row("SELECT coalesce(sum(octet_length(body)), 0) FROM audit", [], |row| row.get(0))?;
    Ok(sum.max(0).cast_unsigned())
}

/// What a walk along the chain found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// How many rows there are.
    pub rows: u64,
    /// The number of the first.
    pub first: Option<u64>,
    /// The number and the hash of the last: what to keep elsewhere.
    pub head: Option<(u64, String)>,
    /// The first thing that is wrong.
    pub broken: Option<Broken>,
    /// The row that has the hash that was asked for, if one was and one has.
    pub kept: Option<u64>,
}

/// Where the chain is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The row, or the one that should be there; of an event without a row, the place in the log.
    pub at: u64,
    /// What is wrong with it, for people.
    pub why: String,
}

/// Walks along the chain, then compares it with the log. `kept` is a hash that should be in it.
pub(super) fn verify(connection: &Connection, kept: Option<&str>) -> rusqlite::Result<Verified> {
    // One look for all questions: rows that are added meanwhile are not seen.
    let transaction = connection.unchecked_transaction()?;
    verify_within(&transaction, kept)
}

/// As [`verify`], in a transaction that is already there.
pub(super) fn verify_within(transaction: &Connection, kept: Option<&str>) -> rusqlite::Result<Verified> {
    let mut walk = Walk { kept, ..Walk::default() };
    let mut statement = transaction
        .prepare("SELECT n, prev_hash, hash, body, seq, at, action_id, step, actor FROM audit ORDER BY n")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let columns =
            Columns { seq: row.get(4)?, at: row.get(5)?, action: row.get(6)?, step: row.get(7)?, actor: row.get(8)? };
        walk.step(row.get(0)?, row.get(1)?, row.get(2)?, row.get_ref(3)?.as_str()?, &columns);
    }
    let unlogged = walk.pruned.as_ref().and_then(|pruned| pruned.seq).unwrap_or(0);
    let mut verified = walk.end();
    if verified.broken.is_none() {
        verified.broken = compare_with_log(transaction, unlogged)?;
    }
    Ok(verified)
}

/// A walk along the chain.
#[derive(Default)]
struct Walk<'a> {
    kept: Option<&'a str>,
    found: Verified,
    last: Option<(i64, String)>,
    /// The first row's number and what it says stood before it.
    first: Option<(i64, String)>,
    pruned: Option<Pruned>,
}

/// What a row says that was let go.
#[derive(PartialEq, Eq)]
struct Pruned {
    upto: i64,
    hash: String,
    seq: Option<i64>,
}

impl Walk<'_> {
    fn step(&mut self, n: i64, prev_hash: String, hash: String, body: &str, columns: &Columns) {
        let expected = self.last.as_ref().map(|(last, hash)| (last + 1, hash.as_str()));
        let wrong = match expected {
            Some((next, _)) if n != next => Some((next, "is missing")),
            Some((_, before)) if prev_hash != before => Some((n, "does not follow the row before it")),
            _ if hash != link(&prev_hash, body) => Some((n, "was changed")),
            _ if Columns::of(body).as_ref() != Some(columns) => Some((n, "has columns that are not in its body")),
            _ => None,
        };
        if let Some((at, why)) = wrong {
            self.broken(at, why);
        }
        if self.kept == Some(hash.as_str()) && self.found.broken.is_none() {
            self.found.kept = Some(n.cast_unsigned());
        }
        self.pruned = Pruned::of(body).or(self.pruned.take());
        self.first.get_or_insert((n, prev_hash));
        self.last = Some((n, hash));
        self.found.rows += 1;
    }

    fn end(mut self) -> Verified {
        if let Some((n, before)) = self.first.take() {
            self.found.first = Some(n.cast_unsigned());
            let vouched = self.pruned.as_ref().is_some_and(|pruned| pruned.upto + 1 == n && pruned.hash == before);
            if !vouched && (n, before.as_str()) != (1, GENESIS) {
                self.found.broken = None;
                self.broken(n, "is not the first that was ever written, and no row says that older ones were let go");
            }
        }
        self.found.head = self.last.map(|(n, hash)| (n.cast_unsigned(), hash));
        self.found
    }

    fn broken(&mut self, at: i64, why: &str) {
        self.found.broken.get_or_insert(Broken { at: at.cast_unsigned(), why: format!("row {at} {why}") });
    }
}

impl Pruned {
    fn of(body: &str) -> Option<Self> {
        // Asked of every row, so that the usual ones are not parsed once more.
        let value: Value = body.contains("\"pruned\"").then(|| serde_json::from_str(body).ok()).flatten()?;
        let pruned = value.get("pruned")?;
        Some(Self {
            upto: pruned.get("upto")?.as_i64()?,
            hash: pruned.get("hash")?.as_str()?.to_owned(),
            seq: pruned.get("seq").and_then(Value::as_i64),
        })
    }
}

/// Every action that is still in the log has its row, which says the same.
fn compare_with_log(connection: &Connection, after: i64) -> rusqlite::Result<Option<Broken>> {
    let differing: Option<(i64, bool)> = connection
        .query_row(
            "SELECT events.seq, audit.n IS NULL FROM events LEFT JOIN audit USING (seq)
             WHERE event_type = 'action' AND events.seq > max(?1, (SELECT coalesce(max(audit_after), 0) FROM meta))
                 AND audit.body IS NOT concat('{\"seq\":', events.seq, ',\"at\":', ingested_at, ',\"fact\":', events.body, '}')
             ORDER BY events.seq LIMIT 1",
            [after],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    Ok(differing.map(|(seq, missing)| Broken {
        at: seq.cast_unsigned(),
        why: format!("event {seq} of the log {}", if missing { "has no row" } else { "is not what its row says" }),
    }))
}

fn end(connection: &Connection) -> rusqlite::Result<Option<(i64, String)>> {
    connection
        .prepare_cached("SELECT n, hash FROM audit ORDER BY n DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

pub(super) fn link(prev_hash: &str, body: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(prev_hash);
    hasher.update("\n");
    hasher.update(body);
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The columns that repeat parts of a body.
#[derive(Debug, Default, PartialEq, Eq)]
struct Columns {
    seq: Option<i64>,
    at: i64,
    action: Option<String>,
    step: String,
    actor: String,
}

impl Columns {
    fn of(body: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(body).ok()?;
        let (seq, at) = (value.get("seq").and_then(Value::as_i64), value.get("at")?.as_i64()?);
        let Some(fact) = value.get("fact") else {
            return Some(Self { seq, at, action: None, step: "pruned".to_owned(), actor: "agtmux".to_owned() });
        };
        let actor = fact.get("actor")?;
        let agent = actor.get("agent").and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            seq,
            at,
            action: Some(fact.get("action")?.as_str()?.to_owned()),
            step: fact.get("step")?.get("step")?.as_str()?.to_owned(),
            actor: agent.unwrap_or_else(|| actor.get("uid").map(|uid| format!("uid {uid}")).unwrap_or_default()),
        })
    }
}
