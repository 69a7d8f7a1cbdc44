//! Hands: the actions, carried out. One file per verb.
//!
//! Every action goes the same way ([`Hands::carry_out`]): the wish is prepared, checked once more, logged as started, carried
//! out, and logged with what came of it. Once started it runs to its end, whether or not whoever asked still listens.
//! What is done to a pane is done under a [`agtmux_tmux::act::Guard`], so that the last comparison is tmux's own.

pub mod aim;
mod approve;
mod buffers;
pub mod kill;
mod lock;
pub mod look;
pub mod send;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use agtmux_core::action::{Actor, Conditions, Snapshot, Step, Verb, Wish};
use agtmux_core::id::ActionId;
use agtmux_core::state::State;
use agtmux_core::time::{Span, Timestamp};
use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;
use uuid::Uuid;

pub use aim::{Mark, mark};
pub use buffers::Buffers;
pub use lock::PaneLocks;

use crate::daemon::Handle;
use crate::daemon::actions;
use crate::error::CommandError;
use crate::target::manifests::Manifests;

/// What carries out actions. Cheap to clone.
#[derive(Clone)]
pub struct Hands {
    /// The main loop.
    pub handle: Handle,
    /// The tmux program.
    pub tmux: PathBuf,
    /// What agents are like.
    pub manifests: Manifests,
    /// One writer per pane.
    pub locks: Arc<PaneLocks>,
    /// Where texts are laid on their way into panes.
    pub buffers: Arc<Buffers>,
}

/// An action that was carried out: what the one who asked gets, and the line for the log.
pub struct Done<T> {
    /// The answer.
    pub answer: T,
    /// What came of it, for people.
    pub result: String,
}

impl Hands {
    /// Finds out what a request means, without doing anything.
    ///
    /// # Errors
    /// Refused unless exactly one thing is meant and everything the request takes for granted is so.
    pub async fn prepare(&self, verb: Verb, aim: Aim, actor: Actor) -> Result<Snapshot, CommandError> {
        let reference = aim.reference.clone().ok_or_else(|| {
            CommandError::new(ErrorCode::Usage, "it is not said whom the action is for")
                .hint("give `ref` or `snapshot_id`")
        })?;
        let conditions = conditions(aim)?;
        let action = ActionId::new(format!("act_{}", Uuid::new_v4().simple()));
        let at = Timestamp(jiff::Timestamp::now().as_millisecond());
        self.handle.prepare(Wish { action, verb, reference, conditions, at }, actor).await
    }

    /// Carries out an action: `act` is called once the action may be done and that is in the log.
    ///
    /// # Errors
    /// Refused, or failed; both are in the log.
    pub async fn carry_out<T, F, A>(
        &self,
        verb: Verb,
        aim: Aim,
        actor: Actor,
        detail: String,
        act: A,
    ) -> Result<T, CommandError>
    where
        T: Send + 'static,
        F: Future<Output = Result<Done<T>, CommandError>> + Send + 'static,
        A: FnOnce(Snapshot) -> F + Send + 'static,
    {
        let action = match &aim.snapshot_id {
            Some(id) => ActionId::new(id.clone()),
            None => self.prepare(verb, aim, actor.clone()).await?.action,
        };
        let snapshot = self.handle.begin(action.clone(), actor.clone(), detail).await?;
        if snapshot.verb != verb {
            let error = CommandError::new(
                ErrorCode::PreconditionFailed,
                format!("the snapshot was made for {}, not for {}", snapshot.verb.name(), verb.name()),
            );
            self.handle.note(action, actor, failed(&error)).await.ok();
            return Err(error);
        }
        let handle = self.handle.clone();
        let under_way = tokio::spawn(async move {
            let outcome = act(snapshot).await;
            let step = match &outcome {
                Ok(done) => Step::Done { result: done.result.clone() },
                Err(error) => failed(error),
            };
            handle.note(action, actor, step).await.ok();
            outcome.map(|done| done.answer)
        });
        under_way.await.map_err(CommandError::internal)?
    }
}

fn failed(error: &CommandError) -> Step {
    match actions::refused(Verb::Send, "", error) {
        Step::Refused { code, message, .. } => Step::Failed { code, message },
        other => other,
    }
}

/// The conditions of a request.
fn conditions(aim: Aim) -> Result<Conditions, CommandError> {
    let state = aim.if_state.map(|name| {
        State::from_name(&name).ok_or_else(|| {
            let names: Vec<_> = State::ALL.iter().map(|state| state.name()).collect();
            CommandError::new(ErrorCode::UnknownState, format!("no state is named {name:?}"))
                .hint(format!("the states are {}", names.join(", ")))
        })
    });
    Ok(Conditions {
        runtime: aim.if_runtime,
        state: state.transpose()?,
        updated_within: aim.if_updated_within_ms.map(|ms| Span(i64::try_from(ms).unwrap_or(i64::MAX))),
        prompt: aim.if_prompt,
        force_stale: aim.force_stale,
    })
}
