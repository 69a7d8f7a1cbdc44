//! Targets: where agents run, and how the daemon sees what happens there.
//!
//! Everything here observes and reports; what it means is decided in core. It knows tmux, processes and core's
//! words, never the store or the API.

pub mod agents;
pub mod capture;
pub mod ear;
pub mod helper;
pub mod link;
pub mod manifests;
pub mod observation;
pub mod observer;
mod parting;
pub mod socket;
pub mod streams;
pub mod watcher;
