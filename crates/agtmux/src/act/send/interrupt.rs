//! A turn is interrupted, so that what is urgent is read now.
//!
//! Only a turn that is known to be under way: the same keys mean other things to an agent at rest. A command that it runs is sent to
//! the background first where the agent offers that (F59). The wrapper presses the keys where there is one, and holds the person's
//! meanwhile: a key right after Escape would be another one (F45).

use std::time::Duration;

use agtmux_agents::key::Key;
use agtmux_agents::screen::Enter;
use agtmux_core::mail::{DeliveryId, MailFact};
use agtmux_core::state::State;
use agtmux_tmux::act::{Acted, Mismatch, guarded};
use agtmux_tmux::{Command, Script};
use tokio::time::{Instant, sleep};

use super::Desk;
use super::paste::{PAUSE, QUIET, QUIET_PATIENCE};
use crate::act::aim::{STEP_DEADLINE, act_failed, missed};
use crate::act::shim::{Injected, Shim};
use crate::error::CommandError;

/// How long an agent gets to take an interruption in.
const SETTLE: Duration = Duration::from_millis(500);

/// How long a turn may take to end once it was interrupted, and how often that is tried.
const END_PATIENCE: Duration = Duration::from_millis(1_500);
const STRIKES: u32 = 3;

/// How long a command may take to go to the background.
const BACKGROUND_PATIENCE: Duration = Duration::from_secs(2);

impl Desk {
    /// Ends the turn under way, if there is one, for the delivery that this action is.
    ///
    /// # Errors
    /// Refused when the agent cannot be typed at.
    pub(super) async fn interrupt(&mut self) -> Result<(), CommandError> {
        let registry = self.eye.manifests.now();
        let rules = registry.get(self.eye.aimed.agent.as_str()).map(|manifest| manifest.interrupt.clone());
        let Some(rules) = rules.filter(|rules| !rules.keys.is_empty()) else { return Ok(()) };
        if !self.is_running().await? {
            return Ok(());
        }
        if let Some(background) = &rules.background
            && background.is_offered(&self.eye.see().await?.1)
        {
            self.strike(&[&background.key], 0, "background").await?;
            let started = Instant::now();
            while background.is_offered(&self.eye.see().await?.1) && started.elapsed() < BACKGROUND_PATIENCE {
                sleep(PAUSE).await;
            }
        }
        // The turn may have ended with the command.
        let mut strikes = 0;
        while self.is_running().await? {
            // An agent that is busy misses keys that mean something only in quick succession. At rest they mean something else.
            if strikes == STRIKES || strikes > 0 && !self.shows_turn().await? {
                // It is not said that a turn was interrupted which goes on.
                return Ok(());
            }
            strikes += 1;
            let keys: Vec<_> = rules.keys.iter().collect();
            self.strike(&keys, rules.gap_ms, &format!("interrupt-{strikes}")).await?;
            sleep(SETTLE).await;
            let struck = Instant::now();
            while self.is_running().await? && struck.elapsed() < END_PATIENCE {
                sleep(PAUSE).await;
            }
        }
        let delivery = DeliveryId::new(self.action.as_str());
        self.hands.handle.mail_step(MailFact::Interrupted { delivery }).await
    }

    /// Whether a turn is under way and no dialog is open: keys that interrupt would answer that.
    async fn is_running(&self) -> Result<bool, CommandError> {
        if self.eye.look().await?.composer.enter == Enter::AnswerDialog {
            return Ok(false);
        }
        let runtime = self.eye.aimed.runtime.clone();
        let state = self
            .hands
            .handle
            .read(move |world| world.engine.state().topology.live(&runtime).map(|runtime| runtime.verdict.state));
        Ok(state.await? == Some(State::Running))
    }

    /// Whether the screen shows a turn right now.
    async fn shows_turn(&self) -> Result<bool, CommandError> {
        Ok(matches!(self.eye.look().await?.composer.enter, Enter::Queue | Enter::Steer))
    }

    /// Presses keys that are no text.
    pub(super) async fn strike(&mut self, keys: &[&Key], gap_ms: u64, what: &str) -> Result<(), CommandError> {
        for (number, key) in keys.iter().enumerate() {
            if number > 0 {
                sleep(Duration::from_millis(gap_ms)).await;
            }
            match (&self.shim, key.bytes()) {
                (Some(shim), Some(bytes)) => {
                    self.strike_held(shim, &bytes, &format!("{}-{what}-{number}", self.action)).await?;
                }
                _ => self.strike_quiet(key).await?,
            }
        }
        Ok(())
    }

    async fn strike_held(&self, shim: &Shim, bytes: &str, id: &str) -> Result<(), CommandError> {
        match shim.keys(id, bytes, None).await {
            Ok(Injected::Submitted | Injected::UnderWay(_)) => Ok(()),
            Ok(Injected::Busy(_) | Injected::Refused(_)) => Err(self.is_typed_at()),
            Err(error) => Err(super::inject::unreachable(&error)),
        }
    }

    async fn strike_quiet(&mut self, key: &Key) -> Result<(), CommandError> {
        let started = Instant::now();
        loop {
            let quiet_since = jiff::Timestamp::now().as_second() - i64::try_from(QUIET.as_secs()).unwrap_or(0);
            self.guard.quiet_since = Some(quiet_since);
            let script = Script::from(&Command::new("send-keys").target(self.guard.pane).arg(key.name()));
            match guarded(&self.eye.plain, &self.guard, &script, &Script::new(), STEP_DEADLINE).await {
                Ok(Acted::Done(_)) => return Ok(()),
                Ok(Acted::Refused(Mismatch::NotQuiet)) if started.elapsed() < QUIET_PATIENCE => {}
                Ok(Acted::Refused(mismatch)) => return Err(missed(&mismatch)),
                Err(error) => return Err(act_failed(&error)),
            }
            sleep(QUIET / 8).await;
        }
    }
}
