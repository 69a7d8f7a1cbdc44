//! Turns of conversations on a server that several agents share, and whose each is.

use std::collections::VecDeque;

use agtmux_core::id::RuntimeId;
use serde_json::Value;

use super::owner::Sender;

/// How many turns are remembered.
const MOST: usize = 256;

/// A turn, as the agent names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TurnName {
    session: String,
    turn: String,
}

/// The latest turns of which it is known whose they are.
#[derive(Debug, Default)]
pub(super) struct Turns(VecDeque<(TurnName, RuntimeId)>);

impl TurnName {
    /// The turn that a hook is about, if it names one.
    pub(super) fn of(sender: &Sender, payload: &Value) -> Option<Self> {
        let turn = payload["turn_id"].as_str().or_else(|| payload["turn-id"].as_str())?.to_owned();
        Some(Self { session: sender.session.clone()?, turn })
    }
}

impl Turns {
    /// Notes that a prompt of this turn was given to an agent, or that nobody can say. A turn into which several agents wrote is
    /// nobody's.
    pub(super) fn note(&mut self, turn: TurnName, runtime: Option<RuntimeId>) {
        let known = self.of(&turn);
        if known.is_some() && known == runtime {
            return;
        }
        self.0.retain(|(known, _)| *known != turn);
        if let Some(runtime) = runtime.filter(|_| known.is_none()) {
            self.0.push_back((turn, runtime));
            if self.0.len() > MOST {
                self.0.pop_front();
            }
        }
    }

    /// Whose turn it is.
    pub(super) fn of(&self, turn: &TurnName) -> Option<RuntimeId> {
        self.0.iter().find(|(known, _)| known == turn).map(|(_, runtime)| runtime.clone())
    }
}

#[cfg(test)]
mod tests {
    use agtmux_core::id::RuntimeId;

    use super::{MOST, TurnName, Turns};

    #[test]
    fn a_turn_is_that_of_the_only_agent_whose_messages_began_it() {
        let mut turns = Turns::default();
        let name = |turn: usize| TurnName { session: "s".to_owned(), turn: turn.to_string() };
        let agent = |name: &str| Some(RuntimeId::new(name));
        turns.note(name(1), agent("a"));
        turns.note(name(1), agent("a"));
        assert_eq!((turns.of(&name(1)), turns.of(&name(2))), (agent("a"), None));
        turns.note(name(1), agent("b"));
        assert_eq!(turns.of(&name(1)), None, "two wrote into it");
        turns.note(name(2), agent("a"));
        turns.note(name(2), None);
        assert_eq!(turns.of(&name(2)), None, "and it is not known who wrote the rest");
        for turn in 0..2 * MOST {
            turns.note(name(turn), agent("a"));
        }
        assert_eq!((turns.0.len(), turns.of(&name(0))), (MOST, None));
    }
}
