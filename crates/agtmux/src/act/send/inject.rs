//! The wrapper of an agent types the text: it holds the person's keys meanwhile, and does each id once.
//!
//! The screen is judged all the same, since the wrapper does not know a dialog from a composer. What it is told besides is how
//! many bytes had gone each way when the screen was judged: whatever came since makes it refuse.
//!
//! An agent at rest is given text and Enter in one go. One that works may ask something in between, which Enter would answer; there
//! the text is seen in the composer first, and Enter is pressed only at the screen that shows it.

use std::time::Duration;

use agtmux_agents::screen::Enter;
use agtmux_agents::send::Paste as Manner;
use agtmux_core::id::ActionId;
use agtmux_shim::protocol::{Busy, Inject, Paste, Progress, Refusal};
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::paste::{PAUSE, Pasted, QUIET, QUIET_PATIENCE};
use super::{Desk, effect};
use crate::act::aim::STALE_HINT;
use crate::act::shim::{Injected, Shim, ShimError};
use crate::error::CommandError;

/// How long it is waited for a screen that stands still. One that never does is typed at as it was judged a moment ago.
const STILL_PATIENCE: Duration = Duration::from_secs(2);

/// The bytes of Enter.
pub(super) const ENTER: &str = "\r";

impl Desk {
    /// Has the text typed, once, and submitted with it if that is wanted and the agent is at rest.
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
            let submit = submit && seen.composer.enter == Enter::Submit;
            let pasted = Pasted {
                effect: effect(seen.composer.enter),
                queued: seen.composer.queued,
                at: Instant::now(),
                enters: u32::from(submit),
                before: self.position().await,
            };
            let inject = Inject {
                id: id.to_string(),
                paste: if self.rules.paste == Manner::Bracketed { Paste::Auto } else { Paste::Plain },
                delay_ms: self.rules.enter_delay_ms,
                submit: if submit { ENTER.to_owned() } else { String::new() },
                even_if_draft: self.force,
                empty_at: is_drawn.then_some(status.input),
                if_output: (started.elapsed() < STILL_PATIENCE).then_some(status.output),
                ..Inject::default()
            };
            match shim.inject(&inject, self.body.as_str().as_bytes()).await {
                Ok(Injected::Submitted | Injected::UnderWay(_)) => return Ok(pasted),
                Ok(Injected::Busy(Busy::Modal)) => {}
                Ok(Injected::Busy(_)) if started.elapsed() < QUIET_PATIENCE => {}
                Ok(Injected::Busy(_)) => return Err(self.is_typed_at()),
                Ok(Injected::Refused(why)) => return Err(refused(why)),
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
            let inject = Inject { id: id.to_owned(), delay_ms: 0, if_output, ..Inject::default() };
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

    fn is_typed_at(&self) -> CommandError {
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

fn unreachable(error: &ShimError) -> CommandError {
    CommandError::new(ErrorCode::RuntimeStale, error.to_string()).hint(STALE_HINT)
}

fn uncertain(error: &ShimError) -> CommandError {
    CommandError::new(ErrorCode::Timeout, error.to_string())
        .hint("whether it was typed is not known; look before you try again")
}
