//! Snapshots: the engine's state at one point of the log, kept so that a start need not replay everything.
//!
//! A snapshot is a cache and carries no promise. One that another release wrote, or that cannot be read, is passed
//! over, and the log is replayed from its last checkpoint instead.

use agtmux_core::engine::{EngineState, STATE_FORMAT};
use rusqlite::Connection;

use super::log::integer;
use super::redact;

/// How many snapshots are kept: the newest, and one to fall back on.
const KEPT: u32 = 2;

/// A release may draw other conclusions from the same events, so only the release that wrote a snapshot reads it.
fn format() -> String {
    format!("{STATE_FORMAT}/{}", env!("CARGO_PKG_VERSION"))
}

/// Encodes a state for [`insert`].
pub(super) fn encode(state: &EngineState) -> serde_json::Result<String> {
    Ok(redact::json(serde_json::to_string(state)?))
}

/// Writes a snapshot of the state after event `seq` and lets the oldest go.
pub(super) fn insert(connection: &Connection, seq: u64, body: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO snapshots (seq, format, body) VALUES (?1, ?2, ?3)")?
        .execute((integer(seq), format(), body))?;
    connection
        .prepare_cached(
            "DELETE FROM snapshots WHERE seq NOT IN (SELECT seq FROM snapshots ORDER BY seq DESC LIMIT ?1)",
        )?
        .execute([KEPT])?;
    Ok(())
}

/// The newest usable snapshot. Newer ones that had to be passed over are noted.
pub(super) fn newest(connection: &Connection, notes: &mut Vec<String>) -> rusqlite::Result<Option<(u64, EngineState)>> {
    let mut statement = connection.prepare("SELECT seq, format, body FROM snapshots ORDER BY seq DESC")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let seq = row.get::<_, i64>(0)?.cast_unsigned();
        let found: String = row.get(1)?;
        if found != format() {
            notes.push(format!("snapshot {seq} has format {found} and was passed over"));
            continue;
        }
        match serde_json::from_str(row.get_ref(2)?.as_str()?) {
            Ok(state) => return Ok(Some((seq, state))),
            Err(error) => notes.push(format!("snapshot {seq} cannot be read and was passed over: {error}")),
        }
    }
    Ok(None)
}
