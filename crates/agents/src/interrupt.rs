//! How a turn of an agent is interrupted, so that it reads something at once.

use serde::Deserialize;

use crate::key::Key;
use crate::screen::{Pattern, Screen};

/// The `[interrupt]` table of a manifest. Without it nobody interrupts the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InterruptRules {
    /// The keys that end the turn, in order.
    pub keys: Vec<Key>,
    /// The pause between two of them.
    pub gap_ms: u64,
    /// What lets a running command go on in the background, so that the interruption does not end it.
    pub background: Option<Background>,
}

/// A key that the agent itself offers while a command runs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// The key.
    pub key: Key,
    /// How it is offered, somewhere on the screen.
    pub offered: Pattern,
}

impl Background {
    /// Whether the screen offers it.
    pub fn is_offered(&self, screen: &Screen) -> bool {
        screen.rows().iter().any(|row| self.offered.matches(row.text()))
    }
}
