//! Time as values. Nothing here reads a clock: the daemon does, and puts what it read into events.

use std::ops::Add;

use serde::{Deserialize, Serialize};

use crate::id::BootId;

/// Wall-clock time in milliseconds since the Unix epoch, as the daemon read it when an event came in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Span {
    /// So many seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds * 1_000)
    }

    /// So many minutes.
    pub const fn minutes(minutes: i64) -> Self {
        Self::seconds(minutes * 60)
    }

    /// So many hours.
    pub const fn hours(hours: i64) -> Self {
        Self::minutes(hours * 60)
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A moment on one host's boot clock, which never jumps and counts on during suspend.
///
/// Stamps order what *different* sources of one host said, whatever order it arrived in: a hook that was slow to
/// reach the daemon still counts from the moment it ran (F18), and a wall clock that was set back reorders nothing (I11).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Which boot the reading belongs to.
    pub boot: BootId,
    /// Nanoseconds since that boot.
    pub ns: u64,
}
