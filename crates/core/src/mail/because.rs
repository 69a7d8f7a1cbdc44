//! Why a message waits, in words: for its sender and for whoever looks after the agent.

use super::notice::spoken;
use super::post::Entry;
use super::receptive::Hindrance;
use crate::engine::Engine;
use crate::time::Span;

impl Engine {
    /// What exactly keeps a message from being delivered, where there is more to say than the name of the hindrance. What was wrong at
    /// the last try is said as long as no other delivery could be made.
    pub fn mail_because(&self, entry: &Entry) -> Option<String> {
        let to = &entry.letter.to;
        let mailbox = self.state().mail.boxes.get(to)?;
        let living = self.state().topology.live(to)?;
        match self.mail_hindrance(entry) {
            None | Some(Hindrance::Retry | Hindrance::Delivery) => mailbox.failed.clone(),
            Some(Hindrance::Draft) => {
                let why = mailbox.failed.clone().filter(|_| mailbox.draft.is_some())?;
                let stuck = mailbox.draft.as_ref().and_then(|draft| draft.stuck.as_deref());
                let hint = |stuck: &str| {
                    format!(" and cannot be put aside, since {stuck}: `sm clear-draft {to}` keeps it and makes room")
                };
                Some(why + &stuck.map(hint).unwrap_or_default())
            }
            Some(Hindrance::Interrupted) => {
                let until = self.interrupted_until(to)?;
                let left = spoken(Span(until.0.saturating_sub(self.now().0)));
                Some(format!("a person has interrupted its turn; it waits {left} more for their next prompt"))
            }
            Some(Hindrance::Busy) => {
                let busy = self.state().mail.busy.get(to)?;
                Some(format!("it is busy: {}", busy.reason))
            }
            Some(Hindrance::Answer) => living.verdict.message.as_ref().map(|asks| format!("it asks: {asks}")),
            Some(Hindrance::Failure) => {
                Some(format!("its last turn failed: {}", living.verdict.reason.replace('_', " ")))
            }
            Some(Hindrance::Unknown) => {
                Some(format!("its state is not known for sure: {}", living.verdict.reason.replace('_', " ")))
            }
            Some(
                Hindrance::Turn
                | Hindrance::TurnEnd
                | Hindrance::Background
                | Hindrance::Compaction
                | Hindrance::Suspended
                | Hindrance::Time,
            ) => None,
        }
    }
}
