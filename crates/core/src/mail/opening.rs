//! Moments in which an agent can be given messages without a key: its hook waits for an answer, and the agent reads that.
//!
//! Nothing of what a person has typed is touched by it, and no dialog can swallow it, so it matters less what the agent is at than
//! where keys are pressed. The agent is asked while it is at it, so what is known of it otherwise is older than this.

use super::letter::{MailId, Mode};
use super::post::Entry;
use super::receptive::{Due, Hindrance, keeps};
use crate::engine::Engine;
use crate::id::RuntimeId;

/// How many messages one answer holds at most, and how many bytes. Claude Code keeps answers of more than 10,000 characters from its
/// model and shows it where they lie instead; the lines above the texts need room too.
const BATCH: (usize, u64) = (10, 6 * 1024);

/// How many ends of one turn are answered in a row. After eight Claude Code ends the turn whatever the answer is, and what was in that
/// one is lost.
const IN_A_ROW: u32 = 5;

/// A hook that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The agent ends its turn, and goes on with it if it is told something.
    TurnEnd {
        /// How much of its own works on in the background, and will wake it.
        background: u32,
        /// How often it went on with this turn already because it was told something.
        answered: u32,
    },
    /// A tool of the agent is done, and its turn goes on.
    ToolEnd,
}

impl Engine {
    /// The mail that is given to an agent at such a moment, if any.
    pub fn mail_due_at(&self, runtime: &RuntimeId, opening: Opening) -> Option<Due> {
        let waiting = self.state().mail.waiting_for(runtime);
        let is_kept = |entry: &&Entry| keeps(entry, self.hindrance_at(runtime, entry.letter.mode, opening)).is_some();
        let letters = batch(waiting.into_iter().filter(|entry| !is_kept(entry)));
        (!letters.is_empty()).then(|| Due { runtime: runtime.clone(), letters })
    }

    /// What keeps an agent from being given a message at such a moment.
    fn hindrance_at(&self, runtime: &RuntimeId, mode: Mode, opening: Opening) -> Option<Hindrance> {
        let state = self.state();
        if state.mail.boxes.get(runtime).is_some_and(|mailbox| mailbox.under_way.is_some()) {
            return Some(Hindrance::Delivery);
        }
        if state.topology.live(runtime).is_none() {
            return Some(Hindrance::Unknown);
        }
        match (opening, mode) {
            (Opening::TurnEnd { answered: IN_A_ROW.., .. }, _) | (Opening::ToolEnd, Mode::Sequential) => {
                Some(Hindrance::Turn)
            }
            (Opening::TurnEnd { background: 1.., .. }, Mode::Sequential) => Some(Hindrance::Background),
            (_, Mode::Sequential) if state.mail.busy.contains_key(runtime) => Some(Hindrance::Busy),
            (Opening::TurnEnd { .. } | Opening::ToolEnd, _) => None,
        }
    }
}

/// The first of those that wait, as many as fit; none if the first does not. A command would be words here, and what waits behind one
/// does not overtake it.
fn batch<'a>(waiting: impl Iterator<Item = &'a Entry>) -> Vec<MailId> {
    let mut bytes = 0;
    let fits = |entry: &&Entry| {
        bytes += entry.letter.bytes;
        bytes <= BATCH.1 && !entry.letter.command
    };
    waiting.take(BATCH.0).take_while(fits).map(|entry| entry.letter.id.clone()).collect()
}
