//! What is remembered of one conversation between two of its events.

use super::asks::Asks;

/// One conversation. What equals the default need not be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conversation {
    /// What it has asked.
    pub(crate) asks: Asks,
    /// How far its turn has come, for agents that repeat themselves.
    pub(crate) turn: Turn,
    /// The tool for which permission may be asked next: what ties it to its end, and its subject.
    pub(crate) requested: Option<(String, String)>,
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
