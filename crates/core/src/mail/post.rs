//! The post office: every message that is under way, and what became of those that were.
//!
//! [`Post::apply`] is total: a fact that does not fit changes nothing. [`Post::allows`] is the same rule, asked beforehand.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use super::again::Stranded;
use super::busy::Busy;
use super::draft::Draft;
use super::fact::MailFact;
use super::letter::{DeliveryId, Letter, MailId, Mode};
use super::passing::Late;
use super::stage::{Ended, Stage};
use super::steps::Transition;
use crate::event::Ending;
use crate::id::RuntimeId;
use crate::runtime::Runtime;
use crate::time::{Span, Timestamp};

/// How many messages that have come to an end are remembered: so many; more of them for as long as it counts how many an agent has
/// written; and so many at most.
const REMEMBERED: (usize, Span, usize) = (500, Span::minutes(10), 20_000);

/// How long it is waited after a delivery that could not be made, at first and at most.
const RETRY: (Span, Span) = (Span::seconds(1), Span::seconds(30));

/// A message and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The message.
    pub letter: Letter,
    /// Where it is.
    pub stage: Stage,
    /// Since when.
    pub since: Timestamp,
    /// How it got there.
    pub steps: Vec<Step>,
    /// Its time has not come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_until: Option<Timestamp>,
    /// None is to follow it any more: the next one is there, or not wanted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub followed: bool,
    /// It was taken back with its series when it may have been typed. Should that turn out not to be so, it is not tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwanted: bool,
    /// A turn was interrupted for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// By which way it was given to its agent, and why by that one, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// It has waited for too long.
    #[serde(default, skip_serializing_if = "Late::is_no")]
    pub late: Late,
    /// Its agent ended before it surely had it, and could be gone on with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stranded: Option<Stranded>,
}

/// A step that a message took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Where in the log.
    #[serde(default)]
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// Where to.
    pub to: String,
    /// Why, or on what evidence, for people.
    pub why: String,
}

/// A delivery under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// Its id.
    pub id: DeliveryId,
    /// Which messages, in order.
    pub letters: Vec<MailId>,
    /// Whether the agent may have been given them.
    pub started: bool,
    /// Whether that is by a hook or server of its own, and not by keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hook: bool,
    /// Whether a person's text is in the way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_the_way: bool,
}

/// What waits for one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mailbox {
    /// The word that its messages carry.
    pub nonce: String,
    /// The messages that are queued, in the order in which they came.
    pub queue: VecDeque<MailId>,
    /// The delivery under way. One at a time.
    pub under_way: Option<Delivery>,
    /// Nothing is delivered before this.
    pub retry_at: Option<Timestamp>,
    /// How many deliveries could not be made since one could.
    pub failures: u32,
    /// Why the last delivery could not be made, for people, as long as none could be made since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Where in the log agtmux itself has interrupted a turn of the agent last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<u64>,
    /// A person's text that is in the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<Draft>,
    /// A person's text that was put aside and is not back yet: the id under which it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_aside: Option<MailId>,
}

/// Every message that is under way, and those that were not long ago.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Post {
    /// By id.
    pub letters: BTreeMap<MailId, Entry>,
    /// By recipient.
    pub boxes: BTreeMap<RuntimeId, Mailbox>,
    /// Those that are over, the oldest first.
    over: VecDeque<MailId>,
    /// Agents that said that they have something to do.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub busy: BTreeMap<RuntimeId, Busy>,
    /// Those that took a step since this was asked last.
    #[serde(skip)]
    pub(super) touched: BTreeSet<MailId>,
    /// Agents for whom something else waits since this was asked last.
    #[serde(skip)]
    pub(super) stirred: BTreeSet<RuntimeId>,
    /// The steps that messages took since this was asked last.
    #[serde(skip)]
    pub(super) taken: Vec<Transition>,
    /// Where in the log what happens now is.
    #[serde(skip)]
    pub(super) seq: u64,
}

