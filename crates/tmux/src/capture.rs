//! What a pane shows, with where its cursor is and who has it, taken in one breath.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::PaneId;
use crate::record::{Fields, Record, lossy, unreadable};
use crate::transport::Transport;

/// A pane as it was shown at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// `pane_pid`: the first process of the pane, whose screen this is.
    pub pane_pid: u32,
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

const NUMBERS: &[&str] = &[
    "pane_id",
    "pane_pid",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "pane_in_mode",
    "pane_dead",
];

const TEXTS: &[&str] = &["pane_current_command", "pane_title"];

/// Captures what a pane shows. `None` if it is gone.
pub async fn capture(
    client: &impl Transport,
    pane: PaneId,
    deadline: Duration,
) -> Result<Option<Capture>, ClientError> {
    match capture_all(client, &[pane], deadline).await {
        Ok(mut captures) => Ok(captures.remove(&pane)),
        Err(ClientError::Refused(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Captures what several panes show, for the price of one client.
///
/// # Errors
/// Refused as a whole if one of them is gone.
pub async fn capture_all(
    client: &impl Transport,
    panes: &[PaneId],
    deadline: Duration,
) -> Result<BTreeMap<PaneId, Capture>, ClientError> {
    let fields = Fields::new(NUMBERS, TEXTS)?;
    let script = panes.iter().fold(Script::new(), |script, pane| {
        let about = Command::new("display-message").flag("-p").target(*pane).arg(fields.format());
        let shown = Command::new("capture-pane").flag("-e").flag("-p").target(*pane);
        script.then(&about).then(&shown)
    });
    let output = client.run_script(&script, deadline).await?;
    let mut captures = BTreeMap::new();
    let mut rest = output.as_slice();
    while !rest.is_empty() {
        let (record, shown) = fields.first(rest)?;
        let end = memchr::memmem::find(shown, fields.mark()).unwrap_or(shown.len());
        let (pane, capture) = read(&record, &shown[..end]).ok_or_else(unreadable)?;
        captures.insert(pane, capture);
        rest = &shown[end..];
    }
    // tmux answers for another pane where the one that was asked for is gone.
    captures.retain(|pane, _| panes.contains(pane));
    Ok(captures)
}

/// The text of a pane with so many lines of its history, oldest first. Rows that the pane wrapped are one line. `None` if
/// the pane is gone.
pub async fn history(
    client: &impl Transport,
    pane: PaneId,
    lines: u32,
    deadline: Duration,
) -> Result<Option<Vec<u8>>, ClientError> {
    let fields = Fields::new(&["pane_id"], &[])?;
    let about = Command::new("display-message").flag("-p").target(pane).arg(fields.format());
    let shown = Command::new("capture-pane").flag("-p").flag("-J").opt("-S", format!("-{lines}")).target(pane);
    let output = match client.run_script(&Script::new().then(&about).then(&shown), deadline).await {
        Err(ClientError::Refused(_)) => return Ok(None),
        output => output?,
    };
    let (record, shown) = fields.first(&output)?;
    // tmux answers for another pane where the one that was asked for is gone.
    let is_it = record.numbers().next().and_then(PaneId::parse) == Some(pane);
    Ok(is_it.then(|| shown.strip_prefix(b"\n").unwrap_or(shown).to_vec()))
}

fn read(record: &Record, shown: &[u8]) -> Option<(PaneId, Capture)> {
    let mut numbers = record.numbers();
    let mut texts = record.texts().map(lossy);
    let pane = PaneId::parse(numbers.next()?)?;
    let capture = Capture {
        pane_pid: numbers.number()?,
        text: shown.strip_prefix(b"\n").unwrap_or(shown).to_vec(),
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
    Some((pane, capture))
}
