//! The store: the event log on disk, and what is kept beside it.
//!
//! The log is the truth; the projection is a cache of rows for queries and people; a snapshot is a cache of the
//! engine's state. One thread writes, many may read. The store knows the domain and SQLite, and nothing of tmux, the
//! API or the command line.
//!
//! | file | what it does |
//! |---|---|
//! | [`mod@open`] | checks the state directory, takes it over, and gives back what was remembered |
//! | [`writer`] | the writing thread: group commit, snapshots, retention |
//! | [`reader`] | queries, on connections of their own |
//! | [`log`] | events to rows and back |
//! | [`mod@audit`] | the chain of everything that was done to agents, or refused |
//! | [`projection`] | the queryable rows |
//! | [`snapshot`] | the engine's state, to start faster |
//! | [`retention`] | letting go of what is old |
//! | [`texts`] | the texts of messages that are under way |
//! | [`redact`] | secrets out of texts, before they are written |
//! | [`migrate`] | the schema and its versions |
//! | [`owner`] | one daemon per state directory |
//! | [`database`] | the owner's connection: fenced transactions, and recovery from a failed disk |
//! | [`error`] | what can go wrong, with codes and hints |

mod audit;
mod database;
mod error;
mod log;
mod migrate;
mod open;
mod owner;
mod projection;
mod reader;
pub mod redact;
mod retention;
mod snapshot;
mod texts;
mod writer;

pub use audit::{Broken, Verified};
pub use error::StoreError;
pub use open::{Opened, Options, Recovered, Synchronous, open};
pub use projection::{
    ActionSnapshotRow, AdapterRow, CursorRow, PaneRow, Row, RuntimeRow, ServerRow, StateRow, TargetRow,
};
pub use reader::{Audited, AuditedStep, EventFilter, Reader, Stats};
pub use retention::{Retained, Retention};
pub use texts::Text;
pub use writer::{Batch, Writer};

#[cfg(test)]
mod tests;
