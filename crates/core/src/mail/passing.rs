//! What time alone does to messages.

use serde::{Deserialize, Serialize};

use super::letter::{Category, MailId};
use super::post::{Entry, Post};
use super::stage::{Ended, Stage};
use crate::id::RuntimeId;
use crate::time::{Span, Timestamp};

/// How long after it was submitted a message may be spoken of by the agent itself.
const RECEIPT_PATIENCE: Span = Span::seconds(30);

/// Whether a message has waited for too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// It has not.
    #[default]
    No,
    /// It has.
    Noticed,
    /// It has, and whoever sent it was told.
    Told,
}

impl Late {
    pub(super) fn is_no(&self) -> bool {
        *self == Self::No
    }
}

impl Post {
    /// Lets time pass. What waits longer than the alarm says is late.
    pub(crate) fn pass_time(&mut self, now: Timestamp, alarm: Option<Span>) {
        if self.next_deadline(alarm).is_none_or(|deadline| deadline > now) {
            return;
        }
        let ready = self.busy.extract_if(.., |_, busy| busy.until <= now);
        self.stirred.extend(ready.map(|(runtime, _)| runtime));
        for (runtime, mailbox) in &mut self.boxes {
            if mailbox.retry_at.take_if(|at| *at <= now).is_some() {
                self.stirred.insert(runtime.clone());
            }
        }
        for entry in self.letters.values_mut() {
            if entry.stage == Stage::Queued && entry.waits_until.is_some_and(|at| at <= now) {
                entry.waits_until = None;
                self.touched.insert(entry.letter.id.clone());
                self.stirred.insert(entry.letter.to.clone());
            }
        }
        let due = |entry: &Entry| deadline(entry).is_some_and(|deadline| deadline <= now);
        let due: Vec<_> = self.letters.values().filter(|entry| due(entry)).cloned().collect();
        for entry in due {
            let id = entry.letter.id;
            if entry.stage == Stage::Queued {
                self.forget_place(&id, now);
                self.end_all(&[id], Ended::Expired, now, "it was not delivered in time");
            } else {
                self.end_all(&[id], Ended::Unconfirmed, now, "the agent did not say that it was given it");
            }
        }
        for entry in self.letters.values_mut().filter(|entry| entry.lapses_at().is_some_and(|at| at <= now)) {
            entry.stranded = None;
            self.touched.insert(entry.letter.id.clone());
        }
        let is_late = |entry: &Entry| late_at(entry, alarm).is_some_and(|at| at <= now);
        let late: Vec<_> = self.letters.values().filter(|entry| is_late(entry)).map(|e| e.letter.id.clone()).collect();
        for id in late {
            if let Some(entry) = self.letters.get_mut(&id) {
                entry.late = Late::Noticed;
            }
            self.move_all(&[id], &Stage::Queued, now, "it waits for long");
        }
    }

    /// These cannot be delivered before somebody does something: nobody has to wait for the alarm to hear of it.
    pub(super) fn note_late(&mut self, letters: &[MailId]) {
        for id in letters {
            let entry = self.letters.get_mut(id).filter(|entry| entry.letter.category != Category::Notice);
            if let Some(entry) = entry.filter(|entry| entry.late == Late::No) {
                entry.late = Late::Noticed;
            }
        }
    }

    /// When time alone changes something.
    pub(crate) fn next_deadline(&self, alarm: Option<Span>) -> Option<Timestamp> {
        let retries = self.boxes.values().filter_map(|mailbox| mailbox.retry_at);
        let busy = self.busy.values().map(|busy| busy.until);
        let of = |entry: &Entry| [deadline(entry), late_at(entry, alarm), entry.lapses_at()];
        let letters = self.letters.values().flat_map(of);
        retries.chain(busy).chain(letters.flatten()).min()
    }

    /// Since when a message that waits for an agent is late, if one is. It waits also while a delivery of it is tried: that one
    /// was looked at once more is nothing new to anybody.
    pub fn late_since(&self, runtime: &RuntimeId) -> Option<Timestamp> {
        let waiting = self.undelivered(runtime);
        waiting.into_iter().filter(|entry| entry.late != Late::No).map(Entry::waits_since).min()
    }
}

/// When time alone ends a message's stage.
fn deadline(entry: &Entry) -> Option<Timestamp> {
    match entry.stage {
        Stage::Queued => entry.waits_until.or_else(|| entry.letter.expires_at()),
        Stage::Submitted => Some(entry.since + RECEIPT_PATIENCE),
        Stage::Leased | Stage::Started | Stage::Ended { .. } => None,
    }
}

/// When a message has waited for too long. What agtmux has to say of messages makes no noise of its own.
fn late_at(entry: &Entry, alarm: Option<Span>) -> Option<Timestamp> {
    let waits = entry.stage == Stage::Queued && entry.waits_until.is_none() && entry.late == Late::No;
    let counts = entry.letter.category != Category::Notice;
    alarm.filter(|_| waits && counts).map(|alarm| entry.waits_since() + alarm)
}
