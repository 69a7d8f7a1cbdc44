//! Which agents were seen to put a text aside themselves when the key for it is pressed. Whoever has given that key another
//! meaning finds out once: it is not pressed again at that agent.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use agtmux_core::id::RuntimeId;

/// What was seen, of agents that ever had a text in the way.
#[derive(Debug, Default)]
pub struct Stashes(Mutex<BTreeMap<RuntimeId, bool>>);

impl Stashes {
    /// Whether the key does what it should; nothing if that was never tried.
    pub(super) fn work(&self, runtime: &RuntimeId) -> Option<bool> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(runtime).copied()
    }

    pub(super) fn note(&self, runtime: &RuntimeId, works: bool) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(runtime.clone(), works);
    }
}
