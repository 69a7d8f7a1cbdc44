//! Messages whose agent ended before it surely had them, and what becomes of them when its conversation is gone on with.
//!
//! They came to their end, and nobody else is given them. Should another runtime go on with the same conversation, it is the same
//! agent as far as anybody can tell who wrote to it: it is sent them anew, each as a message of its own that says which one it is.
//! What may have been typed before is looked for in the agent's record first, and says `redelivered=1` if it is not there.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::letter::{Category, Letter, MailId, Party};
use super::post::{Entry, Post};
use super::stage::Stage;
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::event::Fact;
use crate::id::{AgentId, RuntimeId};
use crate::runtime::Runtime;
use crate::time::{Span, Timestamp};

/// How long it is remembered that a message may be sent anew. What was to be said a day ago is better said in other words.
const KEPT: Span = Span::hours(24);

/// What is known of a message whose agent has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stranded {
    /// What the agent was.
    pub agent: AgentId,
    /// The conversation that it was in.
    pub conversation: String,
    /// The word that its messages carried.
    pub nonce: String,
    /// Whether it may have been given the message.
    pub typed: bool,
    /// Since when it is over.
    pub since: Timestamp,
}

/// Which message one is, that is sent anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Again {
    /// The one that it was at first.
    pub first: MailId,
    /// How often it was sent, with this time, as far as its ids were free.
    pub number: u64,
    /// Whether the agent may have been given it before.
    pub redelivered: bool,
}

/// A message that an agent may be sent anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Which.
    pub id: MailId,
    /// What is known of it.
    pub stranded: Stranded,
}

/// What becomes of such a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The agent was given it.
    Arrived,
    /// It is sent anew.
    Again,
    /// Nobody can say whether the agent was given it, so it is not sent anew.
    Unknown,
}

impl Stray {
    /// What becomes of it, going by what the agent's own record says that it was given; none if there is no record to tell.
    pub fn fate(&self, given: Option<&BTreeSet<MailId>>) -> Fate {
        match given {
            Some(given) if given.contains(&self.id) => Fate::Arrived,
            None if self.stranded.typed => Fate::Unknown,
            Some(_) | None => Fate::Again,
        }
    }
}

impl Engine {
    /// The agents that went on with a conversation in which messages got stranded.
    pub fn mail_heirs(&self) -> Vec<RuntimeId> {
        let stranded: Vec<_> = self.state().mail.stranded().collect();
        let living = self.state().topology.runtimes.values().filter(|runtime| runtime.is_live());
        let inherits = |runtime: &&Runtime| stranded.iter().any(|(_, stranded)| stranded.is_for(runtime));
        living.filter(inherits).map(|runtime| runtime.id.clone()).collect()
    }

    /// What such an agent may be sent anew, in the order in which it was sent.
    pub fn mail_strays(&self, runtime: &RuntimeId) -> Vec<Stray> {
        let Some(runtime) = self.state().topology.live(runtime) else { return Vec::new() };
        let mail = &self.state().mail;
        let mut strays: Vec<_> = mail.stranded().filter(|(_, stranded)| stranded.is_for(runtime)).collect();
        strays.sort_by_key(|(entry, _)| (entry.letter.queued_at, entry.steps.first().map(|step| step.seq)));
        let stray =
            |(entry, stranded): (&Entry, &Stranded)| Stray { id: entry.letter.id.clone(), stranded: stranded.clone() };
        strays.into_iter().map(stray).collect()
    }

    /// Sends a message anew to an agent that goes on with the conversation of the one that it was for. Gives its id with what is to
    /// be logged.
    ///
    /// # Errors
    /// Refused when the agent is not such a one, or the message was sent anew already.
    pub fn send_again(&self, id: &MailId, to: &RuntimeId, nonce: String) -> Result<(MailId, Vec<Fact>), Refusal> {
        let mail = &self.state().mail;
        let heir = self.state().topology.live(to);
        let stray = mail.get(id).zip(heir).and_then(|(entry, heir)| {
            let stranded = entry.stranded.as_ref().filter(|stranded| stranded.is_for(heir))?;
            Some((entry, stranded, heir))
        });
        let Some((entry, stranded, heir)) = stray else {
            return Err(refuse(RefusalCode::PreconditionFailed, format!("{id} is not to be sent to {to} anew")));
        };
        let number = mail.number_anew(&entry.letter, |known| known.is_none());
        let letter = entry.letter.anew(stranded, heir, number, self.now());
        Ok((letter.id.clone(), mail.queue(letter, nonce)))
    }
}

impl Post {
    fn stranded(&self) -> impl Iterator<Item = (&Entry, &Stranded)> {
        self.letters.values().filter_map(|entry| Some((entry, entry.stranded.as_ref()?)))
    }

