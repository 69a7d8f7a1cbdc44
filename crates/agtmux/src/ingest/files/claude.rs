//! Claude's session file, `sessions/<pid>.json` below its configuration directory: rewritten whenever its status changes,
//! removed when it ends in order, and left standing when it is killed.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::translate::{SessionRecord, claude_session_file};
use agtmux_core::id::ProcessKey;
use agtmux_core::signal::{Signal, Source};
use agtmux_core::state::{State, Verdict};
use agtmux_core::time::Timestamp;

use super::located::Located;
use super::trace::{Moment, News, Place, SETTLE, Trace};
use crate::daemon::roster::{Conversation, Member};
use crate::platform;

/// The largest session file that is read; real ones have less than a kilobyte.
const LIMIT: u64 = 64 * 1_024;

/// How many session files are looked through for the one of a process below the runtime's.
const CANDIDATES: usize = 1_024;

/// Between a turn and one that was queued the file says idle, for about 50 ms.
const BETWEEN: Duration = Duration::from_millis(300);

/// A hook and the file tell of one turn within this time.
const SAME_TURN_MS: i64 = 1_000;

/// How long what was told is left to stand before it is renewed. Facts from a session file hold for much longer.
const RENEW_NS: u64 = 60 * 60 * 1_000_000_000;

/// The session file of a runtime.
pub(super) struct SessionFile {
    /// Claude's configuration directory.
    config: PathBuf,
    /// The process whose file it is, once found: the runtime's own, or one that its launcher started.
    process: Option<ProcessKey>,
    seen: Option<SessionRecord>,
    /// The boot clock at the last look that found it, and when it last told something.
    looked_at: u64,
    told_at: u64,
    overruled: Option<Overruled>,
    /// The boot clock when the file was seen to be between two turns, perhaps.
    between_since: Option<u64>,
}

/// The file has a question, and another state is shown.
#[derive(Clone, Copy)]
struct Overruled {
    /// Since when that state is shown.
    since: Timestamp,
    /// The boot clock when that was noticed.
    noticed: u64,
    /// Whether it was said that the question is still there. Once is enough.
    is_said: bool,
}

impl SessionFile {
    pub(super) fn new(config: PathBuf) -> Self {
        Self { config, process: None, seen: None, looked_at: 0, told_at: 0, overruled: None, between_since: None }
    }

    fn dir(&self) -> PathBuf {
        self.config.join("sessions")
    }

    fn located(&self, pid: u32) -> Located {
        Located::below(&self.config, format!("sessions/{pid}.json"))
    }

    /// The record of a process, if its file is really about that process: pids come back, and files stay behind.
    fn read(&self, process: ProcessKey) -> Option<(SessionRecord, String)> {
        let opened = self.located(process.pid).open(LIMIT).ok()?;
        let bytes = opened.read_at(0, LIMIT as usize).ok()?;
        let record = claude_session_file(&serde_json::from_slice(&bytes).ok()?)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        is_of(&record, process).then_some((record, text))
    }

    /// Whether it is time to say that the question is still there: the file has had time to follow what was heard
    /// elsewhere, and did not.
    fn insists(&self, now: u64) -> bool {
        self.overruled.is_some_and(|overruled| !overruled.is_said && elapsed(overruled.noticed, now) >= SETTLE)
    }

    fn asks(&self) -> bool {
        let asks = |reading: &Reading| matches!(reading.signal, Signal::Blocked { .. });
        self.seen.as_ref().is_some_and(|seen| seen.readings.iter().any(asks))
    }

    /// Whether it is too early to say that the agent is idle, since a queued turn may be about to begin.
    fn waits_between_turns(&mut self, member: &Member, record: &SessionRecord, now: u64) -> bool {
        let says = |record: &SessionRecord, signal: &Signal| record.readings.iter().any(|told| told.signal == *signal);
        let busy = self.seen.as_ref().filter(|seen| says(seen, &Signal::TurnStarted));
        let begun_anew = busy.is_some_and(|busy| has_begun_anew(&member.verdict, busy.status_updated_at));
        if !begun_anew || !says(record, &Signal::Idle) {
            self.between_since = None;
            return false;
        }
        let since = *self.between_since.get_or_insert(now);
        elapsed(since, now) < BETWEEN
    }

    fn find(&self, member: &Member) -> Option<ProcessKey> {
        if self.read(member.process).is_some() {
            return Some(member.process);
        }
        let entries = fs::read_dir(self.dir()).ok()?;
        let pids = entries.flatten().take(CANDIDATES).filter_map(|entry| pid_of(&entry.file_name()));
        let below = pids.filter(|pid| *pid != member.process.pid).filter_map(|pid| {
            let lineage = platform::ancestors(pid);
            let is_below = lineage.contains(&(member.process.pid, member.process.start));
            lineage.first().filter(|_| is_below).map(|(pid, start)| ProcessKey { pid: *pid, start: *start })
        });
        below.into_iter().find(|process| self.read(*process).is_some())
    }
}

