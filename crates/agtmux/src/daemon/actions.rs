//! The lives of actions: prepared, started, ended, each step logged before the next.
//!
//! A snapshot waits here until it is acted on, once, or expires. The check right before the act and the entry that says
//! "started" are one turn of the main loop, so that nothing can come between them.

use std::collections::BTreeMap;

use agtmux_core::action::{ActionFact, Actor, Snapshot, Step, Wish};
use agtmux_core::event::Fact;
use agtmux_core::id::ActionId;
use agtmux_core::time::Timestamp;
use agtmux_wire::error::ErrorCode;
use tokio::sync::oneshot;

use super::mainloop::MainLoop;
use crate::error::CommandError;
use crate::store::redact;

/// How many snapshots may wait. Each is gone after a minute anyway.
const WAITING: usize = 1_000;

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
    /// Check for the last time, and log that it begins.
    Begin {
        /// Which snapshot.
        action: ActionId,
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

/// Snapshots that wait to be acted on.
#[derive(Default)]
pub struct Waiting(BTreeMap<ActionId, Snapshot>);

impl Waiting {
    fn keep(&mut self, snapshot: Snapshot, now: Timestamp) {
        self.0.retain(|_, known| known.expires_at > now);
        if self.0.len() < WAITING {
            self.0.insert(snapshot.action.clone(), snapshot);
        }
    }
}

impl MainLoop {
    /// Takes an action a step further.
    pub(super) async fn act(&mut self, ask: Ask) {
        match ask {
            Ask::Prepare { wish, actor, reply } => {
                reply.send(self.prepare(&wish, actor).await).ok();
            }
            Ask::Begin { action, actor, detail, reply } => {
                reply.send(self.begin(action, actor, detail).await).ok();
            }
            Ask::Note { action, actor, step, reply } => {
                reply.send(self.note_action(action, actor, step).await).ok();
            }
        }
    }

    async fn prepare(&mut self, wish: &Wish, actor: Actor) -> Result<Snapshot, CommandError> {
        match self.world.engine.prepare(wish) {
            Ok(snapshot) => {
                let step = Step::Prepared { snapshot: Box::new(snapshot.clone()) };
                self.note_action(wish.action.clone(), actor, step).await?;
                self.waiting.keep(snapshot.clone(), self.clock.now());
                Ok(snapshot)
            }
            Err(why) => {
                let error = CommandError::from(why);
                let step = refused(wish.verb, &wish.reference, &error);
                self.note_action(wish.action.clone(), actor, step).await.ok();
                Err(error)
            }
        }
    }

    async fn begin(&mut self, action: ActionId, actor: Actor, detail: String) -> Result<Snapshot, CommandError> {
        let Some(snapshot) = self.waiting.0.remove(&action) else {
            return Err(CommandError::new(
                ErrorCode::SnapshotExpired,
                format!("there is no snapshot {action} to act on"),
            )
            .hint("a snapshot holds for a minute and can be acted on once; look again, then ask again"));
        };
        match self.world.engine.recheck(&snapshot, self.clock.now()) {
            Ok(()) => {
                self.note_action(action, actor, Step::Started { detail }).await?;
                Ok(snapshot)
            }
            Err(refusal) => {
                let error = CommandError::from(refusal);
                let step = refused(snapshot.verb, &snapshot.reference, &error);
                self.note_action(action, actor, step).await.ok();
                Err(error)
            }
        }
    }

    async fn note_action(&mut self, action: ActionId, actor: Actor, step: Step) -> Result<(), CommandError> {
        let fact = Fact::Action(Box::new(ActionFact { action, actor, step }));
        self.commit(vec![fact]).await.map(|_| ())
    }
}

/// That an action was refused, as the store would keep it.
pub fn refused(verb: agtmux_core::action::Verb, reference: &str, error: &CommandError) -> Step {
    Step::Refused {
        verb,
        reference: redact::redact(reference).into_owned(),
        code: error.code.name().to_owned(),
        message: redact::redact(&error.message).into_owned(),
    }
}
