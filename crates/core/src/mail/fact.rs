//! What happens to messages, as the log keeps it.

use serde::{Deserialize, Serialize};

use super::letter::{DeliveryId, Letter, MailId};
use crate::id::RuntimeId;
use crate::time::{Span, Timestamp};

/// A step in the life of messages, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum MailFact {
    /// A box was opened for an agent, with the word that its messages carry.
    Opened {
        /// Whose.
        runtime: RuntimeId,
        /// The word.
        nonce: String,
    },
    /// A message was accepted.
    Queued {
        /// The message.
        letter: Box<Letter>,
    },
    /// Messages were chosen for a delivery.
    Leased {
        /// The delivery.
        delivery: DeliveryId,
        /// To whom.
        runtime: RuntimeId,
        /// Which.
        letters: Vec<MailId>,
    },
    /// From now on they may have been typed.
    Started {
        /// The delivery.
        delivery: DeliveryId,
    },
    /// A person's text is in the way.
    InTheWay {
        /// The delivery.
        delivery: DeliveryId,
        /// The digest of the text, by [`Draft::digest_of`](super::Draft::digest_of): the text itself is nobody's business.
        digest: String,
        /// When it is looked at again.
        again: Span,
        /// Why it cannot make room by itself, for people, if it would have to by now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stuck: Option<String>,
    },
    /// A person's text is put aside for them, and kept.
    SetAside {
        /// The delivery.
        delivery: DeliveryId,
    },
    /// The text that was put aside is where it was.
    PutBack {
        /// Whose.
        runtime: RuntimeId,
    },
    /// A turn was interrupted for them.
    Interrupted {
        /// The delivery.
        delivery: DeliveryId,
    },
    /// From now on the agent's hook, which waits, or its server may have passed them on to it.
    Offered {
        /// The delivery.
        delivery: DeliveryId,
    },
    /// Nothing was typed, and neither a hook nor a server passed anything on.
    Returned {
        /// The delivery.
        delivery: DeliveryId,
        /// Why not, for people.
        why: String,
    },
    /// They were typed, and the agent seems to have taken them.
    Submitted {
        /// The delivery.
        delivery: DeliveryId,
        /// By which way.
        channel: String,
        /// What was seen of it.
        evidence: String,
    },
    /// They may have arrived; nobody can say.
    Unconfirmed {
        /// The delivery.
        delivery: DeliveryId,
        /// What is known, for people.
        why: String,
    },
    /// The agent itself says that it was given them.
    Confirmed {
        /// Which.
        letters: Vec<MailId>,
        /// Who told.
        by: Receipt,
    },
    /// Somebody does not want it delivered any more, nor those that would follow it.
    Cancelled {
        /// Which.
        id: MailId,
        /// Who, for people.
        by: String,
    },
    /// An agent has something to do, though it does not look so.
    Busy {
        /// Which.
        runtime: RuntimeId,
        /// With what, for people.
        reason: String,
        /// Until then at the latest.
        until: Timestamp,
        /// Who said so, for people.
        by: String,
    },
    /// It has done it.
    Ready {
        /// Which.
        runtime: RuntimeId,
        /// Who said so, for people.
        by: String,
    },
}

/// Who told that an agent was given a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Receipt {
    /// Its hook, with the prompt.
    Hook,
    /// Its own record of the conversation.
    Transcript,
    /// Its own server.
    Server,
}

impl Receipt {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Server => "server",
        }
    }
}
