//! A journal that an agent keeps of what it does, one JSON object per line.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use agtmux_agents::Reading;
use agtmux_agents::schmux;
use agtmux_core::signal::{Signal, Source};

use super::located::{Located, Refused};
use super::tail::{Grown, Line, Tail, Text};
use super::trace::{Moment, News, is_of_this_life};
use crate::daemon::roster::{Conversation, Member};
use crate::platform;

/// What one line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) readings: Vec<Reading>,
    /// What it says the agent was given, as far as messages of ours may be in it.
    pub(super) given: Vec<String>,
    /// The agent's id of its conversation.
    pub(super) session: Option<String>,
    /// When it was written, as the line says.
    pub(super) time: Option<SystemTime>,
}

/// Reads one line in the light of those before it.
pub(super) type Interpret = Box<dyn FnMut(&str) -> Entry + Send>;

/// A journal and how far it has been read.
pub(super) struct Journal {
    source: Source,
    path: PathBuf,
    tail: Tail,
    interpret: Interpret,
    /// Whether a line that is too long is worth a word: agents' own records have many, which say nothing of interest.
    minds_long_lines: bool,
    looked_at: u64,
}

impl Journal {
    pub(super) fn new(source: Source, file: Located, interpret: Interpret) -> Self {
        let minds_long_lines = source == Source::EventsFile;
        Self { source, path: file.path(), tail: Tail::new(file), interpret, minds_long_lines, looked_at: 0 }
    }

    pub(super) fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Tells what was added since the last look. Says whether there is more to be read.
    pub(super) fn look(&mut self, member: &Member, news: &mut News) -> Result<bool, Refused> {
        let now = platform::boot_clock_ns();
        let grown = self.tail.read()?;
        let mut entries = self.entries(&grown);
        if grown.is_first {
            entries.retain(|(_, entry, moment)| entry.time.is_none() || is_of_this_life(member, moment.time));
            keep_what_stands(&mut entries);
        }
        // Lines were written in their order, however close and whatever their own clocks say.
        let mut last = if grown.is_first { 0 } else { self.looked_at };
        for (line, entry, moment) in entries {
            let moment = moment.not_before(last);
            last = moment.boot_ns;
            news.give(member, entry.given);
            if let Some(session) = entry.session {
                news.converse(member, Conversation { session: Some(session), ..Conversation::default() });
            }
            let key = |reading: Reading| match &reading.key {
                Some(_) => reading,
                None => reading.with_key(format!("{}:{}", grown.stamp.inode, line.offset)),
            };
            let readings = entry.readings.into_iter().map(key).collect();
            news.say(self.source, member, moment, readings, line.text.shown());
        }
        self.looked_at = now;
        Ok(grown.has_more)
    }

    fn entries(&mut self, grown: &Grown) -> Vec<(Line, Entry, Moment)> {
        let read = |line: &Line| {
            let entry = match &line.text {
                Text::Whole(text) if text.trim().is_empty() => return None,
                Text::Whole(text) => (self.interpret)(text),
                Text::Cut(start) if self.minds_long_lines => {
                    let what = format!("a line of more than {} bytes: {start}", super::tail::LINE);
                    Entry { readings: vec![schmux::near_miss(&what)], ..Entry::default() }
                }
                Text::Cut(_) => return None,
            };
            let moment = Moment::of(entry.time.unwrap_or_else(|| grown.stamp.modified()));
            Some((line.clone(), entry, moment))
        };
        grown.lines.iter().filter_map(read).collect()
    }
}

impl Text {
    fn shown(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Cut(text) => text,
        }
    }
}

/// A time as journals write it: RFC 3339, or milliseconds since 1970.
pub(super) fn time_of(text: &str) -> Option<SystemTime> {
    let ms = match text.parse::<u64>() {
        Ok(ms) => ms,
        Err(_) => u64::try_from(text.parse::<jiff::Timestamp>().ok()?.as_millisecond()).ok()?,
    };
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(ms))
}

/// Of what was written before anybody looked, only that counts which nothing later has overtaken: from the last turn
/// boundary on. The rest would call for attention that nobody needs any more.
fn keep_what_stands(entries: &mut [(Line, Entry, Moment)]) {
    let is_boundary = |reading: &Reading| {
        matches!(reading.signal, Signal::TurnStarted | Signal::TurnEnded { .. } | Signal::Idle | Signal::Withdrawn)
    };
    if let Some(last) = entries.iter().rposition(|(_, entry, _)| entry.readings.iter().any(is_boundary)) {
        for (_, entry, _) in &mut entries[..last] {
            entry.readings.clear();
        }
    }
}
