//! What agtmux itself writes: notices to those that sent something, and the next of what comes again.
//!
//! Both are read off the engine's state whenever a message took a step. What cannot be logged is tried again a little later, whether
//! there are news or not.

use std::collections::BTreeMap;
use std::time::Duration;

use agtmux_core::engine::Engine;
use agtmux_core::mail::{Entry, Letter, MailId, NewLetter};
use tokio::time::Instant;

use super::mail::new_nonce;
use super::mainloop::MainLoop;
use crate::error::CommandError;

/// Between two tries to log what agtmux itself writes.
const AGAIN: Duration = Duration::from_secs(1);

/// Between two tries to send what comes again and may not be sent now.
const POSTPONED: Duration = Duration::from_secs(60);

/// What there is to write, and when.
pub struct OwnMail {
    /// A message took a step since it was last asked what there is to say of that.
    news: bool,
    /// What could not be logged is tried again then.
    again: Option<Instant>,
    /// The texts of messages that are yet to be followed by one of the same text.
    texts: BTreeMap<MailId, String>,
}

impl OwnMail {
    /// Goes on where the log ended.
    pub fn new(engine: &Engine, texts: BTreeMap<MailId, String>) -> Self {
        let post = &engine.state().mail;
        let comes_again = |id: &MailId| post.get(id).is_some_and(Entry::is_to_be_followed);
        Self { news: true, again: None, texts: texts.into_iter().filter(|(id, _)| comes_again(id)).collect() }
    }

    /// A message took a step.
    pub fn note_news(&mut self) {
        self.news = true;
    }

    /// Keeps the text of a message that comes again.
    pub fn keep(&mut self, entry: &Entry, text: String) {
        if entry.is_to_be_followed() {
            self.texts.insert(entry.letter.id.clone(), text);
        }
    }

    /// How long it is until something is to be tried again.
    pub fn wait(&self) -> Option<Duration> {
        self.again.map(|at| at.saturating_duration_since(Instant::now()))
    }

    fn is_due(&mut self) -> bool {
        let again = self.again.take_if(|at| *at <= Instant::now()).is_some();
        std::mem::take(&mut self.news) || again
    }
}

impl MainLoop {
    /// Sends what agtmux itself has to say of messages, and the next of those that come again.
    pub(super) async fn write_mail(&mut self) {
        if !self.post.own.is_due() {
            return;
        }
        let (mut is_logged, mut is_postponed) = (true, false);
        for notice in self.world.engine.notices() {
            is_logged &= self.post_own(notice.letter, notice.text).await;
        }
        for (id, next) in self.world.engine.recurring() {
            match self.post.own.texts.get(&id).cloned() {
                Some(text) => match self.post_next(next, text).await {
                    Ok(_) => {}
                    Err(error) if error.code.is_refusal() => is_postponed = true,
                    Err(_) => is_logged = false,
                },
                None => tracing::warn!(%id, "a reminder cannot be repeated: its text is not there"),
            }
        }
        if is_logged {
            let post = &self.world.engine.state().mail;
            self.post.own.texts.retain(|id, _| post.get(id).is_some_and(Entry::is_to_be_followed));
        }
        let again = (!is_logged).then_some(AGAIN).or(is_postponed.then_some(POSTPONED));
        self.post.own.again = again.map(|wait| Instant::now() + wait);
    }

    /// Posts the next of what comes again, under the same rules as the first: whoever may not write so often, or not to that one any
    /// more, waits until they may.
    async fn post_next(&mut self, next: Letter, text: String) -> Result<Entry, CommandError> {
        let id = next.id.clone();
        let posted = match self.world.engine.may_correspond(&self.world.mail_policy, &next) {
            Ok(()) => self.post_letter(NewLetter { letter: next, nonce: new_nonce(), delay: None }, text).await,
            Err(refusal) => Err(refusal.into()),
        };
        posted.inspect_err(|error| tracing::debug!(%error, %id, "what comes again cannot be sent now"))
    }

    /// Posts a message of our own. Gives false if that is to be tried again.
    async fn post_own(&mut self, letter: Letter, text: String) -> bool {
        let id = letter.id.clone();
        let new = NewLetter { letter, nonce: new_nonce(), delay: None };
        let posted = self.post_letter(new, text).await;
        let is_final = |error: &CommandError| error.code.is_refusal();
        if let Err(error) = &posted {
            tracing::debug!(%error, %id, "a message of our own could not be sent");
        }
        posted.is_ok() || posted.as_ref().is_err_and(is_final)
    }
}
