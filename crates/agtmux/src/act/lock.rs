//! One writer per pane: whoever types holds the pane's lock, so that two texts never mix.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use agtmux_core::id::PaneKey;
use tokio::sync::OwnedMutexGuard;

/// The locks of all panes that somebody types at.
#[derive(Default)]
pub struct PaneLocks(Mutex<BTreeMap<PaneKey, Arc<tokio::sync::Mutex<()>>>>);

impl PaneLocks {
    /// Waits for one's turn at a pane. The turn ends when the guard is dropped.
    pub async fn lock(&self, pane: &PaneKey) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A lock that nobody holds or waits for is only remembered here.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            Arc::clone(locks.entry(pane.clone()).or_default())
        };
        lock.lock_owned().await
    }
}