    /// Remembers which messages an agent may not have been given when it ended, if it can be gone on with.
    pub(super) fn strand(&mut self, runtime: &Runtime, nonce: &str, now: Timestamp) {
        let Some(conversation) = &runtime.conversation else { return };
        for entry in self.letters.values_mut().filter(|entry| entry.letter.to == runtime.id) {
            let typed = match entry.stage {
                Stage::Queued | Stage::Leased => false,
                Stage::Started | Stage::Submitted => true,
                Stage::Ended { .. } => continue,
            };
            // What there was to say of its own messages is of no use to it in another life, and a command was for what it was at then.
            if entry.letter.category != Category::Notice && !entry.letter.command {
                entry.stranded = Some(Stranded {
                    agent: runtime.agent.clone(),
                    conversation: conversation.id.clone(),
                    nonce: nonce.to_owned(),
                    typed,
                    since: now,
                });
            }
        }
    }

    /// A message is sent that may be another one anew: that one is not sent so again, nor followed.
    pub(super) fn note_again(&mut self, letter: &Letter) {
        let Some(again) = &letter.again else { return };
        for entry in self.letters.values_mut().filter(|entry| entry.letter.origin() == &again.first) {
            entry.stranded = None;
            entry.followed |= entry.letter.every.is_some();
            self.touched.insert(entry.letter.id.clone());
        }
    }

    /// The message that another one was sent as anew.
    pub fn sent_again_as(&self, id: &MailId) -> Option<&MailId> {
        let letter = &self.letters.get(id)?.letter;
        let is_it = |known: &Letter| known.again.as_ref().is_some_and(|again| again.first == *letter.origin());
        let number = self.number_anew(letter, |known| known.is_none_or(is_it));
        self.letters.get_key_value(&letter.id_anew(number)).map(|(id, _)| id)
    }

    /// The first number after a message's own under which there is what is wanted, or nothing. A message that has such an id and is
    /// another one is passed over.
    fn number_anew(&self, letter: &Letter, is_wanted: impl Fn(Option<&Letter>) -> bool) -> u64 {
        let known = |number: u64| self.letters.get(&letter.id_anew(number)).map(|entry| &entry.letter);
        let mut numbers = letter.sent().saturating_add(1)..;
        numbers.find(|number| is_wanted(known(*number))).unwrap_or(u64::MAX)
    }
}

impl Stranded {
    fn is_for(&self, runtime: &Runtime) -> bool {
        let conversation = runtime.conversation.as_ref();
        self.agent == runtime.agent && conversation.is_some_and(|conversation| conversation.id == self.conversation)
    }
}

impl Entry {
    /// When it is too late to send it anew.
    pub(super) fn lapses_at(&self) -> Option<Timestamp> {
        let kept = self.stranded.as_ref()?.since + KEPT;
        Some(self.letter.expires_at().map_or(kept, |late| late.min(kept)))
    }
}

impl Letter {
    /// The message that it was at first.
    pub fn origin(&self) -> &MailId {
        self.again.as_ref().map_or(&self.id, |again| &again.first)
    }

    /// How often it was sent, with this time.
    fn sent(&self) -> u64 {
        self.again.as_ref().map_or(1, |again| again.number)
    }

    /// What it is called when it is sent anew: `m_1` comes as `m_1_r2`, or under the first such number that is free.
    fn id_anew(&self, number: u64) -> MailId {
        MailId::made_of(&format!("{}_r{number}", self.origin()))
    }

    /// The same message for whoever goes on with the conversation. It is not given more time by that.
    fn anew(&self, stranded: &Stranded, heir: &Runtime, number: u64, now: Timestamp) -> Self {
        let again = Again {
            first: self.origin().clone(),
            number,
            redelivered: stranded.typed || self.again.as_ref().is_some_and(|again| again.redelivered),
        };
        let left = |late: Timestamp| Span(late.0.saturating_sub(now.0).max(0));
        let timeout = match self.not_before {
            Some(_) => self.timeout,
            None => self.expires_at().map(left),
        };
        let name = heir.name.clone().unwrap_or_else(|| heir.id.to_string());
        // Who wrote to itself is the same agent still.
        let from = match self.from.runtime() {
            Some(writer) if *writer == self.to => Party::Agent { runtime: heir.id.clone(), name: name.clone() },
            _ => self.from.clone(),
        };
        Self {
            id: self.id_anew(number),
            to: heir.id.clone(),
            to_name: name,
            from,
            queued_at: now,
            timeout,
            series: None,
            again: Some(again),
            ..self.clone()
        }
    }
}
