//! Hands: the actions, carried out. One file per verb.
//!
//! Every action goes the same way ([`Hands::carry_out`]): the wish is prepared, checked once more, logged as started, carried
//! out, and logged with what came of it. Once started it runs to its end, whether or not whoever asked still listens. An act
//! that comes to an error says by the error's code whether anything may have been done
//! ([`is_refusal`](agtmux_wire::error::ErrorCode::is_refusal)); the caller and the log rely on that.
//! What is done to a pane is done under a [`agtmux_tmux::act::Guard`], so that the last comparison is tmux's own.

pub mod adopt;
pub mod aim;
mod approve;
pub mod attach;
mod buffers;
pub mod clear_draft;
pub mod deliver;
mod hand_over;
mod inherit;
pub mod kill;
pub mod loaded;
mod lock;
pub mod look;
pub mod replies;
pub mod resume;
pub mod send;
pub mod shim;
pub mod spawn;
mod transcript_file;
pub mod view_output;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use agtmux_core::action::{Actor, Conditions, Snapshot, Step, Verb, Wish};
use agtmux_core::id::ActionId;
use agtmux_core::state::State;
use agtmux_core::time::Span;
use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;

pub use aim::{Mark, mark};
pub use buffers::Buffers;
pub use lock::PaneLocks;
use send::Stashes;
pub use shim::Shim;
use spawn::Promised;
use view_output::Looks;

use crate::config::MailConfig;
use crate::daemon::Handle;
use crate::daemon::actions::{self, new_action};
use crate::error::CommandError;
use crate::paths::Paths;
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
    /// Where the wrappers of agents have their sockets.
    pub shims: PathBuf,
    /// Names for agents that are being started.
    pub promised: Arc<Promised>,
    /// What was looked at, to look again.
    pub looks: Arc<Looks>,
    /// The places of this instance.
    pub paths: Paths,
    /// Which agents put a text aside themselves.
    pub stashes: Arc<Stashes>,
    /// How messages are delivered.
    pub mail: MailConfig,
    /// Which sessions have loaded the hooks.
    pub hooks_loaded: Arc<loaded::HooksLoaded>,
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
        let said = aim.reference.clone();
        let chosen = self.chosen(aim.action_id.as_deref()).await;
        let (action, (reference, conditions)) = match chosen.and_then(|action| Ok((action, understood(aim)?))) {
            Ok(understood) => understood,
            Err(error) => return Err(self.refuse(verb, &said.unwrap_or_default(), actor, error).await),
        };
        let at = self.handle.now();
        self.handle.prepare(Wish { action, verb, reference, conditions, at }, actor).await
    }

    /// The id that the client chose for an action, or a fresh one. A used id is refused, so a retry never acts twice.
    async fn chosen(&self, id: Option<&str>) -> Result<ActionId, CommandError> {
        let Some(id) = id else { return Ok(new_action()) };
        let is_plain = |rest: &str| rest.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase());
        if !id.strip_prefix("act_").is_some_and(|rest| (8..=60).contains(&rest.len()) && is_plain(rest)) {
            return Err(CommandError::new(ErrorCode::Usage, format!("{id:?} cannot be the id of an action"))
                .hint("`act_` and 8 to 60 small letters and digits"));
        }
        let (log, action) = (self.handle.log().clone(), ActionId::new(id));
        let wanted = action.clone();
        let known =
            tokio::task::spawn_blocking(move || log.action(&wanted)).await.map_err(CommandError::internal)??;
        match known {
            None => Ok(action),
            Some(_) => Err(actions::used(&action)),
        }
    }

    /// Whether somebody may do something that has no snapshot, such as starting an agent. Gives the id of the action, whose
    /// other steps are for [`Handle::note`].
    ///
    /// # Errors
    /// Refused, which is in the log then.
    pub async fn permit(&self, verb: Verb, reference: &str, actor: &Actor) -> Result<ActionId, CommandError> {
        let action = new_action();
        self.handle.permit(action.clone(), verb, reference.to_owned(), actor.clone()).await?;
        Ok(action)
    }

    /// Logs that an action was refused before it could be prepared, and gives the error back.
    pub async fn refuse(&self, verb: Verb, reference: &str, actor: Actor, error: CommandError) -> CommandError {
        self.handle.note(new_action(), actor, actions::refused(verb, reference, &error)).await.ok();
        error
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
        let snapshot = self.handle.begin(action.clone(), verb, actor.clone(), detail).await?;
        let handle = self.handle.clone();
        let reference = snapshot.reference.clone();
        let under_way = tokio::spawn(async move {
            // Apart, so that a step that panics has an end in the log like any other.
            let outcome = match tokio::spawn(act(snapshot)).await {
                Ok(outcome) => outcome,
                Err(error) => Err(CommandError::internal(error)),
            };
            let step = match &outcome {
                Ok(done) => Step::Done { result: done.result.clone() },
                Err(error) => actions::ended_by(verb, &reference, error),
            };
            handle.note(action, actor, step).await.ok();
            outcome.map(|done| done.answer)
        });
        under_way.await.map_err(CommandError::internal)?
    }
}

/// Whom a request is for, and if what is so.
fn understood(aim: Aim) -> Result<(String, Conditions), CommandError> {
    let reference = aim.reference.clone().ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, "it is not said whom the action is for").hint("give `ref` or `snapshot_id`")
    })?;
    Ok((reference, conditions(aim)?))
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
