//! A person's text in the composer makes room for a message, and comes back.
//!
//! Where the agent keeps it itself (a stash), nothing can be lost. Elsewhere it is read off the screen, written to the disk and only
//! then cleared; it is typed again once the message is in, also by the next daemon should this one die meanwhile. What the screen
//! does not show exactly is never touched: the message waits.

use std::time::Duration;

use agtmux_agents::aside::AsideRules;
use agtmux_agents::screen::{Enter, Screen};
use agtmux_core::mail::{Aside, DeliveryId, Draft, MailFact};
use agtmux_core::time::Span;
use agtmux_tmux::attach;
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::Desk;
use super::paste::PAUSE;
use crate::act::aim::STEP_DEADLINE;
use crate::error::CommandError;

/// How long an agent may take to clear its composer.
const CLEAR_PATIENCE: Duration = Duration::from_secs(2);

/// What those are told who see the pane.
const RESTORED: &str = "agtmux: the text in the composer was put aside while a message was delivered, and is back";

/// Between two keys that clear it.
const KEY_GAP_MS: u64 = 30;

/// What a message may do to whoever is in its way.
#[derive(Clone, Debug)]
pub struct Manners {
    /// A turn under way is interrupted for it.
    pub interrupts: bool,
    /// What may be done to a person's text.
    pub aside: Aside,
    /// When a text that is in the way is looked at again.
    pub again: Span,
}

impl Desk {
    /// Makes room for a message if somebody's text is in the way and may be put aside; else it is noted what is in the way, and whoever
    /// types finds it there.
    ///
    /// # Errors
    /// Refused when the text could not be put aside.
    pub(super) async fn make_room(&mut self, manners: &Manners) -> Result<(), CommandError> {
        let Some((draft, screen)) = self.draft().await? else { return Ok(()) };
        let delivery = DeliveryId::new(self.action.as_str());
        let registry = self.eye.manifests.now();
        let rules = registry.get(self.eye.aimed.agent.as_str()).and_then(|manifest| manifest.aside.clone());
        let rules = rules.filter(|rules| rules.can_take(&draft, &screen, &self.rules));
        match rules.filter(|_| manners.aside.allows(&draft)) {
            None => {
                let digest = Draft::digest_of(&draft);
                let seen = MailFact::InTheWay { delivery, digest, again: manners.again };
                self.hands.handle.mail_step(seen).await?;
            }
            Some(AsideRules::Stash { stash, .. }) => {
                self.away = Some(draft);
                // The wrapper presses it together with the text, while it holds the person's keys.
                match (&self.shim, stash.bytes()) {
                    (Some(_), Some(bytes)) => self.stash = Some(bytes),
                    _ => {
                        self.strike(&[&stash], 0, "stash").await?;
                        self.emptied().await?;
                        self.unstash = Some(stash);
                    }
                }
            }
            Some(AsideRules::Clear { clear }) => {
                self.hands.handle.put_mail_aside(delivery, draft.clone()).await?;
                self.away = Some(draft);
                self.strike(&clear.iter().collect::<Vec<_>>(), KEY_GAP_MS, "clear").await?;
                self.emptied().await?;
            }
        }
        Ok(())
    }

    /// Brings back what was stashed for a message that could not be typed.
    pub(super) async fn bring_back(&mut self) {
        let Some(key) = self.unstash.take() else { return };
        let is_empty = self.eye.look().await.is_ok_and(|seen| seen.composer.draft.is_none());
        // In a composer with a text in it the key would put that aside too.
        if is_empty && let Err(error) = self.strike(&[&key], 0, "unstash").await {
            tracing::warn!(%error, "a text that was put aside comes back with the next prompt only");
        }
    }

    /// Whoever sees the pane learns why somebody's text went and came back.
    pub(super) async fn tell_restored(&self) {
        if self.hands.mail.tell_restored
            && let Err(error) = attach::tell(&self.eye.plain, self.guard.pane, RESTORED, STEP_DEADLINE).await
        {
            tracing::debug!(%error, "nobody could be told that a text is back");
        }
    }

    /// Somebody's text, if three looks in a row agree on it: half a picture can look like one.
    async fn draft(&self) -> Result<Option<(String, Screen)>, CommandError> {
        let mut known = None;
        for _ in 0..3 {
            let (seen, screen) = self.eye.see().await?;
            let draft = seen.composer.draft.filter(|_| seen.composer.enter == Enter::AppendToDraft);
            match (draft, known) {
                (None, _) => return Ok(None),
                (Some(draft), Some((before, _))) if draft != before => return Ok(None),
                (Some(draft), _) => known = Some((draft, screen)),
            }
            sleep(PAUSE).await;
        }
        Ok(known)
    }

    async fn emptied(&self) -> Result<(), CommandError> {
        let started = Instant::now();
        while started.elapsed() < CLEAR_PATIENCE {
            if self.eye.look().await?.composer.draft.is_none() {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        let message = format!("the text in the composer of {} could not be put aside", self.eye.aimed.runtime);
        Err(CommandError::new(ErrorCode::Draft, message).hint("let whoever wrote it send it or clear it"))
    }
}
