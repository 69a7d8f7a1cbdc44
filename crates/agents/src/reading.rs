//! What a trace of an agent means, before anybody asks whose it is.

use agtmux_core::signal::Signal;

/// One statement read from a hook, a file, a stream or a screen. Who said it about which runtime, and when, is for
/// the caller to add: a reading of the same bytes is always the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// What it says.
    pub signal: Signal,
    /// Text for the person: the question, the summary, the error.
    pub message: Option<String>,
    /// Repeats of one event carry one key, where the agent gives something to make it of. None: every one counts.
    pub key: Option<String>,
}

impl Reading {
    /// A reading without text for the person.
    pub fn new(signal: Signal) -> Self {
        Self { signal, message: None, key: None }
    }

    /// The same with text for the person; empty text is none.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into()).filter(|message| !message.trim().is_empty());
        self
    }

    /// The same with a key that repeats of the event share.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}
