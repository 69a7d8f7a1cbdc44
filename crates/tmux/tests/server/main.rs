//! The crate against real tmux servers: each test starts its own on a private socket and kills it.

mod client;
mod hook_queue;
mod list;
mod pipe;
mod quoting;
mod session;
mod support;
mod untouched;
