//! What a pane printed: its screen, and the scrollback above it.

use std::time::Duration;

use crate::act::{Acted, Guard, Mismatch, guarded};
use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::record::{Fields, Record, unreadable};
use crate::transport::Transport;

/// What a pane printed, as far as tmux still has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Printed {
    /// Its lines, styled by SGR sequences. Lines that were wrapped are whole again.
    pub text: Vec<u8>,
    /// `alternate_on`: a program has the whole screen and leaves nothing in the scrollback; the text is that screen alone.
    pub alternate: bool,
    /// `history_size`: how many lines there are above the screen.
    pub history: u32,
}

const NUMBERS: &[&str] = &["pane_id", "alternate_on", "history_size"];

/// Reads the screen of the pane of a guard and at most so many lines above it, if the guard holds at that moment.
///
/// # Errors
/// Fails when the server is gone or does not answer in time.
pub async fn printed(
    client: &impl Transport,
    guard: &Guard,
    above: u32,
    deadline: Duration,
) -> Result<Result<Printed, Mismatch>, ClientError> {
    let fields = Fields::new(NUMBERS, &[])?;
    let about = Command::new("display-message").flag("-p").target(guard.pane).arg(fields.format());
    let capture = || Command::new("capture-pane").flag("-e").flag("-p").flag("-J").target(guard.pane);
    // What is above a screen that a program has for itself is not the program's.
    let choice = Command::new("if-shell")
        .flag("-F")
        .target(guard.pane)
        .arg("#{alternate_on}")
        .commands(&Script::from(&capture()))
        .commands(&Script::from(&capture().opt("-S", format!("-{above}"))));
    let script = Script::new().then(&about).then(&choice);
    let output = match guarded(client, guard, &script, &Script::new(), deadline).await? {
        Acted::Done(output) => output,
        Acted::Refused(mismatch) => return Ok(Err(mismatch)),
    };
    let (record, shown) = fields.first(&output)?;
    read(&record, shown).map(Ok).ok_or_else(unreadable)
}

fn read(record: &Record, shown: &[u8]) -> Option<Printed> {
    let mut numbers = record.numbers();
    let (_pane, alternate, history) = (numbers.next()?, numbers.flag()?, numbers.number()?);
    Some(Printed { text: shown.strip_prefix(b"\n").unwrap_or(shown).to_vec(), alternate, history })
}
