//! What a pane shows, for those who look at screens.

use std::path::Path;
use std::time::Duration;

use agtmux_core::id::PaneId;
use agtmux_tmux::client::ClientError;
use agtmux_tmux::{Plain, capture as shown};

pub use agtmux_tmux::capture::Capture as Captured;

/// Captures a pane of the server behind a socket. `None` if the pane is gone.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn capture(
    tmux: &Path,
    socket: &Path,
    pane: PaneId,
    deadline: Duration,
) -> Result<Option<Captured>, ClientError> {
    shown::capture(&Plain::new(tmux, socket), agtmux_tmux::PaneId(pane.0), deadline).await
}
