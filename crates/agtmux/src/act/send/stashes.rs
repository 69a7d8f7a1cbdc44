//! Which agents were seen to put a text aside themselves when the key for it is pressed. Whoever has given that key another
//! meaning finds out once: it is not pressed again at that agent.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use agtmux_core::id::RuntimeId;

/// What was seen, of living agents that ever had a text in the way.
#[derive(Debug, Default)]
pub struct Stashes(Mutex<BTreeMap<RuntimeId, bool>>);

impl Stashes {
    /// Whether the key does what it should; nothing if that was never tried.
    pub(super) fn work(&self, runtime: &RuntimeId) -> Option<bool> {
        self.seen().get(runtime).copied()
    }

    pub(super) fn note(&self, runtime: &RuntimeId, works: bool) {
        self.seen().insert(runtime.clone(), works);
    }

    /// Forgets all agents but these: nobody presses a key at one that has ended.
    pub(super) fn keep<T>(&self, living: &BTreeMap<RuntimeId, T>) {
        self.seen().retain(|runtime, _| living.contains_key(runtime));
    }

    fn seen(&self) -> MutexGuard<'_, BTreeMap<RuntimeId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_that_have_ended_are_forgotten() {
        let [works, fails, ended] = ["rt_1", "rt_2", "rt_3"].map(|id| RuntimeId::new(id.to_owned()));
        let stashes = Stashes::default();
        stashes.note(&works, true);
        stashes.note(&fails, false);
        stashes.note(&ended, false);
        stashes.keep(&BTreeMap::from([(works.clone(), ()), (fails.clone(), ())]));
        assert_eq!([&works, &fails, &ended].map(|runtime| stashes.work(runtime)), [Some(true), Some(false), None]);
    }
}
