//! The shim as a program: real terminals, real tmux, real sockets.
//!
//! F numbers are known failures of such programs, I numbers are invariants.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests do")]

mod common;

mod bytes;
mod farewell;
mod hostile;
mod injecting;
mod jobs;
mod screens;
mod typing;
