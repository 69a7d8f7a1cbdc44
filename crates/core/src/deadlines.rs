//! An index of the moments at which time alone will change something, so that passing time costs nothing per runtime.

use std::collections::{BTreeMap, BTreeSet};

use crate::id::RuntimeId;
use crate::time::Timestamp;

/// When each runtime may next change by itself. Derived, not stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deadlines {
    by_time: BTreeSet<(Timestamp, RuntimeId)>,
    of: BTreeMap<RuntimeId, Timestamp>,
}

impl Deadlines {
    pub(crate) fn set(&mut self, id: &RuntimeId, deadline: Option<Timestamp>) {
        let before = self.of.get(id).copied();
        if before == deadline {
            return;
        }
        if let Some(before) = before {
            self.by_time.remove(&(before, id.clone()));
            self.of.remove(id);
        }
        if let Some(deadline) = deadline {
            self.by_time.insert((deadline, id.clone()));
            self.of.insert(id.clone(), deadline);
        }
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.by_time.first().map(|(deadline, _)| *deadline)
    }

    pub(crate) fn due(&self, now: Timestamp) -> Vec<RuntimeId> {
        self.by_time.iter().take_while(|(deadline, _)| *deadline <= now).map(|(_, id)| id.clone()).collect()
    }
}
