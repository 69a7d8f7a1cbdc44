//! Markers that a pane's history holds and nobody has heard: what was printed before the daemon came, or while it was away
//! (F7). They are told from those that were heard by their order, since nothing else tells two equal ones apart (F5, F6).
//!
//! Nobody knows when they were printed. One that could be older than what others said meanwhile counts as older.

use sha2::{Digest, Sha256};

use crate::engine::Engine;
use crate::facts::{Slot, Value};
use crate::id::RuntimeId;
use crate::resolve::Weighed;
use crate::signal::{Blocking, Evidence, InputKind, Outcome, Signal, SignalEvent, Source};
use crate::time::Timestamp;

/// What has to be known of a runtime to catch up on its markers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// The markers that were heard, oldest first, as fingerprints.
    pub heard: Vec<u64>,
    /// Whether the last of them still counts.
    pub stands: bool,
    /// Whether there were others that nobody kept: the state was stored by a version that did not.
    pub is_forgotten: bool,
    /// What is found was printed before this reading of the boot clock, since others have said something meanwhile.
    word_before: Option<u64>,
    /// The same for the beginning of a turn, which others may have seen end.
    turn_before: Option<u64>,
}

/// What tells one statement from another.
pub fn fingerprint(event: &SignalEvent) -> u64 {
    let mut hash = Sha256::new();
    hash.update(name(&event.signal));
    hash.update([0]);
    hash.update(event.message.as_deref().unwrap_or_default());
    hash.finalize().iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

/// Whether a marker says this.
pub(crate) fn is_marker(signal: &Signal) -> bool {
    name(signal) != "other"
}

/// A name that stays, for everything that a marker can say.
const fn name(signal: &Signal) -> &'static str {
    match signal {
        Signal::TurnStarted => "running",
        Signal::TurnEnded { outcome: Outcome::Done } => "completed",
        Signal::TurnEnded { outcome: Outcome::Settled | Outcome::Interrupted } | Signal::Idle => "idle",
        Signal::TurnEnded { outcome: Outcome::Failed { .. } } => "error",
        Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } } => "waiting_input",
        Signal::Blocked { on: Blocking::Input { kind: InputKind::NeedsTesting } } => "needs_testing",
        Signal::Blocked { on: Blocking::Approval { .. } } => "waiting_approval",
        Signal::Blocked { on: Blocking::Dialog { .. } } => "dialog",
        Signal::Withdrawn => "unknown",
        Signal::Unblocked
        | Signal::Working { .. }
        | Signal::WorkEnded
        | Signal::Background { .. }
        | Signal::Composer { .. }
        | Signal::StillSo
        | Signal::Unsupported { .. } => "other",
    }
}

/// How many of the markers that were found, oldest first, were heard before. Those that follow are news.
///
/// The markers found begin somewhere among those heard, and go on beyond them. A history that fits nowhere was redrawn;
/// then nothing up to the last that is known is news.
pub fn count_heard(heard: &[u64], found: &[u64]) -> usize {
    let heard: Vec<_> = heard.iter().copied().filter(|one| found.contains(one)).collect();
    let fits = |count: &usize| heard.ends_with(&found[..*count]);
    let whole = (1..=heard.len().min(found.len())).rev().find(fits);
    whole.or_else(|| Some(found.iter().rposition(|one| heard.contains(one))? + 1)).unwrap_or_default()
}

impl Backlog {
    /// The reading of the boot clock at which a marker counts as said that was found at that reading.
    pub fn placed(&self, signal: &Signal, found_ns: u64) -> u64 {
        let before = if *signal == Signal::TurnStarted { self.turn_before } else { self.word_before };
        before.map_or(found_ns, |before| before.saturating_sub(1).min(found_ns))
    }
}

impl Engine {
    /// What has to be known of a runtime to catch up on its markers. Nobody heard them since that time, if one is given.
    pub fn backlog(&self, runtime: &RuntimeId, deaf_since: Option<Timestamp>) -> Option<Backlog> {
        let runtime = self.state().topology.live(runtime)?;
        // What earlier agents printed into the pane is not this one's.
        let runtimes = self.state().topology.runtimes.values().filter(|other| other.pane == runtime.pane);
        let mut in_pane: Vec<_> = runtimes.collect();
        in_pane.sort_by_key(|runtime| runtime.epoch);
        let records = in_pane.into_iter().filter_map(|runtime| runtime.sources.get(&Source::Marker));
        let heard = records.flat_map(|record| record.statements.iter().copied()).collect();
        let own = runtime.sources.get(&Source::Marker);
        let facts = self.weighed(runtime);
        let of_markers = facts.iter().filter(|w| w.source == Source::Marker && w.held.value.bears_state());
        let last = of_markers.max_by_key(|w| w.held.last.mark);
        let others = || {
            let is_other = |w: &&Weighed<'_>| w.source != Source::Marker && w.source.evidence() > Evidence::Guessed;
            let is_since = |w: &&Weighed<'_>| deaf_since.is_some_and(|since| w.held.last.at >= since);
            facts.iter().filter(is_other).filter(|w| w.held.value.bears_state()).filter(is_since)
        };
        let goes_on = |w: &&Weighed<'_>| w.held.value == Value::TurnActive && !w.is_retired();
        let is_word = |w: &&Weighed<'_>| w.source.declares() && w.held.value.slot() != Slot::Work;
        Some(Backlog {
            heard,
            stands: last.is_some_and(|w| !w.is_retired()),
            is_forgotten: own.is_some_and(|record| record.usable && record.statements.is_empty()),
            word_before: others().filter(|w| goes_on(w) || is_word(w)).map(|w| w.held.last.mark.boot_ns()).min(),
            turn_before: others().map(|w| w.held.last.mark.boot_ns()).min(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::count_heard;

    #[test]
    fn what_follows_the_last_that_was_heard_is_news() {
        for (heard, found, count) in [
            (&[][..], &[1, 2][..], 0),
            (&[1], &[1, 2], 1),
            (&[1, 2], &[1, 2], 2),
            (&[1, 2], &[2, 3], 1),
            (&[1], &[1, 1], 1),
            (&[1, 1], &[1, 1], 2),
            (&[1, 2, 1], &[2, 1, 2], 2),
            // What was said by other means than a marker is not to be found.
            (&[1, 9], &[1, 2], 1),
            (&[1, 2], &[], 0),
            // The history was cleared.
            (&[1, 2], &[3], 0),
            // One of them was never heard, or is drawn twice.
            (&[1, 2], &[7, 2, 3], 2),
            (&[1, 2], &[3, 2, 1, 2, 4], 4),
        ] {
            assert_eq!(count_heard(heard, found), count, "{heard:?} {found:?}");
        }
    }
}
