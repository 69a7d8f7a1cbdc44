//! Mail on its whole way, with everything that can fail on it: the real post office and its real rules, between a daemon that crashes,
//! wrappers that type each delivery once, and agents that come and go.
//!
//! | file | what it does |
//! |---|---|
//! | [`world`] | the daemon's steps, as `daemon/mail.rs` and `act/deliver.rs` take them, and what must hold after each |
//! | [`courier`], [`hooks`], [`server`] | a delivery by keys, by a hook that waits and by the agent's own server, as `act/` and `ingest/` make it |
//! | [`agent`] | an agent, its wrapper and its hooks, and what was really done to it |
//! | [`model`] | every order of steps in a small world, exhaustively |
//! | [`simulation`] | random orders in a larger one, under a clock that is made up |
//! | [`storms`] | agents that answer everything |
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a test may fail, and is told from outside how long to search"
)]

mod agent;
mod courier;
mod hooks;
mod model;
mod server;
mod simulation;
mod storms;
mod world;
