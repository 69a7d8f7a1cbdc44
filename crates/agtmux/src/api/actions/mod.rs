//! Actions on agents: one file per verb, and what they share.

pub mod actor;
pub mod adopt;
pub mod approve;
pub mod attach;
pub mod clear_draft;
pub mod kill;
pub mod resume;
pub mod send;
pub mod snapshots;
pub mod spawn;
pub mod view_output;
