//! The daemon: opens the store, replays the log, starts the observers and the API, and runs the one loop that owns
//! the truth until it is told to stop.
//!
//! It knows core, store and targets. It does not know HTTP or JSON: the API is a client of [`Handle`].

pub mod clock;
pub mod handle;
pub mod ingest;
pub mod log_file;
pub mod mainloop;
pub mod observers;
pub mod projection;
pub mod publish;
pub mod startup;
pub mod world;

use std::path::PathBuf;

use agtmux_wire::error::ErrorCode;
use tokio::signal::unix::{SignalKind, signal};

pub use handle::Handle;

use crate::error::CommandError;
use crate::paths::Paths;
use crate::{api, platform};

/// What a daemon is started with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The places of the instance.
    pub paths: Paths,
    /// The tmux server it was started for; the user's default one if none.
    pub tmux_socket: Option<PathBuf>,
}

/// Runs a daemon until it is told to stop. Calls `ready` once it serves.
///
/// # Errors
/// Fails when the configuration, the state directory or the socket cannot be used.
pub async fn run(options: Options, ready: impl FnOnce()) -> Result<(), CommandError> {
    let started = startup::start(&options).await?;
    let listener = api::listener::bind(&options.paths.socket)?;
    let handle = started.handle.clone();
    let server = tokio::spawn(api::serve(listener, handle.clone()));
    tracing::info!(pid = std::process::id(), socket = %options.paths.socket.display(), boot = platform::boot_id(), "ready");
    ready();
    let stopper = tokio::spawn(stop_on_signal(handle.clone()));
    let outcome = started.mainloop.run().await;
    stopper.abort();
    server.abort();
    api::listener::unbind(&options.paths.socket);
    tracing::info!("stopped");
    outcome
}

/// SIGTERM, SIGINT and SIGHUP stop the daemon as `agtmux daemon stop` does.
async fn stop_on_signal(handle: Handle) {
    let signals = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
    let [Ok(mut terminate), Ok(mut interrupt), Ok(mut hangup)] = signals else {
        tracing::warn!("signals cannot be handled");
        return;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
    handle.stop().await;
}

/// The daemon's main loop has ended; nobody answers any more.
pub(crate) fn gone() -> CommandError {
    CommandError::new(ErrorCode::DaemonUnreachable, "the daemon is stopping").hint("try again in a moment")
}
