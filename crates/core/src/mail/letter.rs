//! A letter: who writes to whom, how urgently, and what they want to hear of it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::again::Again;
use super::notice::NOTICES;
use crate::id::{RuntimeId, digest};
use crate::time::{Span, Timestamp};

/// One message, unique over all time. Whoever sends may choose it, so that sending again is not sending twice.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MailId(String);

/// One delivery of one or more messages to one agent. The wrapper of an agent does each once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DeliveryId(String);

impl MailId {
    /// An id of that text, if it can be one: it goes into a line that an agent reads, so it holds nothing but plain characters.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(plain);
        fits.then(|| Self(text.to_owned()))
    }

    /// Whether it looks like an id that is made of another one: of a notice, of the next of a series, or of what is sent anew. Nobody
    /// may choose such a one, or it would be taken for that.
    pub fn is_reserved(&self) -> bool {
        let is_notice = |kind: &&str| self.0.strip_prefix(*kind).is_some_and(|rest| rest.starts_with('_'));
        let is_number = |end: &str| !end.is_empty() && end.bytes().all(|b| b.is_ascii_digit());
        let is_numbered = |(_, end): (&str, &str)| end.strip_prefix(['n', 'r']).is_some_and(is_number);
        NOTICES.iter().any(is_notice) || self.0.rsplit_once('_').is_some_and(is_numbered)
    }

    /// An id that is made of another one: the same each time, and another one for another text. What cannot be an id as it is
    /// keeps its beginning and gets a digest.
    pub fn made_of(text: &str) -> Self {
        Self::parse(text).unwrap_or_else(|| {
            let plain = text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
            Self(digest(&plain.take(40).collect::<String>(), &[text]))
        })
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl DeliveryId {
    /// Wraps the text of an id.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MailId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// When a message may be delivered. The later ones overtake the earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// When the agent has nothing left to do.
    #[default]
    Sequential,
    /// When the agent has ended its turn, though something in the background may wake it.
    Important,
    /// At once: a turn under way is interrupted.
    Urgent,
}

impl Mode {
    /// All modes, the most patient first.
    pub const ALL: [Self; 3] = [Self::Sequential, Self::Important, Self::Urgent];

    /// The name used in the log, the API and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Important => "important",
            Self::Urgent => "urgent",
        }
    }

    /// The mode of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Who writes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Party {
    /// A person, at a shell of theirs.
    Person {
        /// The user.
        uid: u32,
        /// What they are called.
        name: String,
    },
    /// An agent.
    Agent {
        /// Which.
        runtime: RuntimeId,
        /// What it was called then.
        name: String,
    },
    /// agtmux itself.
    System,
}

impl Party {
    /// What they are called.
    pub fn name(&self) -> &str {
        match self {
            Self::Person { name, .. } | Self::Agent { name, .. } => name,
            Self::System => "agtmux",
        }
    }

    /// By what they can be told apart: the runtime of an agent, the user of a person.
    pub fn id(&self) -> String {
        match self {
            Self::Person { uid, .. } => format!("uid {uid}"),
            Self::Agent { runtime, .. } => runtime.to_string(),
            Self::System => "system".to_owned(),
        }
    }

    /// The agent that this is.
    pub fn runtime(&self) -> Option<&RuntimeId> {
        match self {
            Self::Agent { runtime, .. } => Some(runtime),
            Self::Person { .. } | Self::System => None,
        }
    }
}

/// What a message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// What somebody wrote.
    #[default]
    Mail,
    /// That something was delivered, or was not.
    Notice,
    /// What somebody asked to be reminded of.
    Reminder,
}

impl Category {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::Notice => "notice",
            Self::Reminder => "reminder",
        }
    }
}

/// A message without its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Its id.
    pub id: MailId,
    /// To whom. To nobody else, whatever becomes of that one.
    pub to: RuntimeId,
    /// What the recipient was called when it was written.
    pub to_name: String,
    /// From whom.
    pub from: Party,
    /// When it may be delivered.
    pub mode: Mode,
    /// What it is.
    pub category: Category,
    /// How long its text is.
    pub bytes: u64,
    /// A digest of its text, by [`Letter::digest_of`]: the same id with another text is another message, and refused.
    pub digest: String,
    /// How it begins, without secrets, for people.
    pub preview: String,
    /// When it was accepted.
    pub queued_at: Timestamp,
    /// It is not delivered after this.
    pub timeout: Option<Span>,
    /// The message that it answers.
    pub reply_to: Option<MailId>,
    /// How many answers led to it.
    pub hops: u32,
    /// It is not delivered before this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_before: Option<Timestamp>,
    /// When it is time for it, the next one is so much later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Span>,
    /// What the sender wants to hear of it.
    #[serde(default, skip_serializing_if = "Wanted::is_nothing")]
    pub wanted: Wanted,
    /// The messages that it comes after, if it came again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// Which message it is, if it is sent anew to who goes on with a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// Whether the agent is to run it, by [`Letter::is_command`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub command: bool,
}

/// Where a message stands among those that come again and again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The first of them.
    pub of: MailId,
    /// Its place, counted from one.
    pub number: u64,
}

/// What a sender wants to hear of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// That it was delivered.
    #[serde(default)]
    pub on_delivery: bool,
    /// So long after it was delivered, to look what came of it.
    #[serde(default)]
    pub after: Option<Span>,
}

impl Wanted {
    /// Whether nothing is wanted.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Letter {
    /// The digest of a text.
    pub fn digest_of(text: &str) -> String {
        digest("txt", &[text])
    }

    /// When it is too late to deliver it. Time in which it may not be delivered does not count.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.timeout.map(|timeout| self.not_before.unwrap_or(self.queued_at) + timeout)
    }

    /// The one that follows it, if it comes again and again: `m_1` is followed by `m_1_n2`, or by the first of that kind that is not
    /// taken. What was missed meanwhile is not made up for.
    pub fn next(&self, now: Timestamp, is_taken: impl Fn(&MailId) -> bool) -> Option<Self> {
        let (every, at) = (self.every.filter(|every| every.0 > 0)?, self.not_before?);
        let missed = now.0.saturating_sub(at.0).max(0) / every.0;
        let at = at + Span(every.0.saturating_mul(missed + 1));
        let of = self.first().clone();
        let id = |number: u64| MailId::made_of(&format!("{of}_n{number}"));
        let last = self.series.as_ref().map_or(1, |series| series.number);
        let number = (last.saturating_add(1)..).find(|number| !is_taken(&id(*number)))?;
        let (id, series) = (id(number), Series { of, number });
        Some(Self { id, not_before: Some(at), series: Some(series), ..self.clone() })
    }

    /// The agent that wrote it, unless it is to that agent itself.
    pub fn writer_to_another(&self) -> Option<&RuntimeId> {
        self.from.runtime().filter(|writer| **writer != self.to)
    }

    /// The first of the messages that this one is one of.
    pub fn first(&self) -> &MailId {
        self.series.as_ref().map_or(&self.id, |series| &series.of)
    }
}
