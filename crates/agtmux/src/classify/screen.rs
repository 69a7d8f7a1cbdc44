//! What a model is shown of a pane: cut to size, and with secrets taken out before anybody else gets it.

use std::hash::{DefaultHasher, Hash, Hasher};

use agtmux_agents::guess;

use crate::store::redact;

/// A screen as a model may see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Screen {
    agent: String,
    text: String,
}

/// Stands for a screen: the same agent with the same text on it has the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScreenHash(u64);

impl Screen {
    /// Makes a screen of a pane's text. None if there is nothing on it.
    pub fn new(agent: &str, text: &str) -> Option<Self> {
        let text = redact::redact(&guess::visible(text)).into_owned();
        (!text.is_empty()).then(|| Self { agent: agent.to_owned(), text })
    }

    /// What stands for it.
    pub fn hash(&self) -> ScreenHash {
        let mut hasher = DefaultHasher::new();
        (&self.agent, &self.text).hash(&mut hasher);
        ScreenHash(hasher.finish())
    }

    /// What is asked about it.
    pub(super) fn question(&self) -> String {
        guess::question(&self.agent, &self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_taken_out_and_blanks_do_not_count() {
        let screen = Screen::new("claude", "\n$ export K=ghp_0123456789abcdefghijABCDEFGHIJ456789\n> \n\n").unwrap();
        assert!(!screen.question().contains("ghp_0123"), "{}", screen.question());
        assert!(screen.question().contains("[redacted:"), "{}", screen.question());
        assert_eq!(Screen::new("claude", "a  \n\n").unwrap().hash(), Screen::new("claude", "\na").unwrap().hash());
        assert_ne!(Screen::new("claude", "a").unwrap().hash(), Screen::new("codex", "a").unwrap().hash());
        assert_eq!(Screen::new("claude", " \n\n"), None);
    }
}
