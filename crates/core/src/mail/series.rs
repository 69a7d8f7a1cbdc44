//! Messages that come again and again: each is followed by the next when it was given to its agent, until one of them is taken back.

use super::letter::MailId;
use super::post::{Entry, Post};
use super::stage::{Ended, Stage};
use crate::time::Timestamp;

impl Post {
    /// Takes a message back, and those of its series that wait; none follows them.
    pub(super) fn cancel(&mut self, id: &MailId, by: &str, now: Timestamp) {
        let series: Vec<_> = self.series(id).iter().map(|entry| entry.letter.id.clone()).collect();
        for id in series {
            let Some(entry) = self.letters.get_mut(&id) else { continue };
            entry.followed |= entry.letter.every.is_some();
            self.touched.insert(id.clone());
            let is_stranded = entry.stranded.take().is_some();
            if entry.can_be_taken_back() {
                self.forget_place(&id, now);
                self.end_all(&[id], Ended::Cancelled, now, by);
            } else if is_stranded {
                let stage = entry.stage.clone();
                self.move_all(&[id], &stage, now, &format!("{by}: it is not sent again"));
            } else {
                entry.unwanted = entry.stage.ended().is_none();
            }
        }
    }

    /// A message and those that it comes again with.
    pub(super) fn series(&self, id: &MailId) -> Vec<&Entry> {
        let Some(entry) = self.letters.get(id) else { return Vec::new() };
        if entry.letter.every.is_none() {
            return vec![entry];
        }
        let first = entry.letter.first();
        self.letters.values().filter(|other| other.letter.first() == first).collect()
    }

    /// Whoever comes before a message of its series is followed by it.
    pub(super) fn follow(&mut self, id: &MailId, first: &MailId) {
        if id == first {
            return;
        }
        for entry in self.letters.values_mut().filter(|entry| entry.letter.first() == first && !entry.followed) {
            entry.followed = true;
            self.touched.insert(entry.letter.id.clone());
        }
    }
}

impl Entry {
    /// Whether the next one of its kind is yet to be made, when its time has come.
    pub fn is_to_be_followed(&self) -> bool {
        self.letter.every.is_some() && !self.followed && self.stage.ended() != Some(Ended::Cancelled)
    }

    pub(super) fn can_be_taken_back(&self) -> bool {
        matches!(self.stage, Stage::Queued | Stage::Leased)
    }
}
