//! The domain of agtmux: events in, state and wanted effects out.
//!
//! One meaning each, in code, command line and docs:
//!
//! | word | meaning |
//! |---|---|
//! | target | a place where commands run: this host, an ssh host, a container |
//! | server | one life of one tmux server on a target |
//! | pane | a tmux pane of a server; its id is reused after a server restart, hence [`id::PaneKey`] |
//! | runtime | one life of one agent process in one pane; a pane's *epoch* counts its runtimes |
//! | agent | the program kind: claude, codex, gemini, … |
//! | signal | what an adapter read from a hook, file, stream, screen or model, normalized |
//! | event | a fact in the log, with `seq`; the only thing that changes state |
//! | evidence | trust class of a signal: reported > recorded > observed > guessed |
//! | state | running, waiting_input, waiting_approval, completed, idle, error, unknown |
//! | command, intent | a request; a wanted effect read off the state |
//! | mail | messages between people and agents; a *letter* is one, a *delivery* types some of them |
//! | snapshot | what an action was decided on; must still hold when it acts |
//!
//! The law of this crate: [`engine::Engine::apply`] is total and pure. Same events, same state; and sources may
//! interleave as they like. There is no clock, no randomness, no I/O and no unordered iteration here, by
//! `clippy.toml`; the crate depends on no other crate of this workspace and knows no tmux command, no SQL and no
//! JSON of an agent.
//!
//! A signal's way through: [`engine`] → [`binding`] (whose is it?) → [`ordering`] (is it new?) → [`facts`] (what does
//! its source say?) → [`resolve`] (what do all sources together mean?) → [`attention`] (must a person know?) →
//! [`intent`] (what is to be done?). [`query`] and [`explain`] read the result, [`command`] guards the
//! way in, [`action`] the way out.
#![warn(missing_docs)]

pub mod action;
pub mod attention;
pub mod backlog;
pub mod binding;
pub mod command;
mod deadlines;
pub mod details;
pub mod ending;
pub mod engine;
mod entries;
pub mod event;
pub mod explain;
pub mod facts;
pub mod id;
pub mod intent;
pub mod mail;
pub mod ordering;
pub mod permission;
pub mod policy;
pub mod prompt;
pub mod query;
pub mod queue;
pub mod reconcile;
pub mod reference;
pub mod resolve;
pub mod resume;
pub mod runtime;
pub mod signal;
pub mod silence;
pub mod state;
pub mod time;
pub mod topology;
