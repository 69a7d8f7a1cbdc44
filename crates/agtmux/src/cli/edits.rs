//! Edits of files, shown to people before and after they are made.

use std::io::{self, BufRead, IsTerminal};

use agtmux_wire::error::ErrorCode;
use serde::Serialize;
use similar::TextDiff;

use super::output::{self, printable};
use crate::error::CommandError;
use crate::setup::change::{Found, Outcome};

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// One file, and what becomes of it.
#[derive(Debug, Serialize)]
pub struct FileEdit {
    /// Where it is.
    pub path: String,
    /// `unchanged`, `created`, `edited` or `deleted`.
    pub change: &'static str,
    #[serde(skip)]
    before: Option<String>,
    #[serde(skip)]
    after: Option<String>,
}

/// The edits of files, for showing.
pub fn of<'f>(edits: impl Iterator<Item = (&'f Found, Option<&'f [u8]>)>) -> Vec<FileEdit> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    edits
        .map(|(file, after)| FileEdit {
            path: file.path.display().to_string(),
            change: Outcome::of(file.bytes.as_deref(), after).word(),
            before: file.bytes.as_deref().map(text),
            after: after.map(text),
        })
        .collect()
}

impl FileEdit {
    /// Whether anything becomes of it.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// The change as a unified diff; empty if there is none.
    pub fn diff(&self, color: bool) -> String {
        if !self.is_change() {
            return String::new();
        }
        let name = |text: &Option<String>| if text.is_some() { self.path.as_str() } else { "/dev/null" };
        let (before, after) = (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let diff = TextDiff::from_lines(before, after);
        let unified =
            diff.unified_diff().context_radius(CONTEXT).header(name(&self.before), name(&self.after)).to_string();
        unified.lines().map(|line| format!("{}\n", painted(line, color))).collect()
    }
}

/// Asks before files that exist are changed. Without a terminal nobody can be asked: a script that says `setup` means it.
pub fn confirm(edits: &[FileEdit]) -> Result<(), CommandError> {
    if edits.is_empty() || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    for edit in edits {
        output::remark(&format!("{:9} {}", edit.change, printable(&edit.path)));
    }
    output::remark("Go ahead? (--dry-run shows every line) [y/N]");
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(CommandError::internal)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(CommandError::new(ErrorCode::Cancelled, "nothing was done").hint("say --yes to go ahead unasked")),
    }
}

fn painted(line: &str, color: bool) -> String {
    let line = printable(line);
    let code = match line.as_bytes().first() {
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return line,
    };
    if color { format!("\x1b[{code}m{line}\x1b[0m") } else { line }
}
