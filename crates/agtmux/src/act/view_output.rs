//! `view-output`: what an agent printed, without attaching to it.
//!
//! A program that has the whole screen leaves nothing in the scrollback; what it said before is in its own record of the
//! conversation, so that is read instead where it is known. Whatever is read leaves here bounded, redacted, and without anything
//! that a terminal obeys but colours, and those only where they were asked for.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use agtmux_agents::printed::{self, Line};
use agtmux_agents::{detector, transcript};
use agtmux_core::action::{AimedAt, Snapshot};
use agtmux_tmux::act::Guard;
use agtmux_tmux::output::{Printed, printed};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::view_output::OutputSource;

use super::aim::{STALE_HINT, STEP_DEADLINE, missed, tmux_failed};
use super::transcript_file::tail;
use super::{Done, Hands, mark};
use crate::error::CommandError;
use crate::platform;
use crate::store::redact::redact;

/// How many looks can be gone on with. The oldest go first.
const MOST: usize = 256;

/// What was looked at, to look again.
#[derive(Default)]
pub struct Looks(Mutex<VecDeque<Snapshot>>);

impl Looks {
    fn keep(&self, snapshot: Snapshot) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= MOST {
            looks.pop_front();
        }
        looks.push_back(snapshot);
    }

    fn find(&self, action: &str) -> Option<Snapshot> {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.iter().find(|snapshot| snapshot.action.as_str() == action).cloned()
    }
}

/// How much is to be shown.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The last so many lines.
    pub lines: u32,
    /// With colours.
    pub ansi: bool,
    /// With the markers by which agents signal.
    pub raw: bool,
}

impl Order {
    fn shows(&self, line: &str) -> bool {
        self.raw || !detector::is_marker(line)
    }
}

/// What is shown.
pub struct Viewed {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// Where it is from.
    pub source: OutputSource,
    /// The lines.
    pub page: Page,
}

/// Lines that may be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The lines, oldest first.
    pub lines: Vec<String>,
    /// There is more above them.
    pub truncated: bool,
    /// Something was taken out.
    pub redacted: bool,
}

/// Reads what an agent printed.
///
/// # Errors
/// Refused if the pane or the agent is not the one of the snapshot any more.
pub async fn view(hands: Hands, snapshot: Snapshot, order: Order) -> Result<Done<Viewed>, CommandError> {
    hands.looks.keep(snapshot.clone());
    look(&hands, snapshot, order).await
}

