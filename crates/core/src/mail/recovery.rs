//! What becomes of a delivery that another daemon had under way when it ended.
//!
//! The wrapper of an agent lives as long as the agent and does each delivery once, so what it says is proof. Without its word,
//! what may have been typed is never typed again.

use super::fact::MailFact;
use super::letter::DeliveryId;

/// What is left to be seen of a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Trace {
    /// It was never logged as started.
    NotStarted,
    /// The wrapper was never given it.
    Unseen,
    /// The wrapper was given it, and has not submitted it.
    Unfinished,
    /// The wrapper has submitted it.
    Submitted,
    /// A hook or a server may have passed it on; only the agent's own record can tell, and it does not.
    Offered,
    /// There is nobody who could tell; why, for people, if there is more to say than that.
    Nothing {
        /// Why.
        why: Option<String>,
    },
}

/// The fact that follows from it.
pub fn recovered(delivery: &DeliveryId, trace: &Trace) -> MailFact {
    let delivery = delivery.clone();
    let returned = |why: &str| MailFact::Returned { delivery: delivery.clone(), why: why.to_owned() };
    let unconfirmed = |why: &str| MailFact::Unconfirmed { delivery: delivery.clone(), why: why.to_owned() };
    match trace {
        Trace::NotStarted => returned("the daemon was started anew before anything was typed"),
        Trace::Unseen => returned("the daemon ended before the wrapper was given it"),
        Trace::Unfinished => unconfirmed("the daemon ended while it was typed"),
        Trace::Submitted => MailFact::Submitted {
            delivery,
            channel: "wrapper".to_owned(),
            evidence: "the wrapper submitted it".to_owned(),
        },
        Trace::Offered => unconfirmed("the daemon ended while a hook or a server was given it"),
        Trace::Nothing { why: None } => unconfirmed("the daemon ended while it was delivered"),
        Trace::Nothing { why: Some(why) } => {
            unconfirmed(&format!("the daemon ended while it was delivered, and {why}"))
        }
    }
}
