//! agtmux: the control plane for coding agents in your own tmux.
//!
//! A library only so that tests and benchmarks can call what the binary runs; `ARCHITECTURE.md` is the map.

pub mod accuracy;
pub mod act;
pub mod api;
pub mod classify;
pub mod cli;
pub mod client;
pub mod config;
pub mod daemon;
pub mod error;
pub mod hook;
pub mod ingest;
pub mod listener;
pub mod paths;
pub mod peer;
pub mod platform;
pub mod service;
pub mod setup;
pub mod spool;
pub mod store;
pub mod target;
pub mod worktree;
