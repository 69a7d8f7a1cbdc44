//! The status file: one line that says how the agent stands. The file is the state, so a daemon that starts reads it and
//! knows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agtmux_agents::Reading;
use agtmux_agents::schmux;
use agtmux_core::signal::{Signal, Source};
use sha2::{Digest, Sha256};

use super::located::{FileStamp, Located, Refused};
use super::trace::{Moment, News, Place, Trace, is_of_this_life};
use crate::daemon::roster::Member;
use crate::platform;

/// The largest status file that is read.
const LIMIT: u64 = 4_096;

/// A runtime's status file.
pub(super) struct StatusFile {
    file: Located,
    path: PathBuf,
    seen: Option<Seen>,
    /// Why it was not read the last time.
    refused: Option<String>,
    /// The boot clock at the last look; none before the first.
    looked_at: Option<u64>,
}

struct Seen {
    stamp: FileStamp,
    text: String,
    /// The keys told of this file while its time stood still.
    keys: BTreeSet<String>,
}

impl StatusFile {
    pub(super) fn new(file: Located) -> Self {
        Self { path: file.path(), file, seen: None, refused: None, looked_at: None }
    }

    fn read(&mut self, member: &Member, stamp: FileStamp, text: String, news: &mut News) {
        let known = self.seen.as_ref();
        if known.is_some_and(|seen| seen.stamp == stamp && seen.text == text) {
            return;
        }
        // An empty file is one in the middle of being written: what it said before still stands.
        let Some(reading) = schmux::status_line(&text) else {
            return;
        };
        let same_time = |seen: &&Seen| (seen.stamp.inode, seen.stamp.modified_ns) == (stamp.inode, stamp.modified_ns);
        let mut keys = known.filter(same_time).map(|seen| seen.keys.clone()).unwrap_or_default();
        // The times of files stand still for milliseconds. What is said again meanwhile is said anew, while what is read
        // again after a restart is not.
        let base = format!("{}:{}:{}", stamp.inode, stamp.modified_ns, hash(&text));
        let key = std::iter::once(base.clone())
            .chain((1..).map(|count| format!("{base}+{count}")))
            .find(|key| !keys.contains(key))
            .unwrap_or(base);
        keys.insert(key.clone());
        self.seen = Some(Seen { stamp, text: text.clone(), keys });
        let mut moment = Moment::of(stamp.modified());
        match self.looked_at {
            Some(before) => moment = moment.not_before(before),
            // Left by an agent that had the same environment before.
            None if !is_of_this_life(member, moment.time) => return,
            None => {}
        }
        warn_of_near_miss(&self.path, &reading);
        news.say(Source::StatusFile, member, moment, vec![reading.with_key(key)], &text);
    }

    fn refuse(&mut self, member: &Member, why: &Refused, news: &mut News) {
        let said_something = self.seen.take().is_some();
        if matches!(why, Refused::Missing) {
            self.refused = None;
            if said_something {
                let withdrawn = Reading::new(Signal::Withdrawn);
                news.say(Source::StatusFile, member, Moment::now(), vec![withdrawn], "the status file was removed");
            }
            return;
        }
        let what = format!("status file {} is not read: {why}", self.path.display());
        if self.refused.as_ref() != Some(&what) {
            tracing::warn!("{what}");
            news.say(Source::StatusFile, member, Moment::now(), vec![schmux::near_miss(&what)], &what);
            self.refused = Some(what);
        }
    }
}

impl Trace for StatusFile {
    fn places(&self) -> Vec<Place> {
        Place::file(&self.path).into_iter().collect()
    }

    fn look(&mut self, member: &Member, news: &mut News) -> bool {
        let now = platform::boot_clock_ns();
        let read = self.file.open(LIMIT).and_then(|opened| {
            let bytes = opened.read_at(0, LIMIT as usize).map_err(Refused::Unreadable)?;
            Ok((opened.stamp, String::from_utf8_lossy(&bytes).into_owned()))
        });
        match read {
            Ok((stamp, text)) => {
                self.refused = None;
                self.read(member, stamp, text, news);
            }
            Err(why) => self.refuse(member, &why, news),
        }
        self.looked_at = Some(now);
        false
    }

    fn claimed(&self) -> Option<(Source, &Path)> {
        Some((Source::StatusFile, &self.path))
    }
}

fn warn_of_near_miss(path: &Path, reading: &Reading) {
    if let Signal::Unsupported { what } = &reading.signal {
        tracing::warn!(path = %path.display(), line = what, "a status file with a state that nobody knows");
    }
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
