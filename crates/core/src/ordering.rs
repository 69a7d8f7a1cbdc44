//! Which of two statements came first, and whether a statement is new at all.
//!
//! The rules, in the order they are asked:
//! 1. Within a runtime and source, a dedupe key counts once (the newest few thousand are remembered).
//! 2. Within a runtime and source, `source_seq` decides where both have one of the same boot; else ingest order does.
//!    An equal number is not older: one trace may be read as several signals. An older one that was stamped by the boot
//!    clock is late but not lost: it takes the place it has by its stamp, behind what was said after it. Hooks run side by
//!    side, and a question that was overtaken by chatter is still a question.
//! 3. Between sources, the boot clock of the runtime's host decides ([`Mark`]).
//!
//! `event_time` decides nothing, ever: a source's wall clock may run backwards (I11).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::id::BootId;
use crate::signal::{Evidence, SignalEvent, Source};

/// The place of one statement in the history of a runtime. Marks of one runtime are totally ordered.
///
/// The order is that of the fields: boot clock first; equal readings go to the stronger evidence, then to the source
/// declared later, and within one source to the later statement. None of these depends on which source happened to
/// reach the daemon first, and so neither does any state derived from them (I6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mark {
    /// Reading of the boot clock of the runtime's host, in nanoseconds.
    ns: u64,
    /// Zero for a statement stamped by that clock. A statement of another boot cannot be compared with it and is
    /// placed by its arrival: after everything heard so far, by its position in the log.
    arrival: u64,
    /// Trust class of the source.
    evidence: Evidence,
    /// The source.
    source: Source,
    /// Counts the statements of the source.
    ordinal: u64,
}

impl Mark {
    /// The reading of the boot clock; zero for a statement of another boot.
    pub(crate) const fn boot_ns(self) -> u64 {
        if self.arrival == 0 { self.ns } else { 0 }
    }
}

/// What became of a statement at the gate of its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It is new; this is its place.
    New(Mark),
    /// Its dedupe key was seen before.
    Duplicate,
    /// The source has said something later already, but this is where it belongs.
    Late(Mark),
    /// The source has said something later already, and nobody knows how much.
    OutOfOrder,
}

/// The latest reading of the boot clock of a runtime's host that any signal of the runtime carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostClock(u64);

impl HostClock {
    /// Places a stamp on the host's boot clock and remembers the reading if it is the latest.
    fn place(&mut self, host: &BootId, event: &SignalEvent, seq: u64) -> (u64, u64) {
        if event.emitted.boot == *host {
            self.0 = self.0.max(event.emitted.ns);
            (event.emitted.ns, 0)
        } else {
            (self.0, seq.max(1))
        }
    }

    /// The latest reading, in nanoseconds.
    pub fn latest(self) -> u64 {
        self.0
    }
}

/// How far one source of one runtime has been heard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cursor {
    /// The highest `source_seq` so far and the boot it was counted in.
    latest: Option<(BootId, u64)>,
    /// Clock part of the last mark given out.
    placed: (u64, u64),
    /// How many statements were admitted.
    admitted: u64,
    /// Dedupe keys.
    memory: Memory,
}

impl Cursor {
    /// Decides whether a statement is new, and if so gives it its place.
    ///
    /// A source's own order is law. Should its stamps run backwards nevertheless, they are raised to the last one.
    pub(crate) fn admit(&mut self, event: &SignalEvent, host: &BootId, clock: &mut HostClock, seq: u64) -> Admission {
        if !self.memory.remember(&event.dedupe_key) {
            return Admission::Duplicate;
        }
        if let Some(source_seq) = event.source_seq {
            let boot = &event.emitted.boot;
            if self.latest.as_ref().is_some_and(|(seen_in, seen)| seen_in == boot && source_seq < *seen) {
                return self.late(event, host);
            }
            self.latest = Some((boot.clone(), source_seq));
        }
        self.placed = self.placed.max(clock.place(host, event, seq));
        self.admitted += 1;
        Admission::New(self.mark(event, self.placed))
    }

    /// The place of a statement that was overtaken, if its stamp bears its number out.
    fn late(&mut self, event: &SignalEvent, host: &BootId) -> Admission {
        let stamped = (event.emitted.ns, 0);
        if event.emitted.boot != *host || stamped >= self.placed {
            return Admission::OutOfOrder;
        }
        self.admitted += 1;
        Admission::Late(self.mark(event, stamped))
    }

    fn mark(&self, event: &SignalEvent, (ns, arrival): (u64, u64)) -> Mark {
        Mark { ns, arrival, evidence: event.source.evidence(), source: event.source, ordinal: self.admitted }
    }

    /// The highest `source_seq` heard.
    pub fn source_seq(&self) -> Option<u64> {
        self.latest.as_ref().map(|(_, seq)| *seq)
    }

    /// How many statements were admitted.
    pub fn admitted(&self) -> u64 {
        self.admitted
    }

    /// Forgets the dedupe keys. An ended runtime takes no signals, so it need not recognise any.
    pub(crate) fn forget_keys(&mut self) {
        self.memory = Memory::default();
    }
}

/// The newest dedupe keys of one source of one runtime: at least the last 1,024, at most the last 2,048.
///
/// Keys are kept as 64 bits of SHA-256. They are kept in two generations, and the older one is dropped whole: this
/// costs no bookkeeping per key. A repeat from further back is still refused if its source counts (`source_seq`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Memory {
    young: BTreeSet<u64>,
    old: BTreeSet<u64>,
}

impl Memory {
    const GENERATION: usize = 1_024;

    /// Whether the key is new; from then on it is known.
    fn remember(&mut self, key: &str) -> bool {
        let hash = Sha256::digest(key.as_bytes()).iter().take(8).fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        if self.old.contains(&hash) || !self.young.insert(hash) {
            return false;
        }
        if self.young.len() >= Self::GENERATION {
            self.old = std::mem::take(&mut self.young);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_keeps_the_newest() {
        let mut memory = Memory::default();
        for n in 0..20_000 {
            assert!(memory.remember(&format!("key {n}")));
            assert!(memory.young.len() + memory.old.len() <= 2 * Memory::GENERATION);
        }
        for n in 20_000 - Memory::GENERATION..20_000 {
            assert!(!memory.remember(&format!("key {n}")), "key {n} was forgotten");
        }
    }

    #[test]
    fn marks_order_by_clock_then_arrival_then_evidence() {
        let mark = |ns, arrival, source: Source| Mark { ns, arrival, evidence: source.evidence(), source, ordinal: 1 };
        assert!(mark(5, 0, Source::Hook) < mark(6, 0, Source::Llm));
        assert!(mark(5, 0, Source::Hook) < mark(5, 9, Source::Llm), "another boot: later arrival wins");
        assert!(mark(5, 0, Source::Screen) < mark(5, 0, Source::Hook), "a tie goes to the stronger evidence");
    }
}
