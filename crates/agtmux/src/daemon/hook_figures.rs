//! How the hooks of agents fare, counted since the daemon started.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts, written by whoever takes hooks in and read by the API.
#[derive(Debug, Default)]
pub struct HookFigures {
    taken: AtomicU64,
    spooled: AtomicU64,
    passed_over: AtomicU64,
    unread: AtomicU64,
    dropped: AtomicU64,
}

/// The counts of one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookCounts {
    /// Hooks that are in the log.
    pub taken: u64,
    /// Hooks that had waited in the spool, whatever became of them.
    pub spooled: u64,
    /// Hooks of no agent in a pane: one-shot runs, agents that other agents run, programs outside of tmux.
    pub passed_over: u64,
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

    /// A hook was nobody's.
    pub fn passed_over(&self) {
        self.passed_over.fetch_add(1, Ordering::Relaxed);
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
            unread: read(&self.unread),
            dropped: read(&self.dropped),
        }
    }
}
