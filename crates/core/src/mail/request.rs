//! What is asked of the post: to take a message, to take one back, and the steps of those who deliver.

use super::fact::MailFact;
use super::letter::{Category, Letter, MailId, Party};
use super::limits::Limits;
use super::post::{Entry, Post};
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::event::Fact;
use crate::id::RuntimeId;
use crate::time::Span;

/// How many messages may wait for one agent before agents are refused, and before people are: what agents write must not keep a
/// person from being heard.
const QUEUE_LIMIT: (usize, usize) = (1_000, 10_000);

/// How soon what an agent wrote may come again, to another agent and to itself.
const INTERVAL: (Span, Span) = (Span::minutes(1), Span::seconds(10));

/// How many answers may lead to one another. More is a conversation that nobody reads.
const HOPS: u32 = 8;

/// A message that somebody wants to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewLetter {
    /// The message; how many answers led to it is found out here.
    pub letter: Letter,
    /// The word for the recipient's box, should it have none yet.
    pub nonce: String,
    /// It is not delivered before so much time has passed.
    pub delay: Option<Span>,
}

/// What became of a message that was to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Posted {
    /// It is to be logged so.
    New(Vec<Fact>),
    /// It was accepted before.
    Known(Box<Entry>),
}

impl Post {
    /// What is to be logged for a letter to wait. The box of whoever gets its first is opened with that word.
    pub(super) fn queue(&self, letter: Letter, nonce: String) -> Vec<Fact> {
        let is_new = !self.boxes.contains_key(&letter.to);
        let opened = is_new.then(|| MailFact::Opened { runtime: letter.to.clone(), nonce });
        let queued = MailFact::Queued { letter: Box::new(letter) };
        opened.into_iter().chain([queued]).map(|fact| Fact::Mail(Box::new(fact))).collect()
    }
}

impl Engine {
    /// Takes a message. The same one again changes nothing.
    ///
    /// # Errors
    /// Refused when there is nobody to get it, when its id is another message's, and when too many wait already.
    pub fn post(&self, limits: Limits, new: NewLetter) -> Result<Posted, Refusal> {
        let NewLetter { mut letter, nonce, delay } = new;
        letter.not_before = delay.map(|delay| letter.queued_at + delay).or(letter.not_before);
        let mail = &self.state().mail;
        if let Some(known) = mail.get(&letter.id) {
            let is_of_the_same = known.letter.from.id() == letter.from.id() && known.letter.to == letter.to;
            let is_alike = known.letter.digest == letter.digest && known.letter.category == letter.category;
            if is_of_the_same && is_alike {
                return Ok(Posted::Known(Box::new(known.clone())));
            }
            return Err(refuse(RefusalCode::PreconditionFailed, format!("{} is the id of another message", letter.id))
                .hint("an id belongs to one message; leave --id out to get a new one"));
        }
        let Some(runtime) = self.state().topology.live(&letter.to) else {
            return Err(refuse(RefusalCode::RuntimeStale, format!("{} is over", letter.to))
                .hint("`agtmux list panes` shows the agents there are"));
        };
        if letter.from.runtime() == Some(&runtime.id) && letter.category == Category::Mail {
            return Err(refuse(RefusalCode::PreconditionFailed, "an agent does not write to itself")
                .hint("to be reminded of something: `sm remind 5m TEXT`"));
        }
        let waiting = mail.boxes.get(&letter.to).map_or(0, |mailbox| mailbox.queue.len());
        let most = if matches!(letter.from, Party::Person { .. }) { QUEUE_LIMIT.1 } else { QUEUE_LIMIT.0 };
        if waiting >= most {
            let message = format!("{waiting} messages wait for {} already", letter.to_name);
            return Err(refuse(RefusalCode::PreconditionFailed, message)
                .hint(format!("see what it waits for: `sm queue {}`", letter.to_name)));
        }
        self.answers_something(&letter)?;
        is_not_too_often(&letter)?;
        self.is_not_flooding(limits, &letter)?;
        self.is_not_going_round(limits, &letter)?;
        letter.hops = self.hops(&letter)?;
        Ok(Posted::New(mail.queue(letter, nonce)))
    }

    /// Takes a message back.
    ///
    /// # Errors
    /// Refused when it is not known, over, or may have been typed.
    pub fn cancel_mail(&self, id: &MailId, by: &str) -> Result<Fact, Refusal> {
        let fact = MailFact::Cancelled { id: id.clone(), by: by.to_owned() };
        if self.state().mail.allows(&fact) {
            return Ok(Fact::Mail(Box::new(fact)));
        }
        Err(match self.state().mail.get(id) {
            None => refuse(RefusalCode::PreconditionFailed, format!("there is no message {id}"))
                .hint("`sm queue` shows those that wait"),
            Some(entry) => {
                let message = format!("{id} is {}; only a message that waits can be taken back", entry.stage.name());
                refuse(RefusalCode::PreconditionFailed, message).hint(format!("`sm show {id}` tells what became of it"))
            }
        })
    }

    /// A step of a delivery, if it can be taken.
    ///
    /// # Errors
    /// Refused when the delivery is not under way any more: the agent has ended, or the messages were taken back.
    pub fn mail_step(&self, step: MailFact) -> Result<Fact, Refusal> {
        if self.state().mail.allows(&step) {
            return Ok(Fact::Mail(Box::new(step)));
        }
        Err(refuse(RefusalCode::PreconditionFailed, "the delivery is not under way any more"))
    }

    /// The place of a message among those that its agent was not given yet, counted from one.
    pub fn mail_position(&self, to: &RuntimeId, id: &MailId) -> Option<usize> {
        let waiting = self.state().mail.undelivered(to);
        waiting.iter().position(|entry| entry.letter.id == *id).map(|before| before + 1)
    }

    /// Keeps what was never said from being answered: nobody could say how many answers led to it. What was forgotten may be.
    fn answers_something(&self, letter: &Letter) -> Result<(), Refusal> {
        match &letter.reply_to {
            Some(id) if !self.state().mail.may_have_known(id) => {
                Err(refuse(RefusalCode::MessageNotFound, format!("there is no message {id} to be answered"))
                    .hint("`sm inbox` shows an agent what it was given, `sm queue --all` all that are remembered"))
            }
            _ => Ok(()),
        }
    }

    /// How many answers lead to a message: one more than to the one it answers. A person begins anew.
    fn hops(&self, letter: &Letter) -> Result<u32, Refusal> {
        let mail = &self.state().mail;
        if letter.from.runtime().is_none() {
            return Ok(0);
        }
        let answered = letter.reply_to.as_ref().and_then(|id| mail.get(id));
        let hops = answered.map_or(0, |entry| entry.letter.hops + 1);
        if hops > HOPS {
            return Err(refuse(RefusalCode::NotAllowed, format!("{HOPS} answers of agents led to this one already"))
                .hint("a person can go on with it: whatever a person writes begins anew"));
        }
        Ok(hops)
    }
}

/// Keeps an agent from setting a clock that would leave no time for anything else.
fn is_not_too_often(letter: &Letter) -> Result<(), Refusal> {
    // Whoever set it was asked then.
    let Some(every) = letter.every.filter(|_| letter.series.is_none()) else { return Ok(()) };
    let Some(writer) = letter.from.runtime() else { return Ok(()) };
    let least = if *writer == letter.to { INTERVAL.1 } else { INTERVAL.0 };
    if every >= least {
        return Ok(());
    }
    let message = format!("what an agent wrote comes again after {} s at the soonest", least.0 / 1_000);
    Err(refuse(RefusalCode::NotAllowed, message).hint("give it more time, or let it come once"))
}
