//! The lives of actions: prepared, started, ended, each step logged before the next.
//!
//! A snapshot waits here until it is acted on, once, or expires. The check right before the act and the entry that says
//! "started" are one turn of the main loop, so that nothing can come between them.

use std::collections::{BTreeMap, BTreeSet};

use agtmux_core::action::{ActionFact, Actor, Snapshot, Step, Verb, Wish};
use agtmux_core::event::Fact;
use agtmux_core::id::{ActionId, RuntimeId};
use agtmux_core::time::{Span, Timestamp};
use agtmux_wire::error::ErrorCode;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::delivery::agtmux_itself;
use super::gone;
use super::ingest::{MESSAGE_LIMIT, bounded};
use super::mainloop::MainLoop;
use crate::error::CommandError;
use crate::store::redact;

/// How many snapshots may wait. Each is gone after a minute anyway.
const WAITING: usize = 1_000;

/// An agent that was told to end may take so long. Whatever ends it later, that was not it.
const KILLING: Span = Span::seconds(60);

/// The longest reference that is kept of an action that was refused; none that means anything is longer.
const REFERENCE_LIMIT: usize = 1_024;

/// A step that somebody wants an action to take.
pub enum Ask {
    /// Find out what a wish means.
    Prepare {
        /// The wish.
        wish: Box<Wish>,
        /// Whose.
        actor: Actor,
        /// What it means.
        reply: oneshot::Sender<Result<Snapshot, CommandError>>,
    },
    /// Find out whether somebody may do something that has no snapshot, and log that.
    Permit {
        /// The id of the action that it would be.
        action: ActionId,
        /// What.
        verb: Verb,
        /// To whom, for people.
        reference: String,
        /// Who.
        actor: Actor,
        /// That they may.
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
    /// Check for the last time, and log that it begins.
    Begin {
        /// Which snapshot.
        action: ActionId,
        /// What is to be done.
        verb: Verb,
        /// Who wants it.
        actor: Actor,
        /// What exactly, for people.
        detail: String,
        /// The snapshot, which nobody else can act on any more.
        reply: oneshot::Sender<Result<Snapshot, CommandError>>,
    },
    /// Log what came of it, or that it was refused before it was prepared.
    Note {
        /// Which action.
        action: ActionId,
        /// Who wanted it.
        actor: Actor,
        /// What came of it.
        step: Step,
        /// That it is in the log.
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
}

/// Snapshots that wait to be acted on, actions that wait for their end, and agents that wait for theirs.
#[derive(Default)]
pub struct Waiting {
    snapshots: BTreeMap<ActionId, Snapshot>,
    begun: BTreeSet<ActionId>,
    killed: BTreeMap<RuntimeId, Timestamp>,
}

impl Waiting {
    fn keep(&mut self, snapshot: Snapshot, now: Timestamp) {
        self.snapshots.retain(|_, known| known.expires_at > now);
        if self.snapshots.len() < WAITING {
            self.snapshots.insert(snapshot.action.clone(), snapshot);
        }
    }

    /// Remembers which actions were begun and have not come to an end.
    fn note_step(&mut self, action: &ActionId, step: &Step) {
        match step {
            Step::Prepared { .. } | Step::Permitted { .. } => {}
            Step::Started { .. } => {
                self.begun.insert(action.clone());
            }
            Step::Done { .. } | Step::Failed { .. } | Step::Refused { .. } => {
                self.begun.remove(action);
            }
        }
    }

    /// Whether an id is that of an action that is prepared or under way.
    fn knows(&self, action: &ActionId) -> bool {
        self.snapshots.contains_key(action) || self.begun.contains(action)
    }

    /// Whether an action was begun and has not come to an end.
    pub(super) fn is_under_way(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Remembers whom somebody has told to end.
    fn note_kill(&mut self, snapshot: &Snapshot, now: Timestamp) {
        self.killed.retain(|_, since| *since + KILLING > now);
        let aimed = snapshot.runtime.as_ref().filter(|_| snapshot.verb == Verb::Kill);
        self.killed.extend(aimed.map(|aimed| (aimed.runtime.clone(), now)));
    }

    /// Whether an agent that ends now ends because somebody has just told it to.
    pub(super) fn was_killed(&self, runtime: &RuntimeId, now: Timestamp) -> bool {
        self.killed.get(runtime).is_some_and(|since| *since + KILLING > now)
    }
}

impl MainLoop {
    /// Takes an action a step further.
    pub(super) async fn act(&mut self, ask: Ask) {
        match ask {
            Ask::Prepare { wish, actor, reply } => {
                reply.send(self.prepare(&wish, actor).await).ok();
            }
            Ask::Permit { action, verb, reference, actor, reply } => {
                reply.send(self.permit_and_note(action, verb, reference, actor).await).ok();
            }
            Ask::Begin { action, verb, actor, detail, reply } => {
                let begun = self.begin(action.clone(), verb, actor, detail).await;
                if reply.send(begun).is_err() {
                    // Nobody is there to act.
                    self.waiting.begun.remove(&action);
                }
            }
            Ask::Note { action, actor, step, reply } => {
                reply.send(self.note_action(action, actor, step).await).ok();
            }
        }
    }

    async fn prepare(&mut self, wish: &Wish, actor: Actor) -> Result<Snapshot, CommandError> {
        if self.waiting.knows(&wish.action) {
            return Err(used(&wish.action));
        }
        self.permit(wish.action.clone(), wish.verb, &wish.reference, actor.clone()).await?;
        match self.world.engine.prepare(wish) {
            Ok(snapshot) => {
                let step = Step::Prepared { snapshot: Box::new(snapshot.clone()) };
                self.note_action(wish.action.clone(), actor, step).await?;
                self.waiting.keep(snapshot.clone(), self.clock.now());
                Ok(snapshot)
            }
            Err(why) => Err(self.refuse(wish.action.clone(), wish.verb, &wish.reference, actor, why.into()).await),
        }
    }

    pub(super) async fn permit_and_note(
        &mut self,
        action: ActionId,
        verb: Verb,
        reference: String,
        actor: Actor,
    ) -> Result<(), CommandError> {
        self.permit(action.clone(), verb, &reference, actor.clone()).await?;
        let reference = bounded(&redact::redact(&reference), REFERENCE_LIMIT);
        self.note_action(action, actor, Step::Permitted { verb, reference }).await
    }

    async fn permit(
        &mut self,
        action: ActionId,
        verb: Verb,
        reference: &str,
        actor: Actor,
    ) -> Result<(), CommandError> {
        match self.world.engine.permit(&self.world.permissions, &actor, verb) {
            Ok(()) => Ok(()),
            Err(refusal) => Err(self.refuse(action, verb, reference, actor, refusal.into()).await),
        }
    }

    async fn begin(
        &mut self,
        action: ActionId,
        verb: Verb,
        actor: Actor,
        detail: String,
    ) -> Result<Snapshot, CommandError> {
        let Some(snapshot) = self.waiting.snapshots.get(&action).cloned() else {
            let message = format!("there is no snapshot {action} to act on");
            let error = CommandError::new(ErrorCode::SnapshotExpired, message)
                .hint("a snapshot holds for a minute and can be acted on once; look again, then ask again");
            // What somebody merely says is the id of an action must not become a part of that action's story.
            let reference = format!("snapshot {action}");
            return Err(self.refuse(new_action(), verb, &reference, actor, error).await);
        };
        if self.ending.is_some() && actor != agtmux_itself() {
            // What agtmux itself does goes with what was begun before.
            return Err(self.refuse(action, verb, &snapshot.reference, actor, gone()).await);
        }
        // Whoever acts must be allowed to, whoever looked.
        self.permit(action.clone(), verb, &snapshot.reference, actor.clone()).await?;
        if snapshot.verb != verb {
            let message = format!("the snapshot was made for {}, not for {}", snapshot.verb.name(), verb.name());
            let error = CommandError::new(ErrorCode::PreconditionFailed, message).hint("make one for what is wanted");
            return Err(self.refuse(action, verb, &snapshot.reference, actor, error).await);
        }
        self.waiting.snapshots.remove(&action);
        match self.world.engine.recheck(&snapshot, self.clock.now()) {
            Ok(()) => {
                self.note_action(action, actor, Step::Started { detail }).await?;
                self.waiting.note_kill(&snapshot, self.clock.now());
                Ok(snapshot)
            }
            Err(refusal) => Err(self.refuse(action, verb, &snapshot.reference, actor, refusal.into()).await),
        }
    }

    /// Logs that an action was refused. A log that cannot be written changes nothing about the refusal.
    pub(super) async fn refuse(
        &mut self,
        action: ActionId,
        verb: Verb,
        reference: &str,
        actor: Actor,
        error: CommandError,
    ) -> CommandError {
        self.note_action(action, actor, refused(verb, reference, &error)).await.ok();
        error
    }

    async fn note_action(&mut self, action: ActionId, actor: Actor, step: Step) -> Result<(), CommandError> {
        self.waiting.note_step(&action, &step);
        let fact = Fact::Action(Box::new(ActionFact { action: action.clone(), actor, step }));
        let noted = self.commit(vec![fact]).await.map(|_| ());
        if noted.is_err() {
            // What could not be logged was not begun.
            self.waiting.begun.remove(&action);
        }
        noted
    }
}

/// How an action ended that was begun and came to an error: refused if the error says that nothing was done, else failed.
pub fn ended_by(verb: Verb, reference: &str, error: &CommandError) -> Step {
    if error.code.is_refusal() { refused(verb, reference, error) } else { failed(error) }
}

/// That an action was refused, as the store would keep it.
pub fn refused(verb: Verb, reference: &str, error: &CommandError) -> Step {
    let (code, message) = told(error);
    Step::Refused { verb, reference: bounded(&redact::redact(reference), REFERENCE_LIMIT), code, message }
}

/// That an action failed, as the store would keep it.
pub fn failed(error: &CommandError) -> Step {
    let (code, message) = told(error);
    Step::Failed { code, message }
}

fn told(error: &CommandError) -> (String, String) {
    (error.code.name().to_owned(), bounded(&redact::redact(&error.message), MESSAGE_LIMIT))
}

/// The refusal of an id that an action has already.
pub fn used(action: &ActionId) -> CommandError {
    CommandError::new(ErrorCode::PreconditionFailed, format!("{action} was asked for before"))
        .hint(format!("GET /v1/actions/{action} tells what became of it"))
}

/// A fresh id for an action.
pub fn new_action() -> ActionId {
    ActionId::new(format!("act_{}", Uuid::new_v4().simple()))
}
