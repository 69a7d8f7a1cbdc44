//! The wrapper of an agent types the text: it holds the person's keys meanwhile, and does each id once.
//!
//! The screen is judged all the same, since the wrapper does not know a dialog from a composer. What it is told besides is how
//! many bytes had gone each way when the screen was judged: whatever came since makes it refuse.
//!
//! Enter comes when the composer shows the text, as it does without the wrapper: an agent may ask something in between, which Enter
//! would answer. The person's keys are held until then, two seconds at most; where that is not enough they are let go, and Enter is
//! pressed later, unless somebody has typed.

use std::sync::atomic::Ordering;
use std::time::Duration;

use agtmux_agents::screen::Enter;
use agtmux_agents::send::Paste as Manner;
use agtmux_core::id::ActionId;
use agtmux_shim::protocol::{Busy, HOLD_LIMIT_MS, Inject, Paste, Progress, Refusal};
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::paste::{PAUSE, Pasted, QUIET, QUIET_PATIENCE};
use super::{Desk, effect};
use crate::act::aim::STALE_HINT;
use crate::act::shim::{Injected, Shim, ShimError};
use crate::error::CommandError;

/// How long it is waited for a screen that stands still. One that never does is typed at as it was judged a moment ago.
const STILL_PATIENCE: Duration = Duration::from_secs(2);

/// How long it is waited for the composer to show a text while the person's keys are held.
const HELD_PATIENCE: Duration = Duration::from_millis(HOLD_LIMIT_MS - 300);

/// How long an agent may take to read a text.
const READING_PATIENCE: Duration = Duration::from_secs(30);

/// How long an agent gets to put a text aside.
const STASH_MS: u64 = 150;

/// The bytes of Enter.
pub(super) const ENTER: &str = "\r";

impl Desk {
    /// Has the text typed, once, and submitted if that is wanted and the composer shows it in time.
    ///
    /// # Errors
    /// Refused, with nothing typed; or it is not known what came of it, which the error says.
    pub(super) async fn inject(&self, shim: &Shim, id: &ActionId, submit: bool) -> Result<Pasted, CommandError> {
        let started = Instant::now();
        loop {
            let status = shim.status().await.map_err(|error| unreachable(&error))?;
            // Keys that were typed just now may not be drawn yet.
            let is_drawn = status.input_age_ms.is_none_or(|age| u128::from(age) >= QUIET.as_millis());
            let seen = self.ready().await?;
            // What would be cleared has to be what was kept, to the last key.
            let is_typed_since = self.typed_at.is_some_and(|input| status.input != input);
            if self.back.is_some() && (is_typed_since || !is_drawn || seen.composer.draft != self.away) {
                return Err(self.is_typed_at());
            }
            let mut pasted = Pasted {
                effect: effect(seen.composer.enter),
                queued: seen.composer.queued,
                at: Instant::now(),
                enters: 0,
                before: self.position().await,
            };
            let inject = Inject {
                id: id.to_string(),
                paste: if self.rules.paste == Manner::Bracketed { Paste::Auto } else { Paste::Plain },
                delay_ms: self.rules.enter_delay_ms,
                submit: if submit {
                    format!("{ENTER}{}", self.back.as_deref().unwrap_or_default())
                } else {
                    String::new()
                },
                before: self.stash.clone().unwrap_or_default(),
                before_ms: if self.stash.is_some() { STASH_MS } else { 0 },
                // What is put aside is there again behind it, and stays what it was to the wrapper. One that does not know what it has
                // typed itself has to be told that nothing is, so that Enter may be pressed later.
                even_if_draft: self.force || self.stash.is_some(),
                empty_at: (is_drawn && (self.stash.is_none() || !status.knows_what_stands())).then_some(status.input),
                // An agent's own stash keeps whatever was typed meanwhile. What is typed again must not have been sent.
                if_input: self.back.as_ref().map(|_| status.input),
                // What was left there and is gone has to be so on the very screen that was judged.
                if_output: (status.stands.is_some() || started.elapsed() < STILL_PATIENCE).then_some(status.output),
                ..Inject::default()
            };
            // Whatever keeps the wrapper from it now, it knows of each id whether it typed that: nothing is stranded.
            self.start().await?;
            self.may_be_typed.store(true, Ordering::Release);
            let begun = shim.begin(&inject, self.body.as_str().as_bytes()).await;
            let is_nothing = matches!(begun, Ok((Injected::Busy(_) | Injected::Refused(_), _)));
            self.may_be_typed.store(!is_nothing, Ordering::Release);
            match begun {
                Ok((Injected::Submitted | Injected::UnderWay(_), _attention)) => {
                    pasted.enters = u32::from(submit && self.allow(shim, id).await);
                    return Ok(pasted);
                }
                Ok((Injected::Busy(Busy::Modal), _)) if status.stands.is_none() => {}
                Ok((Injected::Busy(_), _)) if started.elapsed() < QUIET_PATIENCE => {}
                Ok((Injected::Busy(_), _)) => return Err(self.is_typed_at()),
                Ok((Injected::Refused(why), _)) => return Err(refused(why)),
                Err(error) => {
                    // An id that the wrapper has never seen was not typed.
                    return match shim.state(id.as_str()).await {
                        Ok(Some(Progress::Submitted)) => Ok(pasted),
                        Ok(None) => Err(unreachable(&error)),
                        Ok(Some(_)) | Err(_) => Err(uncertain(&error)),
                    };
                }
            }
            sleep(PAUSE).await;
        }
    }

