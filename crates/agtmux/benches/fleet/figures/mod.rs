//! One file per figure. Each measures its baseline in the same run, interleaved with what it measures where both are
//! short.

pub(crate) mod changes;
pub(crate) mod durable;
pub(crate) mod exec;
pub(crate) mod hook;
pub(crate) mod idle;
pub(crate) mod kill;
pub(crate) mod list;
pub(crate) mod mail;
pub(crate) mod output;
pub(crate) mod restart;
pub(crate) mod signal;
pub(crate) mod wrap;
