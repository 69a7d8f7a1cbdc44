//! What one conversation has asked the person and, as far as its hooks tell, not had answered.
//!
//! Agents run tools side by side and have agents of their own, so "a tool has finished" does not mean that the dialog
//! on the screen was answered: only the end of the very tool that was asked about does. And when one of two requests is
//! answered, the agent still waits for the other.

use agtmux_core::signal::Signal;

use crate::reading::Reading;

/// The open requests, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asks {
    open: Vec<Ask>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Ask {
    /// What ties the answer to the request.
    id: String,
    /// The agent below the main one that asks.
    by: Option<String>,
    reading: Reading,
}

impl Asks {
    /// More are asked one by one on the screen; whoever asks more than this is not a program that waits.
    const LIMIT: usize = 32;

    /// Something is asked. Returns the reading that says so.
    pub(crate) fn ask(&mut self, id: &str, by: Option<&str>, reading: Reading) -> Vec<Reading> {
        self.open.retain(|ask| ask.id != id);
        if self.open.len() >= Self::LIMIT {
            self.open.remove(0);
        }
        self.open.push(Ask { id: id.to_owned(), by: by.map(str::to_owned), reading: reading.clone() });
        vec![reading]
    }

    /// That was answered. Returns what it means: the agent goes on, or waits for what else it has asked; nothing if it
    /// was not asked.
    pub(crate) fn answer(&mut self, id: &str) -> Vec<Reading> {
        self.drop_where(|ask| ask.id == id)
    }

    /// All of these were answered.
    pub(crate) fn answer_all(&mut self, ids: &[String]) -> Vec<Reading> {
        self.drop_where(|ask| ids.contains(&ask.id))
    }

    /// Whatever that agent had asked is settled: it has ended.
    pub(crate) fn gone(&mut self, by: &str) -> Vec<Reading> {
        self.drop_where(|ask| ask.by.as_deref() == Some(by))
    }

    /// The main agent's turn is over, and so is what it asked. Agents below it may still wait.
    pub(crate) fn turn_over(&mut self) {
        self.open.retain(|ask| ask.by.is_some());
    }

    /// The main agent has begun a turn by itself. Returns what agents below it still wait for: that does not answer them.
    pub(crate) fn turn_begun(&mut self) -> Option<Reading> {
        self.turn_over();
        self.still_asked()
    }

    /// Nothing is asked any more.
    pub(crate) fn forget(&mut self) {
        self.open.clear();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    fn drop_where(&mut self, settled: impl Fn(&Ask) -> bool) -> Vec<Reading> {
        let before = self.open.len();
        self.open.retain(|ask| !settled(ask));
        if self.open.len() == before {
            return Vec::new();
        }
        let mut readings = vec![Reading::new(Signal::Unblocked)];
        readings.extend(self.still_asked());
        readings
    }

    /// The latest request once more. It is said anew, so it carries no key that would make it a repeat.
    fn still_asked(&self) -> Option<Reading> {
        self.open.last().map(|ask| Reading { key: None, ..ask.reading.clone() })
    }
}
