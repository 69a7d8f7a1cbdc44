//! How the hooks of agents fare, counted since the daemon started.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Counts, written by whoever takes hooks in and read by the API.
#[derive(Debug, Default)]
pub struct HookFigures {
    taken: AtomicU64,
    spooled: AtomicU64,
    passed_over: AtomicU64,
    passed_over_last: Mutex<Option<String>>,
    unread: AtomicU64,
    dropped: AtomicU64,
}

/// The counts of one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCounts {
    /// Hooks that are in the log.
    pub taken: u64,
    /// Hooks that had waited in the spool, whatever became of them.
    pub spooled: u64,
    /// Hooks of no agent in a pane: one-shot runs, agents that other agents run, programs outside of tmux.
    pub passed_over: u64,
    /// The agent and the reason of the last one that was passed over.
    pub passed_over_last: Option<String>,
    /// Hooks whose payload or spool file was garbage.
    pub unread: u64,
    /// Hooks that were lost because the spool was full or of another boot.
    pub dropped: u64,
}

impl HookFigures {
    /// A hook is in the log.
    pub fn taken(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// A hook came from the spool.
    pub fn spooled(&self) {
        self.spooled.fetch_add(1, Ordering::Relaxed);
    }

    /// A hook was nobody's, for this reason.
    pub fn passed_over(&self, why: &str) {
        self.passed_over.fetch_add(1, Ordering::Relaxed);
        *self.passed_over_last.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.to_owned());
    }

    /// A hook was garbage.
    pub fn unread(&self) {
        self.unread.fetch_add(1, Ordering::Relaxed);
    }

    /// Hooks were lost.
    pub fn dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// The counts now.
    pub fn now(&self) -> HookCounts {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        HookCounts {
            taken: read(&self.taken),
            spooled: read(&self.spooled),
            passed_over: read(&self.passed_over),
            passed_over_last: self.passed_over_last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            unread: read(&self.unread),
            dropped: read(&self.dropped),
        }
    }
}
