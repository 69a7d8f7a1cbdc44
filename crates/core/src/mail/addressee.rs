//! Whose prompt it is, by the messages in it.

use super::envelope;
use crate::engine::Engine;
use crate::id::RuntimeId;

impl Engine {
    /// The agent that was given this prompt, as the messages in it prove: they carry a word that only its box has, and wait to be
    /// confirmed. A copy of messages that have been confirmed proves nothing, and neither do messages to several agents.
    pub fn addressee(&self, prompt: &str) -> Option<&RuntimeId> {
        let post = &self.state().mail;
        let waits = |runtime: &RuntimeId, nonce: &str| {
            let letters = envelope::receipts(nonce, prompt);
            letters.iter().any(|id| {
                let is_its = post.get(id).is_some_and(|entry| entry.letter.to == *runtime);
                is_its && post.can_be_confirmed(id)
            })
        };
        let mut proven = post.boxes.iter().filter(|(runtime, mailbox)| waits(runtime, &mailbox.nonce));
        let (runtime, _) = proven.next().filter(|_| proven.next().is_none())?;
        self.state().topology.live(runtime).map(|_| runtime)
    }
}