impl Post {
    /// Whether nothing was ever sent.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty() && self.boxes.is_empty() && self.busy.is_empty()
    }

    /// The messages that took a step since this was asked last.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<MailId> {
        std::mem::take(&mut self.touched)
    }

    /// The agents for whom something else waits since this was asked last.
    pub(crate) fn take_stirred(&mut self) -> BTreeSet<RuntimeId> {
        std::mem::take(&mut self.stirred)
    }

    /// A message.
    pub fn get(&self, id: &MailId) -> Option<&Entry> {
        self.letters.get(id)
    }

    /// The messages that wait for an agent, in the order in which they will be delivered; not those whose time has not come.
    pub fn waiting_for(&self, runtime: &RuntimeId) -> Vec<&Entry> {
        let queue = self.boxes.get(runtime).map(|mailbox| &mailbox.queue);
        let queued = queue.into_iter().flatten().filter_map(|id| self.letters.get(id));
        let mut waiting: Vec<_> = queued.filter(|entry| entry.waits_until.is_none()).collect();
        waiting.sort_by_key(|entry| std::cmp::Reverse(entry.letter.mode));
        waiting
    }

    /// The messages that an agent was not given yet: those that a delivery is tried with, then those that wait.
    pub fn undelivered(&self, runtime: &RuntimeId) -> Vec<&Entry> {
        let delivery = self.boxes.get(runtime).and_then(|mailbox| mailbox.under_way.as_ref());
        let tried = delivery.into_iter().flat_map(|delivery| &delivery.letters).filter_map(|id| self.letters.get(id));
        tried.filter(|entry| entry.stage.is_tried()).chain(self.waiting_for(runtime)).collect()
    }

    /// Whether a message was known at some time, as far as that can be said: as long as none was forgotten, an id that is not there
    /// never was.
    pub fn may_have_known(&self, id: &MailId) -> bool {
        self.letters.contains_key(id) || self.over.len() >= REMEMBERED.0
    }

    /// Whether a message has come to an end, or was never known.
    pub fn is_over(&self, id: &MailId) -> bool {
        self.letters.get(id).is_none_or(|entry| entry.stage.ended().is_some())
    }

    /// Whether somebody needs the text of a message: whoever delivers it or sends it anew, or the one that is to follow it.
    pub fn needs_text(&self, id: &MailId) -> bool {
        let follows = |entry: &Entry| entry.is_to_be_followed() && self.boxes.contains_key(&entry.letter.to);
        let is_needed = |entry: &Entry| entry.stage.ended().is_none() || follows(entry) || entry.stranded.is_some();
        self.letters.get(id).is_some_and(is_needed) || self.is_put_aside(id)
    }

    /// Whether a fact fits what is known.
    pub fn allows(&self, fact: &MailFact) -> bool {
        match fact {
            MailFact::Opened { runtime, nonce } => !nonce.is_empty() && !self.boxes.contains_key(runtime),
            MailFact::Queued { letter } => {
                self.boxes.contains_key(&letter.to) && !self.letters.contains_key(&letter.id)
            }
            MailFact::Leased { runtime, letters, .. } => {
                let queued = |id: &MailId| self.letters.get(id).is_some_and(|entry| entry.stage == Stage::Queued);
                let is_its = |id: &MailId| self.letters.get(id).is_some_and(|entry| entry.letter.to == *runtime);
                let is_free = self.boxes.get(runtime).is_some_and(|mailbox| mailbox.under_way.is_none());
                is_free && !letters.is_empty() && letters.iter().all(|id| queued(id) && is_its(id))
            }
            MailFact::Started { delivery } | MailFact::Offered { delivery } => {
                self.under_way(delivery).is_some_and(|(_, delivery)| !delivery.started)
            }
            MailFact::Returned { delivery, .. }
            | MailFact::Interrupted { delivery }
            | MailFact::InTheWay { delivery, .. }
            | MailFact::SetAside { delivery } => self.under_way(delivery).is_some(),
            MailFact::Submitted { delivery, .. } | MailFact::Unconfirmed { delivery, .. } => {
                self.under_way(delivery).is_some_and(|(_, delivery)| delivery.started)
            }
            MailFact::Confirmed { letters, .. } => letters.iter().any(|id| self.can_be_confirmed(id)),
            MailFact::PutBack { runtime } => self.boxes.get(runtime).is_some_and(|mailbox| mailbox.put_aside.is_some()),
            MailFact::Cancelled { id, .. } => {
                let is_wanted =
                    |entry: &&Entry| entry.is_to_be_followed() || entry.can_be_taken_back() || entry.stranded.is_some();
                self.series(id).iter().any(is_wanted)
            }
            MailFact::Busy { .. } => true,
            MailFact::Ready { runtime, .. } => self.busy.contains_key(runtime),
        }
    }

    /// Lets a fact happen. Gives whether it fitted.
    pub(crate) fn apply(&mut self, fact: &MailFact, now: Timestamp) -> bool {
        if !self.allows(fact) {
            return false;
        }
        match fact {
            MailFact::Opened { runtime, nonce } => {
                self.boxes.insert(runtime.clone(), Mailbox { nonce: nonce.clone(), ..Mailbox::default() });
            }
            MailFact::Queued { letter } => {
                let waits_until = letter.not_before.filter(|at| *at > now);
                let letter_kept = (**letter).clone();
                let steps = Vec::new();
                let mut entry = Entry {
                    letter: letter_kept,
                    stage: Stage::Queued,
                    since: now,
                    steps,
                    waits_until,
                    followed: false,
                    unwanted: false,
                    interrupted: false,
                    channel: None,
                    late: Late::No,
                    stranded: None,
                };
                self.taken.push(entry.note(self.seq, now, ""));
                self.note_told(letter);
                self.follow(&letter.id, letter.first());
                self.note_again(letter);
                if let Some(mailbox) = self.boxes.get_mut(&letter.to) {
                    mailbox.queue.push_back(letter.id.clone());
                    // What is urgent does not wait for another try of something else.
                    mailbox.retry_at.take_if(|_| letter.mode == Mode::Urgent);
                }
                self.touched.insert(letter.id.clone());
                self.stirred.insert(letter.to.clone());
                self.letters.insert(letter.id.clone(), entry);
            }
            MailFact::Leased { delivery, runtime, letters } => {
                if let Some(mailbox) = self.boxes.get_mut(runtime) {
                    mailbox.queue.retain(|id| !letters.contains(id));
                    let (id, letters) = (delivery.clone(), letters.clone());
                    let under_way = Delivery { id, letters, started: false, by_hook: false, in_the_way: false };
                    mailbox.under_way = Some(under_way);
                }
                self.move_all(letters, &Stage::Leased, now, delivery.as_str());
            }
            MailFact::Started { delivery } | MailFact::Offered { delivery } => {
                let Some((_, under_way)) = self.under_way_mut(delivery) else { return false };
                under_way.started = true;
                under_way.by_hook = matches!(fact, MailFact::Offered { .. });
                let letters = under_way.letters.clone();
                self.move_all(&letters, &Stage::Started, now, delivery.as_str());
            }
            MailFact::Returned { delivery, why } => self.take_back(delivery, why, now),
            MailFact::InTheWay { delivery, digest, again, stuck } => {
                if let Some((_, under_way)) = self.under_way_mut(delivery) {
                    under_way.in_the_way = true;
                }
                if let Some(mailbox) = self.box_of(delivery) {
                    mailbox.see_draft(digest, *again, stuck.as_deref(), now);
                }
            }
            MailFact::SetAside { delivery } => {
                if let Some(mailbox) = self.box_of(delivery) {
                    mailbox.put_aside = Draft::kept_as(delivery);
                }
            }
            MailFact::PutBack { runtime } => {
                self.boxes.entry(runtime.clone()).and_modify(|mailbox| mailbox.put_aside = None);
            }
            MailFact::Interrupted { delivery } => {
                let letters = self.under_way(delivery).map(|(_, delivery)| delivery.letters.clone());
                for id in letters.unwrap_or_default() {
                    self.letters.entry(id).and_modify(|entry| entry.interrupted = true);
                }
                let seq = self.seq;
                if let Some(mailbox) = self.box_of(delivery) {
                    mailbox.interrupted = Some(seq);
                }
            }
            MailFact::Submitted { delivery, channel, evidence } => {
                self.note_channel(delivery, channel);
                let letters = self.end_delivery(delivery);
                self.move_all(&letters, &Stage::Submitted, now, &format!("{channel}: {evidence}"));
                let is_command = |id: &&MailId| self.letters.get(*id).is_some_and(|entry| entry.letter.command);
                let commands: Vec<_> = letters.iter().filter(is_command).cloned().collect();
                self.end_all(
                    &commands,
                    Ended::Unconfirmed,
                    now,
                    "it was submitted, and no agent says that it ran a command",
                );
            }
            MailFact::Unconfirmed { delivery, why } => {
                let letters = self.end_delivery(delivery);
                self.end_all(&letters, Ended::Unconfirmed, now, why);
            }
            MailFact::Confirmed { letters, by } => {
                let letters: Vec<_> = letters.iter().filter(|id| self.can_be_confirmed(id)).cloned().collect();
                self.end_all(&letters, Ended::Confirmed, now, by.name());
            }
            MailFact::Cancelled { id, by } => self.cancel(id, by, now),
            MailFact::Busy { runtime, reason, until, .. } => {
                let busy = Busy { reason: reason.clone(), since: now, until: *until };
                self.busy.insert(runtime.clone(), busy);
                self.stirred.insert(runtime.clone());
            }
            MailFact::Ready { runtime, .. } => {
                self.busy.remove(runtime);
                self.stirred.insert(runtime.clone());
            }
        }
        true
    }

    /// An agent is over: what was not delivered to it never will be.
    pub(crate) fn runtime_ended(&mut self, runtime: &Runtime, how: Ending, now: Timestamp) {
        self.busy.remove(&runtime.id);
        let Some(mailbox) = self.boxes.remove(&runtime.id) else { return };
        self.strand(runtime, &mailbox.nonce, now);
        let why = format!("the agent has ended: {}", how.name());
        let (typed, mut untyped) = match mailbox.under_way {
            Some(delivery) if delivery.started => (delivery.letters, Vec::new()),
            Some(delivery) => (Vec::new(), delivery.letters),
            None => (Vec::new(), Vec::new()),
        };
        untyped.extend(mailbox.queue);
        let typed: Vec<_> = typed.into_iter().filter(|id| !self.is_over(id)).collect();
        self.end_all(&typed, Ended::Unconfirmed, now, &why);
        self.end_all(&untyped, Ended::Dead, now, &why);
    }

    /// A delivery under way, and whose.
    pub fn under_way(&self, id: &DeliveryId) -> Option<(&RuntimeId, &Delivery)> {
        let deliveries =
            self.boxes.iter().filter_map(|(runtime, mailbox)| Some((runtime, mailbox.under_way.as_ref()?)));
        deliveries.into_iter().find(|(_, delivery)| delivery.id == *id)
    }

    fn under_way_mut(&mut self, id: &DeliveryId) -> Option<(&RuntimeId, &mut Delivery)> {
        let deliveries =
            self.boxes.iter_mut().filter_map(|(runtime, mailbox)| Some((runtime, mailbox.under_way.as_mut()?)));
        deliveries.into_iter().find(|(_, delivery)| delivery.id == *id)
    }

    /// What was typed can have been read; and what nobody was sure of can turn out to have been.
    pub(super) fn can_be_confirmed(&self, id: &MailId) -> bool {
        self.letters.get(id).is_some_and(|entry| {
            matches!(entry.stage, Stage::Started | Stage::Submitted | Stage::Ended { how: Ended::Unconfirmed })
        })
    }

    /// Whether an agent may have been given messages that it has not said so of.
    pub fn waits_for_receipts(&self, runtime: &RuntimeId) -> bool {
        let mut its = self.letters.values().filter(|entry| entry.letter.to == *runtime);
        its.any(|entry| self.can_be_confirmed(&entry.letter.id))
    }

    fn box_of(&mut self, id: &DeliveryId) -> Option<&mut Mailbox> {
        self.boxes.values_mut().find(|mailbox| mailbox.under_way.as_ref().is_some_and(|d| d.id == *id))
    }

    /// The agent may have said that it has them before anybody could say how it got them.
    fn note_channel(&mut self, id: &DeliveryId, channel: &str) {
        let letters = self.under_way(id).map(|(_, delivery)| delivery.letters.clone());
        for id in letters.unwrap_or_default() {
            self.letters.entry(id).and_modify(|entry| entry.channel = Some(channel.to_owned()));
        }
    }

    /// Ends a delivery that was made. Gives the messages of which nothing more is known yet.
    fn end_delivery(&mut self, id: &DeliveryId) -> Vec<MailId> {
        let Some(mailbox) = self.box_of(id) else { return Vec::new() };
        mailbox.failures = 0;
        mailbox.failed = None;
        mailbox.draft = None;
        let letters = mailbox.under_way.take().map(|delivery| delivery.letters).unwrap_or_default();
        letters.into_iter().filter(|id| !self.is_over(id)).collect()
    }

    /// Puts the messages of a delivery back where they were. They are typed together: if the agent was given one of them, nobody
    /// can say that nothing was typed, and the others are not typed again.
    fn take_back(&mut self, id: &DeliveryId, why: &str, now: Timestamp) {
        let letters = self.under_way(id).map(|(_, delivery)| delivery.letters.clone()).unwrap_or_default();
        if letters.iter().any(|id| self.is_over(id)) {
            let rest = self.end_delivery(id);
            return self.end_all(&rest, Ended::Unconfirmed, now, "the agent was given what was typed with it");
        }
        let is_unwanted = |id: &MailId| self.letters.get(id).is_some_and(|entry| entry.unwanted);
        let (unwanted, letters): (Vec<_>, Vec<_>) = letters.into_iter().partition(is_unwanted);
        let Some(mailbox) = self.box_of(id) else { return };
        let is_in_the_way = mailbox.under_way.take().is_some_and(|delivery| delivery.in_the_way);
        mailbox.draft.take_if(|_| !is_in_the_way);
        let wait = RETRY.0.0.saturating_mul(1 << mailbox.failures.min(8)).min(RETRY.1.0);
        // Whoever writes is looked at at an even pace, so that it is noticed in time that they stopped.
        mailbox.retry_at = Some(now + mailbox.draft.as_ref().map_or(Span(wait), |draft| draft.again));
        mailbox.failed = Some(why.to_owned());
        let is_stuck = mailbox.draft.as_ref().is_some_and(|draft| draft.stuck.is_some());
        mailbox.failures = if is_in_the_way { 0 } else { mailbox.failures.saturating_add(1) };
        for id in letters.iter().rev() {
            mailbox.queue.push_front(id.clone());
        }
        if is_stuck {
            self.note_late(&letters);
        }
        self.move_all(&letters, &Stage::Queued, now, why);
        self.end_all(&unwanted, Ended::Cancelled, now, "it was taken back while it was delivered, and was not typed");
    }

    /// Takes a message out of whatever holds it. Whoever was given it to deliver has the others with it: none of them is delivered
    /// by that delivery, and they wait for the next.
    pub(super) fn forget_place(&mut self, id: &MailId, now: Timestamp) {
        let Some(entry) = self.letters.get(id) else { return };
        let Some(mailbox) = self.boxes.get_mut(&entry.letter.to) else { return };
        mailbox.queue.retain(|queued| queued != id);
        if let Some(delivery) = mailbox.under_way.take_if(|delivery| delivery.letters.contains(id)) {
            let others: Vec<_> = delivery.letters.into_iter().filter(|leased| leased != id).collect();
            others.iter().rev().for_each(|other| mailbox.queue.push_front(other.clone()));
            self.move_all(&others, &Stage::Queued, now, "one of those that were chosen with it was taken back");
        }
    }

    pub(super) fn move_all(&mut self, letters: &[MailId], stage: &Stage, now: Timestamp, why: &str) {
        for id in letters {
            if let Some(entry) = self.letters.get_mut(id) {
                (entry.stage, entry.since) = (stage.clone(), now);
                self.taken.push(entry.note(self.seq, now, why));
                self.touched.insert(id.clone());
                self.stirred.insert(entry.letter.to.clone());
            }
        }
    }

    pub(super) fn end_all(&mut self, letters: &[MailId], how: Ended, now: Timestamp, why: &str) {
        self.move_all(letters, &Stage::Ended { how }, now, why);
        for id in letters {
            if !self.over.contains(id) {
                self.over.push_back(id.clone());
            }
            if let Some(entry) = self.letters.get_mut(id).filter(|_| how == Ended::Confirmed) {
                entry.stranded = None;
            }
        }
        self.forget_oldest(now);
    }

    /// Forgets messages that are over, the oldest first. What may yet be sent anew is not among those that are counted: it lapses by
    /// itself.
    fn forget_oldest(&mut self, now: Timestamp) {
        let is_young = |entry: &Entry| entry.since + REMEMBERED.1 > now;
        let mut kept = 0;
        while self.over.len() > REMEMBERED.0 + kept {
            let is_full = self.over.len() > REMEMBERED.2;
            match self.over.get(kept).and_then(|oldest| self.letters.get(oldest)) {
                Some(entry) if !is_full && entry.stranded.is_some() => {
                    kept += 1;
                    continue;
                }
                Some(entry) if !is_full && is_young(entry) => return,
                _ => {}
            }
            if let Some(oldest) = self.over.remove(kept) {
                self.letters.remove(&oldest);
                self.touched.insert(oldest);
            }
        }
    }
}

impl Entry {
    /// Since when it could have been delivered.
    pub fn waits_since(&self) -> Timestamp {
        self.letter.not_before.unwrap_or(self.letter.queued_at).max(self.letter.queued_at)
    }
}
