//! A prompt that an agent was given before: the second line of defence, should a message ever be typed twice.

use super::envelope;
use super::letter::{Letter, MailId};
use super::stage::{Ended, Stage};
use crate::engine::Engine;
use crate::id::RuntimeId;
use crate::time::Span;

/// So long after it was confirmed a message cannot be of the same prompt: hook and record tell of one within moments.
const SETTLED: Span = Span::seconds(10);

impl Engine {
    /// The messages of a prompt that is made of nothing but messages which its agent was given before, word for word. A person who
    /// interrupted the agent may well send them once more, and so may one who adds a word.
    pub fn repeated_mail(&self, runtime: &RuntimeId, prompt: &str) -> Vec<MailId> {
        let state = self.state();
        let Some(mailbox) = state.mail.boxes.get(runtime) else { return Vec::new() };
        let is_interrupted = |reason: &str| reason == "interrupted";
        if state.topology.live(runtime).is_none_or(|agent| is_interrupted(&agent.verdict.reason)) {
            return Vec::new();
        }
        let messages = envelope::messages(&mailbox.nonce, prompt).unwrap_or_default();
        let is_known = |(id, body): &(MailId, String)| {
            state.mail.get(id).is_some_and(|entry| {
                entry.letter.to == *runtime
                    && entry.stage == Stage::Ended { how: Ended::Confirmed }
                    && entry.since + SETTLED <= self.now()
                    && entry.letter.digest == Letter::digest_of(body)
            })
        };
        if messages.iter().all(is_known) { messages.into_iter().map(|(id, _)| id).collect() } else { Vec::new() }
    }
}
