//! The first prompt of an agent that was started: sent once it takes prompts, and seen to be taken (F68).

use std::time::{Duration, Instant};

use agtmux_agents::send::Body;
use agtmux_core::action::Actor;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::{SendStatus, Sent};
use agtmux_wire::spawn::SpawnStatus;

use super::settle::Settled;
use crate::act::Hands;
use crate::act::send::send_first;
use crate::error::CommandError;

/// Between two attempts at an agent that does not show a composer yet.
const PAUSE: Duration = Duration::from_millis(250);

/// Types the prompt. An agent that says it is ready may draw its composer a moment later, so a refusal is no last word while
/// there is patience left; nothing was typed then.
///
/// # Errors
/// With nothing typed.
pub(super) async fn deliver(
    hands: &Hands,
    prompt: &Body,
    settled: &Settled,
    actor: &Actor,
    patience: Duration,
) -> Result<Sent, CommandError> {
    let unsent = |error: CommandError| {
        let message = format!("its prompt was not sent: {}", error.message);
        CommandError { message, ..error }
    };
    let Some(runtime) = settled.runtime.as_ref().filter(|_| settled.status == SpawnStatus::Ready) else {
        let error = CommandError::new(ErrorCode::Blocked, "the agent is not ready for it");
        return Err(unsent(error.hint("look at it with `agtmux attach`, then use `agtmux send`")));
    };
    let until = Instant::now() + patience;
    loop {
        match send_first(hands, prompt.clone(), runtime, actor.clone()).await {
            Ok(sent) => return Ok(sent),
            Err(error) if error.code == ErrorCode::PreconditionFailed && Instant::now() < until => {}
            Err(error) => return Err(unsent(error)),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// What is not as it should be with a prompt that was typed.
pub(super) fn problem(sent: &Sent) -> Option<CommandError> {
    let is_taken = sent.status == SendStatus::Submitted;
    (!is_taken).then(|| {
        let message = format!("its prompt was typed, but not confirmed: {}", sent.detail);
        CommandError::new(ErrorCode::Unconfirmed, message)
            .hint("look at its pane before you send it again: it may be there already")
    })
}
