//! The hooks of a while. One whose answer came too late tells itself again by the spool, and counts once.

use std::collections::{HashMap, VecDeque};

/// A hook: when it began on the boot clock, and its process.
pub(super) type Name = (u64, u32);

/// How far a hook has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It is on its way into the log.
    UnderWay,
    /// It need not be told again.
    Done,
}

/// The newest hooks.
#[derive(Debug, Default)]
pub(super) struct Recent {
    known: HashMap<Name, Progress>,
    order: VecDeque<Name>,
}

impl Recent {
    /// How many are remembered: more than wait in a full spool.
    const MOST: usize = 4_096;

    /// Begins with a hook, or says how far it has come already.
    pub(super) fn begin(&mut self, name: Name) -> Option<Progress> {
        if let Some(progress) = self.known.get(&name) {
            return Some(*progress);
        }
        self.known.insert(name, Progress::UnderWay);
        self.order.push_back(name);
        if self.order.len() > Self::MOST {
            self.order.pop_front().and_then(|oldest| self.known.remove(&oldest));
        }
        None
    }

    /// Notes how it went; a hook that was not taken in may be told again.
    pub(super) fn end(&mut self, name: Name, is_taken: bool) {
        if is_taken {
            self.known.insert(name, Progress::Done);
        } else {
            self.known.remove(&name);
            self.order.retain(|known| *known != name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Progress, Recent};

    #[test]
    fn the_newest_are_remembered() {
        let mut recent = Recent::default();
        for at in 0..10_000 {
            assert_eq!(recent.begin((at, 1)), None);
            recent.end((at, 1), true);
        }
        assert_eq!((recent.known.len(), recent.order.len()), (Recent::MOST, Recent::MOST));
        assert_eq!(recent.begin((9_999, 1)), Some(Progress::Done));
        assert_eq!(recent.begin((0, 1)), None, "long ago");
    }

    #[test]
    fn one_that_failed_may_be_told_again() {
        let mut recent = Recent::default();
        assert_eq!(recent.begin((1, 1)), None);
        assert_eq!(recent.begin((1, 1)), Some(Progress::UnderWay));
        recent.end((1, 1), false);
        assert_eq!((recent.begin((1, 1)), recent.order.len()), (None, 1));
    }
}
