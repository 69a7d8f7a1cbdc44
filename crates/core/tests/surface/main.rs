//! The engine as others use it: what may be asked of it, what is read from it, and how large it may grow.
#![allow(clippy::unwrap_used, clippy::format_push_string, reason = "a test may fail, and need not be fast")]

mod acting;
mod bounds;
mod commands;
mod inheritance;
mod mailing;
mod queueing;
mod reading;
mod reconciling;
mod resuming;
mod silence;
mod waiting;
mod world;
