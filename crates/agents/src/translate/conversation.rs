//! What is remembered of one conversation between two of its events.

use super::asks::Asks;
use super::payload;

/// One conversation. What equals the default need not be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// What it has asked.
    pub(crate) asks: Asks,
    /// How far its turn has come, for agents that repeat themselves.
    pub(crate) turn: Turn,
    /// The tool for which permission may be asked next: what ties it to its end, and its subject.
    pub(crate) requested: Option<(String, String)>,
    /// The prompts that wait for their turn.
    pub(crate) queue: Queue,
    /// It belongs to an agent below the one that the person talks to.
    pub(crate) below: bool,
}

/// How far a turn has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Nothing was heard of it.
    #[default]
    Unheard,
    /// It goes on.
    Active,
    /// It goes on, though the person has just refused what it asked for.
    Refused,
    /// It goes on, though the provider has just failed it.
    Retrying,
    /// How it ended has been told.
    Over,
}

/// Whether a prompt waits for the end of the turn under way, of an agent that announces it under the name of that turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    turn: Option<String>,
    waits: bool,
}

impl Queue {
    /// Takes in an event of the main agent. Says whether it is the end of a turn that a prompt waits for.
    pub(crate) fn take_in(&mut self, event: &str, turn: Option<&str>) -> bool {
        match event {
            "UserPromptSubmit" => {
                self.waits = turn.is_some() && self.turn.as_deref() == turn;
                self.turn = turn.map(|turn| payload::line(turn, 100));
                false
            }
            // What waits joins the turn.
            "PostToolUse" | "PostToolUseFailure" | "PostToolBatch" => {
                self.waits = false;
                false
            }
            "Stop" => {
                let ended = std::mem::take(self);
                ended.waits && ended.turn.as_deref() == turn
            }
            "StopFailure" | "SessionStart" | "SessionEnd" => {
                *self = Self::default();
                false
            }
            _ => false,
        }
    }
}
