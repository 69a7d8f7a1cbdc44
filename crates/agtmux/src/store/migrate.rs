//! The schema: forward only, one transaction per step, the version in `PRAGMA user_version`.
//!
//! A released step is never edited. A change of the schema is a new file at the end of [`STEPS`], together with a
//! golden database of the release before it.

use rusqlite::{Connection, TransactionBehavior};

/// Step *n* leads from version *n* to *n + 1*.
pub(super) const STEPS: [&str; 3] = [
    include_str!("migrations/0001_foundation.sql"),
    include_str!("migrations/0002_audit.sql"),
    include_str!("migrations/0003_mail.sql"),
];

/// The version that this build reads and writes.
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Brings the schema up to [`KNOWN`]. A crash in between leaves the last finished step.
pub(super) fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    run(connection, &STEPS)
}

/// Reads the version of an open database.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Runs the steps that are still to come.
pub(super) fn run(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    let done = usize::try_from(version(connection)?).unwrap_or(usize::MAX);
    for (step, sql) in steps.iter().enumerate().skip(done) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(sql)?;
        transaction.pragma_update(None, "user_version", step as i64 + 1)?;
        transaction.commit()?;
    }
    Ok(())
}
