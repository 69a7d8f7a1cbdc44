//! The hooks that found no daemon, or none that answered.

use std::time::Duration;

use agtmux_core::id::ProcessKey;

use super::Hooks;
use crate::platform;

/// How often the spool is looked at while nothing is in it: one look at one directory.
const EVERY: Duration = Duration::from_millis(500);

impl Hooks {
    /// Takes in what waits, whenever something does.
    pub(super) async fn drain_whenever_something_waits(&self) {
        let mut seen = None;
        loop {
            // Read before the look, so that what comes during it is looked for again.
            let changed = self.spool.changed();
            if changed != seen && self.drain().await {
                seen = changed;
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    /// Takes in what waits, oldest first. Whether all of it could be.
    pub(super) async fn drain(&self) -> bool {
        let figures = self.handle.hooks();
        figures.dropped(self.spool.dropped());
        let waiting = match self.spool.waiting() {
            Ok(waiting) => waiting,
            Err(error) => {
                tracing::warn!(%error, "the spool of hooks cannot be read");
                return true;
            }
        };
        let boot_id = platform::boot_id();
        for hook in waiting {
            let read = self.spool.read(&hook).and_then(|(head, payload)| Some((head.witness.clone()?, head, payload)));
            match read.filter(|(witness, ..)| !witness.ancestors.is_empty()) {
                // Every process of another boot is gone, and whatever happened to it with it.
                Some((witness, ..)) if witness.boot_id != boot_id => figures.dropped(1),
                Some((witness, head, payload)) => {
                    let lineage = witness.ancestors.iter().map(|(pid, start)| ProcessKey { pid: *pid, start: *start });
                    if self.take_in(head, &payload, lineage.collect()).await.is_err() {
                        return false;
                    }
                    figures.spooled();
                }
                None => figures.unread(),
            }
            self.spool.remove(&hook);
        }
        true
    }
}
