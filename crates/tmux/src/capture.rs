//! What a pane shows, with where its cursor is and who has it, taken in one breath.

use std::time::Duration;

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::PaneId;
use crate::record::{Fields, lossy, unreadable};
use crate::transport::Transport;

/// A pane as it was shown at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Its lines, styled by SGR sequences, as `capture-pane -e -p` gives them.
    pub text: Vec<u8>,
    /// `pane_width`, in cells.
    pub width: u32,
    /// `pane_height`, in cells.
    pub height: u32,
    /// `cursor_x`: column of the cursor.
    pub cursor_x: u32,
    /// `cursor_y`: row of the cursor.
    pub cursor_y: u32,
    /// `cursor_flag`: the cursor is visible.
    pub cursor_visible: bool,
    /// `pane_in_mode`: copy mode or another mode covers what was captured.
    pub in_mode: bool,
    /// `pane_dead`: the process ended and the pane remains.
    pub dead: bool,
    /// `pane_current_command`.
    pub command: String,
    /// `pane_title`.
    pub title: String,
}

const NUMBERS: &[&str] =
    &["pane_id", "pane_width", "pane_height", "cursor_x", "cursor_y", "cursor_flag", "pane_in_mode", "pane_dead"];

const TEXTS: &[&str] = &["pane_current_command", "pane_title"];

/// Captures what a pane shows. `None` if it is gone.
pub async fn capture(
    client: &impl Transport,
    pane: PaneId,
    deadline: Duration,
) -> Result<Option<Capture>, ClientError> {
    let fields = Fields::new(NUMBERS, TEXTS)?;
    let about = Command::new("display-message").flag("-p").target(pane).arg(fields.format());
    let shown = Command::new("capture-pane").flag("-e").flag("-p").target(pane);
    let output = match client.run_script(&Script::new().then(&about).then(&shown), deadline).await {
        Err(ClientError::Refused(_)) => return Ok(None),
        output => output?,
    };
    let (record, rest) = fields.first(&output)?;
    let mut numbers = record.numbers();
    let mut texts = record.texts().map(lossy);
    let mut read = || {
        let id = PaneId::parse(numbers.next()?)?;
        let capture = Capture {
            text: rest.strip_prefix(b"\n").unwrap_or(rest).to_vec(),
            width: numbers.number()?,
            height: numbers.number()?,
            cursor_x: numbers.number()?,
            cursor_y: numbers.number()?,
            cursor_visible: numbers.flag()?,
            in_mode: numbers.flag()?,
            dead: numbers.flag()?,
            command: texts.next()?,
            title: texts.next()?,
        };
        Some((id, capture))
    };
    let (id, capture) = read().ok_or_else(unreadable)?;
    // tmux answers for another pane where the one that was asked for is gone.
    Ok((id == pane).then_some(capture))
}
