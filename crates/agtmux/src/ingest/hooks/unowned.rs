//! Conversations whose agent has not been found yet. Its signals wait in core; what it calls its conversation waits
//! here.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::owner::Sender;
use crate::daemon::roster::Conversation;

/// How long one waits. An agent is found within two seconds of its start.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many wait.
const MOST: usize = 1_024;

/// Conversations that wait for their agent, oldest first.
#[derive(Debug, Default)]
pub(super) struct Unowned {
    waiting: VecDeque<(Instant, Sender, Conversation)>,
}

impl Unowned {
    pub(super) fn push(&mut self, now: Instant, sender: Sender, conversation: Conversation) {
        if self.waiting.len() >= MOST {
            self.waiting.pop_front();
        }
        self.waiting.push_back((now, sender, conversation));
    }

    /// Takes out those that have an owner by now, with their owner, and forgets those that waited long enough.
    pub(super) fn owned<O>(&mut self, now: Instant, owner: impl Fn(&Sender) -> Option<O>) -> Vec<(O, Conversation)> {
        let mut owned = Vec::new();
        self.waiting.retain(|(since, sender, conversation)| match owner(sender) {
            Some(owner) => {
                owned.push((owner, conversation.clone()));
                false
            }
            None => now.duration_since(*since) < PATIENCE,
        });
        owned
    }
}
