//! What is read of one runtime: a file, or a few, that say what its agent does.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agtmux_agents::Reading;
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::Source;
use agtmux_core::state::Verdict;
use agtmux_core::time::Timestamp;

use crate::daemon::roster::{Conversation, Member};
use crate::daemon::said::Said;
use crate::platform;

/// How long a file is given to follow what was heard elsewhere, before what it still says is said again.
pub(super) const SETTLE: Duration = Duration::from_secs(1);

/// Something on disk that speaks of one runtime.
pub(super) trait Trace: Send {
    /// Where a change may concern it.
    fn places(&self) -> Vec<Place>;

    /// Looks at it and tells what is new. Says whether there is more to be read than one look may take.
    fn look(&mut self, member: &Member, news: &mut News) -> bool;

    /// Whether news of the runtime from elsewhere may help to find it.
    fn is_searching(&self) -> bool {
        false
    }

    /// Takes note of how the runtime is shown. If that does not go with a question that it has, says how long to wait before
    /// another look: it is given [`SETTLE`] to follow what was heard elsewhere.
    fn is_shown_as(&mut self, _verdict: &Verdict) -> Option<Duration> {
        None
    }

    /// The file and what it is, if only the environment says whose. Environments are inherited: a file that two runtimes
    /// are told to use speaks for neither.
    fn claimed(&self) -> Option<(Source, &Path)> {
        None
    }

    /// The record that is read, if it is one of a conversation. A conversation can be open in two agents, and a line of its record
    /// says nothing of which of them it is about: such a record speaks for neither. What it said before still holds.
    fn kept(&self) -> Option<&Path> {
        None
    }
}

/// A directory, and what of it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dir: PathBuf,
    /// One file; none for all of them.
    pub(super) name: Option<OsString>,
}

impl Place {
    pub(super) fn file(path: &Path) -> Option<Self> {
        Some(Self { dir: path.parent()?.to_owned(), name: Some(path.file_name()?.to_owned()) })
    }

    pub(super) fn all_of(dir: PathBuf) -> Self {
        Self { dir, name: None }
    }

    pub(super) fn concerns(&self, dir: &Path, name: &OsStr) -> bool {
        self.dir == dir && self.name.as_deref().is_none_or(|wanted| wanted == name)
    }
}

/// What a reader has to tell the daemon.
#[derive(Debug)]
pub(super) enum Told {
    /// Readings of a trace.
    Said(Box<Said>),
    /// Which conversation an agent is in.
    Conversation(RuntimeId, Conversation),
    /// What an agent's record says that it was given.
    Given(RuntimeId, String),
    /// What keeps files from being watched, if anything.
    Trouble(Option<String>),
}

/// What one look found.
#[derive(Debug, Default)]
pub(super) struct News(pub(super) Vec<Told>);

impl News {
    /// Tells what a trace says of a runtime, and when it was said.
    pub(super) fn say(&mut self, source: Source, member: &Member, moment: Moment, readings: Vec<Reading>, raw: &str) {
        if readings.is_empty() {
            return;
        }
        let mut said = Said::now(source, member.claim(), readings);
        said.boot_ns = Some(moment.boot_ns);
        said.event_time = Some(moment.time);
        said.payload = Some(raw.to_owned());
        self.0.push(Told::Said(Box::new(said)));
    }

    /// Tells what a runtime's agent was given.
    pub(super) fn give(&mut self, member: &Member, given: Vec<String>) {
        self.0.extend(given.into_iter().map(|text| Told::Given(member.runtime.clone(), text)));
    }

    /// Tells which conversation a runtime is in.
    pub(super) fn converse(&mut self, member: &Member, conversation: Conversation) {
        self.0.push(Told::Conversation(member.runtime.clone(), conversation));
    }
}

/// When something was said, on the boot clock that orders it among what other sources said, and for display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) boot_ns: u64,
    pub(super) time: Timestamp,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self::of(SystemTime::now())
    }

    /// A reading of the wall clock of this boot. What lies ahead is now.
    pub(super) fn of(time: SystemTime) -> Self {
        let (now, boot_ns) = (SystemTime::now(), platform::boot_clock_ns());
        let age = now.duration_since(time).unwrap_or_default();
        let age_ns = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        let unix = (now - age).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self {
            boot_ns: boot_ns.saturating_sub(age_ns),
            time: Timestamp(i64::try_from(unix.as_millis()).unwrap_or(i64::MAX)),
        }
    }

    /// A time in milliseconds since 1970.
    pub(super) fn of_unix_ms(ms: i64) -> Self {
        Self::of(SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
    }

    /// The same, but not before a reading of the boot clock: what was not there at a look was said after it, whatever
    /// the file's own times pretend.
    pub(super) fn not_before(self, boot_ns: u64) -> Self {
        Self { boot_ns: self.boot_ns.max(boot_ns), ..self }
    }
}

/// Whether something that was written then can be of a runtime, or was left by another before it.
pub(super) fn is_of_this_life(member: &Member, written: Timestamp) -> bool {
    // Starts are rounded down, and so are the times of files, by less than this.
    const SLACK_MS: u64 = 50;
    let started = platform::started_at_unix_ms(member.process.start).saturating_sub(SLACK_MS);
    u64::try_from(written.0).is_ok_and(|written| written >= started)
}
