//! How much agents may write, so that none keeps others from their work, and two that answer each other come to an end. A person may
//! write as much as they like.

use super::letter::{Letter, MailId, Party};
use super::notice::spoken;
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::id::RuntimeId;
use crate::time::{Span, Timestamp};

/// For how long the messages to one other agent, to all, and in one thread are counted.
const PAIR: Span = Span::minutes(10);
const SENDER: Span = Span::minutes(1);
const THREAD: Span = Span::minutes(10);

/// The longest that the way back to the first message of a thread is followed.
const THREAD_DEPTH: usize = 64;

/// How many messages agents may write; nothing is any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One agent to one other, in ten minutes.
    pub pair: usize,
    /// One agent to all others, in a minute.
    pub sender: usize,
    /// All agents in one thread, that answers lead through, in ten minutes, unless a person writes in it.
    pub thread: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { pair: 6, sender: 60, thread: 12 }
    }
}

impl Engine {
    /// Keeps agents from writing to each other without end, at once or by reminders.
    pub(super) fn is_not_flooding(&self, limits: Limits, letter: &Letter) -> Result<(), Refusal> {
        let Some(writer) = letter.writer_to_another() else { return Ok(()) };
        let written = |to: Option<&RuntimeId>| -> Vec<Timestamp> {
            let is_like =
                |known: &&Letter| known.writer_to_another() == Some(writer) && to.is_none_or(|to| known.to == *to);
            let letters = self.state().mail.letters.values().map(|entry| &entry.letter);
            letters.filter(is_like).map(|known| known.queued_at).collect()
        };
        let who = format!("{} ({writer})", letter.from.name());
        if let Some(wait) = wait_for(limits.pair, PAIR, written(Some(&letter.to)), letter.queued_at) {
            let message = format!("{who} has written {} messages to {} in 10 minutes", limits.pair, letter.to_name);
            return Err(limited(message, wait).hint("put what there is to say into one message, or let a person look"));
        }
        if let Some(wait) = wait_for(limits.sender, SENDER, written(None), letter.queued_at) {
            let message = format!("{who} has written {} messages in a minute", limits.sender);
            return Err(limited(message, wait).hint("put what there is to say into fewer messages"));
        }
        Ok(())
    }

    /// Keeps a conversation of several agents, of whom none writes to one other too often, from going on without end. A person
    /// who writes in it lets it go on.
    pub(super) fn is_not_going_round(&self, limits: Limits, letter: &Letter) -> Result<(), Refusal> {
        let Some(answered) = letter.reply_to.as_ref().filter(|_| letter.from.runtime().is_some()) else {
            return Ok(());
        };
        let first = self.thread_of(answered);
        let letters = self.state().mail.letters.values().map(|entry| &entry.letter);
        let thread: Vec<_> = letters.filter(|known| self.thread_of(&known.id) == first).collect();
        let by_people = thread.iter().filter(|known| matches!(known.from, Party::Person { .. }));
        let since = by_people.map(|known| known.queued_at).max();
        let is_counted = |known: &&&Letter| {
            known.writer_to_another().is_some() && since.is_none_or(|since| known.queued_at >= since)
        };
        let written = thread.iter().filter(is_counted).map(|known| known.queued_at);
        if let Some(wait) = wait_for(limits.thread, THREAD, written, letter.queued_at) {
            let who = letter.from.name();
            let message = format!(
                "{who} cannot write: agents have written {} messages in the thread of {first} in 10 minutes",
                limits.thread
            );
            return Err(
                limited(message, wait).hint("a person can go on with it: whatever a person writes in it begins anew")
            );
        }
        Ok(())
    }

    /// The message that a thread began with, as far as it is remembered.
    fn thread_of<'a>(&'a self, id: &'a MailId) -> &'a MailId {
        let mail = &self.state().mail;
        let back = |id: &&'a MailId| mail.get(id).and_then(|entry| entry.letter.reply_to.as_ref());
        std::iter::successors(Some(id), back).take(THREAD_DEPTH).last().unwrap_or(id)
    }
}

/// How long it is until one more may be written; none if it may be now.
fn wait_for(most: usize, within: Span, written: impl IntoIterator<Item = Timestamp>, now: Timestamp) -> Option<Span> {
    let mut recent: Vec<_> =
        written.into_iter().map(|at| at + within).filter(|counts_until| *counts_until > now).collect();
    if most == 0 || recent.len() < most {
        return None;
    }
    recent.sort_unstable();
    Some(Span(recent[recent.len() - most].0 - now.0))
}

fn limited(message: String, wait: Span) -> Refusal {
    // A part of a second is waited for too.
    let wait = spoken(Span(wait.0 + 999));
    refuse(RefusalCode::RateLimited, format!("{message}; the next one may be sent in {wait}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_until_enough_of_them_are_old() {
        let wait = |most, at: &[i64]| {
            wait_for(most, Span::seconds(60), at.iter().map(|s| Timestamp(s * 1_000)), Timestamp(100_000))
                .map(|wait| wait.0)
        };
        assert_eq!(wait(3, &[90, 50, 70]), Some(10_000));
        assert_eq!(wait(2, &[90, 50, 70]), Some(30_000), "a limit that was lowered");
        assert_eq!(wait(3, &[90, 40, 70]), None, "one of them does not count any more");
        assert_eq!(wait(0, &[90, 91, 92]), None, "there is no limit");
    }
}
