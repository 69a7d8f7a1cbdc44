//! The steps that messages take, for whoever follows them.

use super::letter::{Category, Letter, MailId, Mode, Party};
use super::notice::notice_ids;
use super::passing::Late;
use super::post::{Entry, Post, Step};
use super::stage::{Ended, Stage};
use crate::id::RuntimeId;
use crate::time::Timestamp;

/// How many steps of a message are remembered: the first ones and the last ones.
const STEPS: usize = 24;

/// A step of a message, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// The message.
    pub id: MailId,
    /// Who wrote it.
    pub from: Party,
    /// To whom.
    pub to: RuntimeId,
    /// What the recipient was called when it was written.
    pub to_name: String,
    /// When it may be delivered.
    pub mode: Mode,
    /// What it is.
    pub category: Category,
    /// The step.
    pub step: Step,
}

impl Post {
    /// What happens from now on is at this place of the log.
    pub(crate) fn begin(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// The steps that messages took since this was asked last, which is whenever an event has happened.
    pub(crate) fn take_steps(&mut self) -> Vec<Transition> {
        self.seq = 0;
        std::mem::take(&mut self.taken)
    }

    /// The steps of all messages that are remembered after a place of the log, in their order.
    pub fn steps_after(&self, seq: u64) -> Vec<Transition> {
        let of = |entry: &Entry| -> Vec<Transition> {
            let later = entry.steps.iter().filter(|step| step.seq > seq);
            later.map(|step| entry.transition(step.clone())).collect()
        };
        let mut steps: Vec<_> = self.letters.values().flat_map(of).collect();
        steps.sort_by_key(|transition| transition.step.seq);
        steps
    }

    /// The message that an agent was given last, or may have been.
    pub fn given_last(&self, runtime: &RuntimeId) -> Option<&Entry> {
        let is_given = |entry: &&Entry| match entry.stage {
            Stage::Submitted => true,
            Stage::Ended { how } => matches!(how, Ended::Confirmed | Ended::Unconfirmed),
            // Whether it is given what was only begun with nobody can say yet.
            Stage::Queued | Stage::Leased | Stage::Started => false,
        };
        self.letters
            .values()
            .filter(|entry| entry.letter.to == *runtime)
            .filter(is_given)
            .max_by_key(|entry| entry.since)
    }

    /// Whoever sent a message that waits for long is told so once, however long that is remembered.
    pub(super) fn note_told(&mut self, letter: &Letter) {
        let Some(about) = letter.reply_to.as_ref().filter(|_| letter.category == Category::Notice) else { return };
        let is_that = notice_ids("late", about).any(|id| id == letter.id);
        if let Some(entry) = self.letters.get_mut(about).filter(|_| is_that) {
            entry.late = Late::Told;
        }
    }
}

impl Entry {
    /// Remembers a step. A message that is tried for days keeps its first steps and its last.
    pub(super) fn note(&mut self, seq: u64, at: Timestamp, why: &str) -> Transition {
        if self.steps.len() >= STEPS {
            self.steps.remove(STEPS / 2);
        }
        let step = Step { seq, at, to: self.stage.name().to_owned(), why: why.to_owned() };
        self.steps.push(step.clone());
        self.transition(step)
    }

    fn transition(&self, step: Step) -> Transition {
        let letter = &self.letter;
        Transition {
            id: letter.id.clone(),
            from: letter.from.clone(),
            to: letter.to.clone(),
            to_name: letter.to_name.clone(),
            mode: letter.mode,
            category: letter.category,
            step,
        }
    }
}
