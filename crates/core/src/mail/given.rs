//! What becomes of a delivery that an agent's own server was asked to take.
//!
//! The server is asked once. What it has not surely refused it may have taken, and that is never given again.

use super::fact::MailFact;
use super::letter::DeliveryId;

/// What became of a text that a server was to be given.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Given {
    /// The agent has it; what shows that, for people.
    Taken(String),
    /// The agent surely has not; why, for people.
    Refused(String),
    /// Nobody can say; what is known, for people.
    Unknown(String),
}

impl Given {
    /// The fact that follows from it. The channel says by which server it went, for people.
    pub fn fact(self, delivery: &DeliveryId, channel: &str) -> MailFact {
        let delivery = delivery.clone();
        match self {
            Self::Taken(evidence) => MailFact::Submitted { delivery, channel: channel.to_owned(), evidence },
            Self::Refused(why) => MailFact::Returned { delivery, why },
            Self::Unknown(why) => MailFact::Unconfirmed { delivery, why },
        }
    }
}