    /// Lets a text be submitted once the composer shows it, as long as the person's keys are held for it. That is longer than usual
    /// while the agent reads a long text. Says whether it was.
    async fn allow(&self, shim: &Shim, id: &ActionId) -> bool {
        let started = Instant::now();
        loop {
            if self.seen(HELD_PATIENCE).await.is_ok() {
                return matches!(shim.submit(id.as_str()).await, Ok(true));
            }
            let is_held = shim.status().await.is_ok_and(|status| status.hold);
            if !is_held || started.elapsed() > READING_PATIENCE {
                return false;
            }
        }
    }

    /// Has Enter pressed, unless a dialog is there or the person has typed something since.
    ///
    /// # Errors
    /// Says why it was not pressed.
    pub(super) async fn inject_enter(&self, shim: &Shim, id: &str) -> Result<(), String> {
        let started = Instant::now();
        loop {
            let status = shim.status().await.map_err(|error| error.to_string())?;
            let seen = self.eye.look().await.map_err(|error| error.message)?;
            if seen.composer.enter == Enter::AnswerDialog && !self.force {
                return Err("a dialog came up".to_owned());
            }
            let if_output = (started.elapsed() < STILL_PATIENCE).then_some(status.output);
            // Not for anything else, should the person send that meanwhile.
            let if_stands = status.stands;
            let inject = Inject { id: id.to_owned(), delay_ms: 0, if_output, if_stands, ..Inject::default() };
            match shim.inject(&inject, b"").await {
                Ok(Injected::Submitted | Injected::UnderWay(_)) => return Ok(()),
                Ok(Injected::Busy(Busy::Modal)) => {}
                Ok(Injected::Busy(_)) => return Err("somebody types".to_owned()),
                Ok(Injected::Refused(why)) => return Err(refused(why).message),
                Err(error) => return Err(error.to_string()),
            }
            sleep(PAUSE).await;
        }
    }

    pub(super) fn is_typed_at(&self) -> CommandError {
        let message = format!("somebody types at {}, or has left a text unsent", self.eye.aimed.runtime);
        CommandError::new(ErrorCode::Draft, message).hint("let them send it or clear it first")
    }
}

fn refused(why: Refusal) -> CommandError {
    let (code, message) = match why {
        Refusal::EndsPaste => (ErrorCode::BadText, "the text would end its own paste"),
        Refusal::TooLong => (ErrorCode::Internal, "the pauses of this agent are longer than keys may be held"),
        Refusal::Empty => (ErrorCode::BadText, "there is nothing to type"),
        Refusal::Memory => (ErrorCode::Internal, "the wrapper of the agent has no memory for it"),
    };
    CommandError::new(code, message).hint("nothing was typed")
}

pub(super) fn unreachable(error: &ShimError) -> CommandError {
    CommandError::new(ErrorCode::RuntimeStale, error.to_string()).hint(STALE_HINT)
}

pub(super) fn uncertain(error: &ShimError) -> CommandError {
    CommandError::new(ErrorCode::Timeout, error.to_string())
        .hint("whether it was typed is not known; look before you try again")
}
