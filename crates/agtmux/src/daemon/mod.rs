//! The daemon: opens the store, replays the log, starts the observers, and runs the one loop that owns the truth until
//! it is told to stop.
//!
//! It knows core, store and targets. It does not know HTTP or JSON: the API is a client of [`Handle`].

pub mod actions;
pub mod capabilities;
pub mod clock;
pub mod delivery;
pub mod doors;
mod guesses;
pub mod handle;
pub mod hook_figures;
pub mod ingest;
pub mod log_file;
pub mod mail;
pub mod mainloop;
pub mod observers;
pub mod own_mail;
pub mod projection;
pub mod publish;
pub mod questions;
mod refusal;
mod reload;
pub mod roster;
pub mod said;
pub mod startup;
pub mod world;

use std::path::PathBuf;

use agtmux_wire::error::ErrorCode;

pub use handle::Handle;

use crate::error::CommandError;
use crate::paths::Paths;
use crate::platform::Program;

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The places of the instance.
    pub paths: Paths,
    /// The tmux server it was started for; the user's default one if none.
    pub tmux_socket: Option<PathBuf>,
    /// The program that it runs.
    pub program: Option<Program>,
}

/// The daemon's main loop has ended; nobody answers any more.
pub(crate) fn gone() -> CommandError {
    CommandError::new(ErrorCode::DaemonUnreachable, "the daemon is stopping").hint("try again in a moment")
}