async fn look(hands: &Hands, snapshot: Snapshot, order: Order) -> Result<Done<Viewed>, CommandError> {
    let mark = mark(hands, &snapshot).await?;
    // Whatever the agent runs in its foreground, what it prints is the agent's.
    let guard = Guard { command: None, ..mark.guard };
    let shown = printed(&mark.plain, &guard, order.lines, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
    let shown = shown.map_err(|mismatch| missed(&mismatch))?;
    still_there(snapshot.runtime.as_ref())?;
    let told = if shown.alternate { conversation(hands, snapshot.runtime.as_ref(), order).await } else { None };
    let (source, page) = match told {
        Some(page) => (OutputSource::Transcript, page),
        None if shown.alternate => (OutputSource::Screen, page(&shown, order)),
        None => (OutputSource::Scrollback, page(&shown, order)),
    };
    let result = format!("{} lines of its {}", page.lines.len(), source.name());
    Ok(Done { answer: Viewed { snapshot, source, page }, result })
}

/// Looks again where an action of before looked. That one is in the log, and so is this.
///
/// # Errors
/// Refused if no such action is remembered, and as [`view`].
pub async fn view_again(hands: Hands, action: &str, order: Order) -> Result<Viewed, CommandError> {
    let snapshot = hands.looks.find(action).ok_or_else(|| {
        CommandError::new(ErrorCode::SnapshotExpired, format!("{action} is not remembered")).hint("look anew")
    })?;
    look(&hands, snapshot, order).await.map(|done| done.answer)
}

/// What was read is the agent's only if it lived to the end of the reading.
fn still_there(aimed: Option<&AimedAt>) -> Result<(), CommandError> {
    let is_gone = |aimed: &&AimedAt| {
        platform::process_stat(aimed.process.pid).is_none_or(|stat| stat.start != aimed.process.start)
    };
    match aimed.filter(is_gone) {
        Some(aimed) => {
            let message = format!("{} has just ended", aimed.runtime);
            Err(CommandError::new(ErrorCode::RuntimeStale, message).hint(STALE_HINT))
        }
        None => Ok(()),
    }
}

/// The last lines of a screen and its scrollback.
fn page(shown: &Printed, order: Order) -> Page {
    let lines = printed::lines(&shown.text);
    let mut lines: Vec<_> = lines.into_iter().filter(|line| order.shows(&line.text)).collect();
    let wanted = order.lines as usize;
    let truncated = !shown.alternate && (lines.len() > wanted || shown.history > order.lines);
    lines.drain(..lines.len().saturating_sub(wanted));
    let (lines, redacted) = cleaned(lines, order.ansi);
    Page { lines, truncated, redacted }
}

/// The last lines of a conversation, from the agent's own record of it.
async fn conversation(hands: &Hands, aimed: Option<&AimedAt>, order: Order) -> Option<Page> {
    let aimed = aimed.filter(|aimed| transcript::is_readable(aimed.agent.as_str()))?;
    let path: PathBuf = {
        let roster = hands.handle.roster();
        let roster = roster.borrow();
        roster.get(&aimed.runtime)?.conversation.as_ref()?.transcript.clone()?
    };
    let agent = aimed.agent.clone();
    let read = tokio::task::spawn_blocking(move || tail(&path)).await.ok()??;
    let entries = read.documents.iter().flat_map(|line| transcript::entries(agent.as_str(), line));
    let lines = entries.flat_map(|entry| entry.lines().collect::<Vec<_>>());
    let mut lines: Vec<String> = lines.filter(|line| order.shows(line)).collect();
    let wanted = order.lines as usize;
    let truncated = read.has_more || lines.len() > wanted;
    lines.drain(..lines.len().saturating_sub(wanted));
    // A record is text, whatever is in it.
    let lines = lines.iter().flat_map(|line| printed::lines(line.as_bytes()));
    let (lines, redacted) = cleaned(lines.collect(), false);
    (!lines.is_empty()).then_some(Page { lines, truncated, redacted })
}

/// Lines without what looks like a secret. One may be spread over several, so they are looked at together; and one that is
/// partly coloured is found in the text alone, so that a line from which something was taken out loses its colours.
fn cleaned(lines: Vec<Line>, ansi: bool) -> (Vec<String>, bool) {
    let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
    let clean = redact(&text);
    let redacted = clean != text.as_str();
    let clean: Vec<&str> = if lines.is_empty() { Vec::new() } else { clean.split('\n').collect() };
    let is_line_by_line = clean.len() == lines.len();
    let shown = clean.iter().enumerate().map(|(place, clean)| match lines.get(place) {
        Some(line) if ansi && is_line_by_line && line.text == *clean => line.styled.clone(),
        _ => (*clean).to_owned(),
    });
    (shown.collect(), redacted)
}

#[cfg(test)]
mod tests {
    use agtmux_agents::printed::lines;

    use super::cleaned;

    const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

    #[test]
    fn colours_stay_where_nothing_was_taken_out() {
        let (first, rest) = SECRET.split_at(10);
        let output = format!("\u{1b}[32mfine\u{1b}[0m\n\u{1b}[1m{first}\u{1b}[31m{rest}\u{1b}[0m\n");
        let (shown, redacted) = cleaned(lines(output.as_bytes()), true);
        assert!(redacted);
        assert_eq!(shown[0], "\u{1b}[32mfine\u{1b}[0m\u{1b}[0m");
        assert!(shown[1].starts_with("[redacted:") && !shown[1].contains('\u{1b}'), "{shown:?}");
        let (plain, _) = cleaned(lines(output.as_bytes()), false);
        assert_eq!(plain[0], "fine");
        assert_eq!(cleaned(lines(b"a\n\nb"), false), (vec!["a".into(), String::new(), "b".into()], false));
        assert_eq!(cleaned(Vec::new(), true), (Vec::new(), false));
    }

    #[test]
    fn a_secret_of_many_lines_is_taken_out_whole() {
        let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n".repeat(3);
        let key = format!("x\n-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\ny\n");
        let (shown, redacted) = cleaned(lines(key.as_bytes()), true);
        assert!(redacted && !shown.iter().any(|line| line.contains("MIIEvQ")), "{shown:?}");
        assert_eq!((shown.first().map(String::as_str), shown.last().map(String::as_str)), (Some("x"), Some("y")));
    }
}
