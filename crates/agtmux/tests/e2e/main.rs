//! agtmux from the outside: the real binary, real tmux servers, scripted agents.
//!
//! Every test has an environment of its own (home, state, sockets, tmux server) and says what it keeps away: F numbers
//! are known failures of such programs, I numbers are invariants. Nothing sleeps and hopes; every wait has a deadline
//! and tells what it saw last.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests may fail and print like tests do")]
#![expect(clippy::format_push_string, reason = "what a test renders is short")]

mod common;

mod adapters;
mod approve;
mod attach;
mod audit;
mod classify;
mod colour;
mod commands;
mod daemon;
mod discovery;
mod docs;
mod ending;
mod events;
mod explain;
mod files;
mod filters;
mod hang;
mod harmless;
mod hook;
mod hostile;
mod kill;
mod link;
mod list;
mod mail;
#[cfg(target_os = "linux")]
mod mail_clocks;
mod mail_draft;
mod mail_hook;
mod mail_keys;
#[cfg(target_os = "linux")]
mod mail_kills;
mod mail_plugin;
mod mail_server;
mod mail_walkthrough;
mod permission;
mod refusals;
mod restarts;
mod routes;
mod screens;
mod send;
mod servers;
mod servers_of_agents;
mod setup;
mod signals;
mod sm;
mod spawn;
mod stream;
mod streams;
mod targets;
mod view_output;
mod wait;
mod watch;
mod worktrees;
mod wrap;
