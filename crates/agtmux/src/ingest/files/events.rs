//! The events file: JSON lines by which an agent says how it stands, and why.

use std::path::{Path, PathBuf};

use agtmux_agents::schmux;
use agtmux_core::signal::Source;

use super::journal::{Entry, Journal, time_of};
use super::located::{Located, Refused};
use super::trace::{Moment, News, Place, Trace};
use crate::daemon::roster::Member;

/// A runtime's events file.
pub(super) struct EventsFile {
    journal: Journal,
    path: PathBuf,
    refused: Option<String>,
}

impl EventsFile {
    pub(super) fn new(file: Located) -> Self {
        let journal = Journal::new(Source::EventsFile, file, Box::new(entry));
        Self { path: journal.path().clone(), journal, refused: None }
    }
}

impl Trace for EventsFile {
    fn places(&self) -> Vec<Place> {
        Place::file(&self.path).into_iter().collect()
    }

    fn look(&mut self, member: &Member, news: &mut News) -> bool {
        match self.journal.look(member, news) {
            Ok(has_more) => return has_more,
            Err(Refused::Missing) => self.refused = None,
            Err(why) => {
                let what = format!("events file {} is not read: {why}", self.path.display());
                if self.refused.as_ref() != Some(&what) {
                    tracing::warn!("{what}");
                    news.say(Source::EventsFile, member, Moment::now(), vec![schmux::near_miss(&what)], &what);
                    self.refused = Some(what);
                }
            }
        }
        false
    }

    fn claimed(&self) -> Option<(Source, &Path)> {
        Some((Source::EventsFile, &self.path))
    }
}

fn entry(line: &str) -> Entry {
    let read = schmux::event_line(line);
    Entry {
        given: Vec::new(),
        readings: read.reading.into_iter().collect(),
        session: read.resume_id,
        time: read.time.as_deref().and_then(time_of),
    }
}
