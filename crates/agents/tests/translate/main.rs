//! What the structured traces mean, tried on the recordings of the real agents.

#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "a test may fail, and need not be fast")]
#![allow(clippy::disallowed_methods, reason = "recordings are files")]

mod corpus;
mod recording;
mod render;
mod servers;
mod states;
mod tables;
mod world;
