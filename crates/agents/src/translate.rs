//! What the structured traces of each agent mean: hook payloads, and the records that vendors write.
//!
//! Names of events are those that the real programs were seen to use. A name that is not known is one
//! [`Signal::Unsupported`] reading: logged, and no state moves. The same goes for a payload that lacks what its event
//! always has, so that garbage never makes an agent look busy (I10).
//!
//! Hooks tell only half the story: most agents say nothing when a person presses Escape, and none that has no id for
//! its requests says which of two it goes on after. [`Translator`] therefore remembers a little of each conversation.

mod asks;
mod cause;
mod claude;
mod conversation;
mod opencode;
mod payload;

use std::collections::BTreeMap;

use agtmux_core::signal::Signal;
use serde_json::Value;

use crate::reading::Reading;
pub use claude::session_file::{SessionRecord, claude_session_file};
use conversation::Conversation;

/// What a hook, notify or plugin payload says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translation {
    /// The event's name, such as `PreToolUse`; empty when there was none.
    pub event: String,
    /// What it says, in order. Empty for an event that says nothing about the state.
    pub readings: Vec<Reading>,
    /// The agent's own id of the conversation.
    pub session: Option<String>,
    /// The file that holds the conversation.
    pub transcript: Option<String>,
    /// Why the event is not about the conversation that the person sees, if it is not. It then has no readings, and
    /// its session must not be taken for that of the pane.
    pub foreign: Option<&'static str>,
}

/// What one payload means, as if nothing had been said before it. Where payloads come one after another, a
/// [`Translator`] reads them better.
pub fn hook(agent: &str, event: Option<&str>, payload: &Value) -> Translation {
    Translator::default().hook(agent, event, payload)
}

/// Reads the hooks of all conversations in the order in which they were said, and remembers what the meaning of the
/// next one depends on: open requests above all. After a restart it knows nothing, and is then as good as [`hook`].
#[derive(Clone, Debug, Default)]
pub struct Translator {
    /// By agent and session, each with the time it was last heard of. Most have nothing that must be remembered.
    conversations: BTreeMap<(String, String), (u64, Conversation)>,
    clock: u64,
}

impl Translator {
    /// A killed agent never says that its conversation is over, so the one not heard of for longest is forgotten.
    const CONVERSATIONS: usize = 1_024;

    /// What one payload means. `event` is the name that the hook was installed for, where the payload has none.
    pub fn hook(&mut self, agent: &str, event: Option<&str>, payload: &Value) -> Translation {
        match agent {
            "claude" => self.told(agent, claude::about(event, payload), claude::hook),
            "opencode" => self.told(agent, opencode::about(event, payload), opencode::hook),
            _ => unread(event, &format!("no rules for hooks of {agent}")),
        }
    }

    fn told(&mut self, agent: &str, about: About<'_>, meaning: Meaning) -> Translation {
        let ids = (agent.to_owned(), payload::line(about.session.unwrap_or_default(), 200));
        let (_, mut conversation) = self.conversations.remove(&ids).unwrap_or_default();
        let told = meaning(&about, &mut conversation);
        if conversation != Conversation::default() {
            self.clock += 1;
            self.conversations.insert(ids, (self.clock, conversation));
            self.forget_the_oldest();
        }
        let (readings, foreign) = match told {
            Told::Means(readings) => (readings, None),
            Told::Foreign(why) => (Vec::new(), Some(why)),
            Told::Unread(what) => (vec![unsupported(&what)], None),
        };
        Translation {
            event: payload::line(about.event, 80),
            readings,
            session: about.session.map(|session| payload::line(session, 200)),
            transcript: about.transcript.map(str::to_owned),
            foreign,
        }
    }

    fn forget_the_oldest(&mut self) {
        if self.conversations.len() > Self::CONVERSATIONS {
            let oldest = self.conversations.iter().min_by_key(|(_, (heard, _))| *heard).map(|(ids, _)| ids.clone());
            if let Some(oldest) = oldest {
                self.conversations.remove(&oldest);
            }
        }
    }
}

/// A payload with what is found in the same way for all events of an agent.
#[derive(Clone, Copy, Debug)]
struct About<'a> {
    event: &'a str,
    payload: &'a Value,
    session: Option<&'a str>,
    transcript: Option<&'a str>,
}

/// What an agent's rules make of a payload.
#[derive(Clone, Debug)]
enum Told {
    /// This, in order; nothing for an event that is known and says nothing about the state.
    Means(Vec<Reading>),
    /// It is not about the conversation that the person sees.
    Foreign(&'static str),
    /// No rule understands it.
    Unread(String),
}

type Meaning = fn(&About<'_>, &mut Conversation) -> Told;

impl Told {
    /// An event that is known and says nothing about the state.
    const NOTHING: Self = Self::Means(Vec::new());

    fn one(signal: Signal) -> Self {
        Self::Means(vec![Reading::new(signal)])
    }
}

fn unread(event: Option<&str>, what: &str) -> Translation {
    Translation {
        event: event.map(|event| payload::line(event, 80)).unwrap_or_default(),
        readings: vec![unsupported(what)],
        ..Translation::default()
    }
}

/// A trace that no rule understands, shortened.
fn unsupported(what: &str) -> Reading {
    Reading::new(Signal::Unsupported { what: payload::line(what, 200) })
}
