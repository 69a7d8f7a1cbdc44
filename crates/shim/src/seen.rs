//! Which injections there were, for the life of the agent.

use std::collections::{BTreeMap, VecDeque};

use crate::protocol::Progress;

/// So many ids are remembered. Nobody asks about a message again after so many others.
const LIMIT: usize = 16_384;

/// The ids and how far each is.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    progress: BTreeMap<String, Progress>,
    order: VecDeque<String>,
    total: u64,
}

impl Seen {
    /// How far an id is; nothing if it was never there.
    pub(crate) fn get(&self, id: &str) -> Option<Progress> {
        self.progress.get(id).copied()
    }

    /// Keeps how far an id is.
    pub(crate) fn set(&mut self, id: &str, progress: Progress) {
        if let Some(known) = self.progress.get_mut(id) {
            *known = progress;
            return;
        }
        if self.order.len() == LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.progress.remove(&oldest);
        }
        self.progress.insert(id.to_owned(), progress);
        self.order.push_back(id.to_owned());
        self.total += 1;
    }

    /// How many there were.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How many of them were forgotten.
    pub(crate) fn forgotten(&self) -> u64 {
        self.total - self.order.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, Seen};
    use crate::protocol::Progress;

    #[test]
    fn the_oldest_is_forgotten_first_and_counted() {
        let mut seen = Seen::default();
        for id in 0..=LIMIT {
            seen.set(&id.to_string(), Progress::Pasting);
            seen.set(&id.to_string(), Progress::Submitted);
        }
        assert_eq!((seen.total(), seen.forgotten()), (LIMIT as u64 + 1, 1));
        assert_eq!((seen.get("0"), seen.get("1")), (None, Some(Progress::Submitted)));
    }
}
