//! What a pane shows, for those who look at screens.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use agtmux_agents::screen::{Cursor, Foreground, ScreenContext};
use agtmux_core::id::{PaneId, ProcessKey};
use agtmux_tmux::client::ClientError;
use agtmux_tmux::{Plain, capture as shown};

pub use agtmux_tmux::capture::Capture as Captured;

use crate::platform;

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

/// Captures panes of one server for the price of one client. Those that are gone are left out.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn capture_all(
    tmux: &Path,
    socket: &Path,
    panes: &[PaneId],
    deadline: Duration,
) -> Result<BTreeMap<PaneId, Captured>, ClientError> {
    let plain = Plain::new(tmux, socket);
    let ids: Vec<_> = panes.iter().map(|pane| agtmux_tmux::PaneId(pane.0)).collect();
    let captured = match shown::capture_all(&plain, &ids, deadline).await {
        // One of them is gone: each is asked for alone.
        Err(ClientError::Refused(_)) => {
            let mut captured = BTreeMap::new();
            for id in ids {
                captured.extend(shown::capture(&plain, id, deadline).await?.map(|shown| (id, shown)));
            }
            captured
        }
        captured => captured?,
    };
    Ok(captured.into_iter().map(|(pane, shown)| (PaneId(pane.0), shown)).collect())
}

/// The text of a pane with so many lines of its history, oldest first. `None` if the pane is gone.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn history(
    tmux: &Path,
    socket: &Path,
    pane: PaneId,
    lines: u32,
    deadline: Duration,
) -> Result<Option<Vec<u8>>, ClientError> {
    shown::history(&Plain::new(tmux, socket), agtmux_tmux::PaneId(pane.0), lines, deadline).await
}

/// What is known about a captured pane besides what it shows; none if the agent's process is not there any more.
pub fn context(captured: &Captured, agent: ProcessKey) -> Option<ScreenContext> {
    let stat = platform::process_stat(agent.pid).filter(|stat| stat.start == agent.start)?;
    let in_foreground = i64::from(stat.tpgid) == i64::from(stat.pgid);
    Some(ScreenContext {
        size: Some((captured.width as usize, captured.height as usize)),
        cursor: Some(Cursor {
            column: captured.cursor_x as usize,
            row: captured.cursor_y as usize,
            visible: captured.cursor_visible,
        }),
        title: Some(captured.title.clone()),
        dead: captured.dead,
        foreground: Foreground::of(Some(in_foreground), Some(&captured.command)),
    })
}
