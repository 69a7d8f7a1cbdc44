//! The crate against real tmux servers: each test starts its own on a private socket and kills it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a failed step of a test is a failed test")]

mod act;
mod capture;
mod client;
mod corpus;
mod hook_queue;
mod injection;
mod list;
mod open;
mod pipe;
mod plain;
mod quoting;
mod race;
mod session;
mod support;
mod untouched;