impl Trace for SessionFile {
    fn places(&self) -> Vec<Place> {
        match self.process {
            Some(process) => Place::file(&self.located(process.pid).path()).into_iter().collect(),
            None => vec![Place::all_of(self.dir())],
        }
    }

    fn look(&mut self, member: &Member, news: &mut News) -> bool {
        self.process = self.process.or_else(|| self.find(member));
        let Some(process) = self.process else {
            self.overruled = None;
            return false;
        };
        let now = platform::boot_clock_ns();
        // A file that is just being written is not whole; the end of the writing is told too.
        let Some((record, text)) = self.read(process) else {
            if !is_alive(process) {
                self.process = None;
            }
            // What cannot be read insists on nothing.
            self.overruled = None;
            return false;
        };
        if self.waits_between_turns(member, &record, now) {
            return false;
        }
        if self.seen.as_ref().is_none_or(|seen| seen.readings != record.readings) {
            let moment = record.status_updated_at.map_or_else(Moment::now, Moment::of_unix_ms);
            news.say(Source::VendorFile, member, moment.not_before(self.looked_at), record.readings.clone(), &text);
            self.told_at = now;
        } else if now.saturating_sub(self.told_at) > RENEW_NS || self.insists(now) {
            news.say(Source::VendorFile, member, Moment::now(), vec![Reading::new(Signal::StillSo)], "");
            self.told_at = now;
            if let Some(overruled) = &mut self.overruled {
                overruled.is_said = true;
            }
        }
        if self.seen.as_ref().is_none_or(|seen| seen.session != record.session) {
            let standing = Some(self.located(process.pid).path());
            let session = Some(record.session.clone());
            news.converse(member, Conversation { session, standing, ..Conversation::default() });
        }
        self.seen = Some(record);
        self.looked_at = now;
        false
    }

    fn is_searching(&self) -> bool {
        self.process.is_none()
    }

    fn is_shown_as(&mut self, verdict: &Verdict) -> Option<Duration> {
        if let Some(since) = self.between_since {
            return Some(BETWEEN.saturating_sub(elapsed(since, platform::boot_clock_ns())));
        }
        let is_another = matches!(verdict.state, State::Running | State::Completed | State::Idle);
        if !is_another || !self.asks() {
            self.overruled = None;
            return None;
        }
        let now = platform::boot_clock_ns();
        let known = self.overruled.filter(|known| known.since == verdict.since);
        let overruled = known.unwrap_or(Overruled { since: verdict.since, noticed: now, is_said: false });
        self.overruled = Some(overruled);
        (!overruled.is_said).then(|| SETTLE.saturating_sub(elapsed(overruled.noticed, now)))
    }
}

/// Whether a turn was told of elsewhere since the file said that the agent is busy: with a prompt that was queued.
fn has_begun_anew(verdict: &Verdict, busy_at: Option<i64>) -> bool {
    let told_at = verdict.since.0 - SAME_TURN_MS;
    verdict.state == State::Running && busy_at.is_some_and(|busy_at| told_at > busy_at)
}

/// The time between two readings of the boot clock.
fn elapsed(from: u64, to: u64) -> Duration {
    Duration::from_nanos(to.saturating_sub(from))
}

/// Whether a record was written by the process that now has its pid.
fn is_of(record: &SessionRecord, process: ProcessKey) -> bool {
    let start = record.proc_start.as_ref().and_then(|start| start.parse::<u64>().ok());
    // What the program calls the start of a process is the kernel's number on Linux alone.
    record.pid == process.pid && (start == Some(process.start) || !cfg!(target_os = "linux"))
}

fn is_alive(process: ProcessKey) -> bool {
    platform::process_stat(process.pid).is_some_and(|stat| stat.start == process.start && stat.state != 'Z')
}

fn pid_of(name: &OsStr) -> Option<u32> {
    name.to_str()?.strip_suffix(".json")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use agtmux_core::state::{State, Verdict};
    use agtmux_core::time::Timestamp;

    use super::has_begun_anew;
    use crate::daemon::roster::unknown;

    #[test]
    fn a_turn_that_is_told_of_long_after_the_file_said_busy_is_another_one() {
        let running = |since| Verdict { state: State::Running, since: Timestamp(since), ..unknown() };
        assert!(has_begun_anew(&running(9_000), Some(5_000)));
        assert!(!has_begun_anew(&running(5_100), Some(5_000)));
        assert!(!has_begun_anew(&running(9_000), None));
        assert!(!has_begun_anew(&unknown(), Some(-5_000)));
    }
}
