//! A person's text in the composer of an agent that has mail.
//!
//! It is looked at again and again. As long as it changes somebody writes, and the mail waits. When it has been the same for long
//! enough, that delivery may put it aside: keep it, make room, and put it back when the mail is in. What is urgent does not wait for
//! that.

use serde::{Deserialize, Serialize};

use super::letter::{DeliveryId, MailId, Mode};
use super::post::{Mailbox, Post};
use crate::engine::Engine;
use crate::id::{RuntimeId, digest};
use crate::time::{Span, Timestamp};

/// What a delivery may do to a person's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Aside {
    /// Nothing.
    #[default]
    Nothing,
    /// Put this one aside, by its digest.
    This {
        /// The digest.
        digest: String,
    },
    /// Put any aside.
    Any,
}

/// A text that is in the way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    /// Its digest.
    pub digest: String,
    /// Since when it has been the same.
    pub since: Timestamp,
    /// How often it is looked at.
    pub again: Span,
    /// Why it cannot make room by itself, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stuck: Option<String>,
}

impl Aside {
    /// Whether this text may be put aside.
    pub fn allows(&self, draft: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::This { digest } => *digest == Draft::digest_of(draft),
            Self::Any => true,
        }
    }
}

impl Draft {
    /// The digest of a text.
    pub fn digest_of(text: &str) -> String {
        digest("draft", &[text])
    }

    /// The id under which the text that a delivery put aside is kept.
    pub fn kept_as(delivery: &DeliveryId) -> Option<MailId> {
        MailId::parse(&format!("draft_{delivery}"))
    }
}

impl Draft {
    /// What a delivery may do to this text, if it has to have been the same for so long.
    fn may_go(&self, stale: Span, now: Timestamp) -> Aside {
        if self.since + stale <= now { Aside::This { digest: self.digest.clone() } } else { Aside::Nothing }
    }
}

impl Engine {
    /// What a delivery may do to a person's text that is in its way, if that has to have been the same for so long. What is urgent
    /// does not wait for that.
    pub fn may_put_aside(&self, delivery: &DeliveryId, stale: Span) -> Aside {
        let post = &self.state().mail;
        let Some((runtime, under_way)) = post.under_way(delivery) else { return Aside::Nothing };
        let is_urgent = |id: &MailId| post.get(id).is_some_and(|entry| entry.letter.mode == Mode::Urgent);
        if under_way.letters.iter().any(is_urgent) {
            return Aside::Any;
        }
        let draft = post.boxes.get(runtime).and_then(|mailbox| mailbox.draft.as_ref());
        draft.map_or(Aside::Nothing, |draft| draft.may_go(stale, self.now()))
    }
}

impl Mailbox {
    /// Learns what is in the way of a delivery.
    pub(super) fn see_draft(&mut self, digest: &str, again: Span, stuck: Option<&str>, now: Timestamp) {
        let since = self.draft.take().filter(|known| known.digest == digest).map_or(now, |known| known.since);
        self.draft = Some(Draft { digest: digest.to_owned(), since, again, stuck: stuck.map(str::to_owned) });
    }
}

impl Post {
    /// The texts that were put aside and are not back, by whose they are.
    pub fn put_aside(&self) -> impl Iterator<Item = (&RuntimeId, &MailId)> {
        self.boxes.iter().filter_map(|(runtime, mailbox)| Some((runtime, mailbox.put_aside.as_ref()?)))
    }

    /// Whether a text that is kept is one that was put aside.
    pub fn is_put_aside(&self, id: &MailId) -> bool {
        self.put_aside().any(|(_, kept)| kept == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_changes_is_never_stale() {
        let mut mailbox = Mailbox::default();
        let mut see = |text: &str, second: i64| {
            let now = Timestamp(second * 1_000);
            mailbox.see_draft(&Draft::digest_of(text), Span::seconds(5), None, now);
            mailbox.draft.as_ref().unwrap().may_go(Span::seconds(120), now)
        };
        for (second, text) in [(0, "I am"), (60, "I am typ"), (119, "I am typing"), (238, "I am typing")] {
            assert_eq!(see(text, second), Aside::Nothing);
        }
        let aside = see("I am typing", 239);
        assert!(aside.allows("I am typing") && !aside.allows("I am typing!"), "{aside:?}");
    }
}
