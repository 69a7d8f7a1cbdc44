//! Actions on agents: one file per verb, and what they share.

pub mod actor;
pub mod approve;
pub mod attach;
pub mod kill;
pub mod send;
pub mod snapshots;
pub mod view_output;
