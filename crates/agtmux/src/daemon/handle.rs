//! How everybody else talks to the main loop.

use std::path::PathBuf;
use std::sync::Arc;

use agtmux_core::action::{Actor, Snapshot, Step, Verb, Wish};
use agtmux_core::command::Command;
use agtmux_core::engine::Disposition;
use agtmux_core::id::{ActionId, RuntimeId};
use agtmux_core::signal::SignalEvent;
use agtmux_core::state::State;
use agtmux_core::time::Timestamp;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::actions::Ask;
use super::capabilities::Capabilities;
use super::clock::Clock;
use super::doors::Doors;
use super::gone;
use super::hook_figures::HookFigures;
use super::mail::MailAsk;
use super::publish::Change;
use super::questions::Questions;
use super::roster::{Conversation, Roster};
use super::said::Said;
use super::world::World;
use crate::error::CommandError;
use crate::store::Reader;
use crate::target::observation::Observation;

/// Everything that can happen to the main loop.
pub enum Input {
    /// An observer reports.
    Observed(Observation),
    /// A source said something.
    Posted {
        /// What.
        event: Box<SignalEvent>,
        /// What became of it.
        reply: oneshot::Sender<Result<Posted, CommandError>>,
    },
    /// A reader of the daemon's own read something.
    Said(Box<Said>),
    /// A hook or record named an agent's conversation.
    Conversation {
        /// Whose.
        runtime: RuntimeId,
        /// Which.
        conversation: Conversation,
    },
    /// Something keeps a reader of the daemon's own from its work, or does so no more.
    Trouble {
        /// Which reader.
        reader: &'static str,
        /// What, for people.
        trouble: Option<String>,
    },
    /// Somebody asks for something.
    Requested {
        /// What.
        command: Command,
        /// Whether it was done.
        reply: oneshot::Sender<Result<(), CommandError>>,
    },
    /// An action is to be taken a step further.
    Act(Box<Ask>),
    /// Something is asked of the post.
    Mail(Box<MailAsk>),
    /// Somebody wants to look.
    Read(Box<dyn FnOnce(&World) + Send>),
    /// Somebody wants to follow.
    Subscribe {
        /// The last place of the stream that they saw.
        after: Option<u64>,
        /// What they need to catch up, and what comes then.
        reply: oneshot::Sender<Subscription>,
    },
    /// Somebody means a tmux server that may not be watched yet.
    Watch {
        /// Its socket.
        socket: PathBuf,
        /// That it is.
        reply: oneshot::Sender<()>,
    },
    /// The daemon is to end, as soon as what was begun is done.
    Stop,
}

/// What became of a posted event.
#[derive(Clone, Debug)]
pub struct Posted {
    /// Its place in the log.
    pub seq: u64,
    /// What was done with it.
    pub disposition: Disposition,
    /// The state of its runtime after it.
    pub state: Option<State>,
}

/// A place in the stream of changes.
pub struct Subscription {
    /// What comes first.
    pub start: Start,
    /// What comes then, without a gap.
    pub changes: broadcast::Receiver<Arc<Change>>,
}

/// What a subscriber needs to catch up.
pub enum Start {
    /// Everything, as of `seq`.
    Snapshot(Box<Change>),
    /// The changes it missed.
    Changes(Vec<Arc<Change>>),
}

/// A handle on the main loop.
#[derive(Clone)]
pub struct Handle {
    pub(super) clock: Clock,
    pub(super) inputs: mpsc::Sender<Input>,
    pub(super) synced: watch::Receiver<bool>,
    pub(super) roster: watch::Receiver<Arc<Roster>>,
    pub(super) reader: Reader,
    pub(super) mail: watch::Receiver<u64>,
    pub(super) hooks: Arc<HookFigures>,
    pub(super) questions: Arc<Questions>,
    pub(super) doors: Arc<Doors>,
    pub(super) capabilities: Arc<Capabilities>,
}

impl Handle {
    /// The time by the daemon's own clock. Whatever is compared with what is logged has to be of this one: the machine's may be set.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The capabilities that agents were given.
    pub fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Looks at the world.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn read<R: Send + 'static>(
        &self,
        look: impl FnOnce(&World) -> R + Send + 'static,
    ) -> Result<R, CommandError> {
        let (reply, answer) = oneshot::channel();
        let input = Input::Read(Box::new(move |world| {
            reply.send(look(world)).ok();
        }));
        self.send(input).await?;
        answer.await.map_err(|_closed| gone())
    }

    /// Takes a signal in.
    ///
    /// # Errors
    /// Fails when core refuses it, when it cannot be kept, or when the daemon is ending.
    pub async fn post(&self, event: SignalEvent) -> Result<Posted, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Posted { event: Box::new(event), reply }).await?;
        answer.await.map_err(|_closed| gone())?
    }

    /// Takes in what a reader of the daemon's own read. Readings are levels that will be read again, so nobody waits
    /// to hear what became of them.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn said(&self, said: Said) -> Result<(), CommandError> {
        self.send(Input::Said(Box::new(said))).await
    }

    /// Learns which conversation an agent is in.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn conversation(&self, runtime: RuntimeId, conversation: Conversation) -> Result<(), CommandError> {
        self.send(Input::Conversation { runtime, conversation }).await
    }

    /// Learns what keeps a reader from its work, if anything.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn trouble(&self, reader: &'static str, trouble: Option<String>) -> Result<(), CommandError> {
        self.send(Input::Trouble { reader, trouble }).await
    }

    /// The agents that live, now and whenever that changes.
    pub fn roster(&self) -> watch::Receiver<Arc<Roster>> {
        self.roster.clone()
    }

    /// The servers of agents that take prompts.
    pub fn doors(&self) -> &Arc<Doors> {
        &self.doors
    }

    /// The questions that somebody can answer by a hook that waits.
    pub fn questions(&self) -> &Arc<Questions> {
        &self.questions
    }

    /// How the hooks of agents fare.
    pub fn hooks(&self) -> &HookFigures {
        &self.hooks
    }

    /// Asks for something.
    ///
    /// # Errors
    /// As [`Self::post`].
    pub async fn request(&self, command: Command) -> Result<(), CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Requested { command, reply }).await?;
        answer.await.map_err(|_closed| gone())?
    }

    /// Finds out what a wish means. What it was decided on is kept for a minute, for [`Self::begin`].
    ///
    /// # Errors
    /// Refused unless exactly one thing is meant and everything the wish takes for granted is so.
    pub async fn prepare(&self, wish: Wish, actor: Actor) -> Result<Snapshot, CommandError> {
        self.act(|reply| Ask::Prepare { wish: Box::new(wish), actor, reply }).await
    }

    /// Finds out whether somebody may do something that has no snapshot, such as starting an agent.
    ///
    /// # Errors
    /// Refused, which is in the log then.
    pub async fn permit(
        &self,
        action: ActionId,
        verb: Verb,
        reference: String,
        actor: Actor,
    ) -> Result<(), CommandError> {
        self.act(|reply| Ask::Permit { action, verb, reference, actor, reply }).await
    }

    /// Checks for the last time that an action may be carried out, and logs that it is. It must be ended by [`Self::note`].
    ///
    /// # Errors
    /// Refused if anything has changed since it was prepared.
    pub async fn begin(
        &self,
        action: ActionId,
        verb: Verb,
        actor: Actor,
        detail: String,
    ) -> Result<Snapshot, CommandError> {
        self.act(|reply| Ask::Begin { action, verb, actor, detail, reply }).await
    }

    /// Logs a step of an action.
    ///
    /// # Errors
    /// Fails when it cannot be kept.
    pub async fn note(&self, action: ActionId, actor: Actor, step: Step) -> Result<(), CommandError> {
        self.act(|reply| Ask::Note { action, actor, step, reply }).await
    }

    async fn act<T>(
        &self,
        ask: impl FnOnce(oneshot::Sender<Result<T, CommandError>>) -> Ask,
    ) -> Result<T, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Act(Box::new(ask(reply)))).await?;
        answer.await.map_err(|_closed| gone())?
    }

    /// Follows the changes after a place in the stream, or from now on.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn subscribe(&self, after: Option<u64>) -> Result<Subscription, CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Subscribe { after, reply }).await?;
        answer.await.map_err(|_closed| gone())
    }

    /// Begins to watch a tmux server, if it is not watched yet.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn watch(&self, socket: PathBuf) -> Result<(), CommandError> {
        let (reply, answer) = oneshot::channel();
        self.send(Input::Watch { socket, reply }).await?;
        answer.await.map_err(|_closed| gone())
    }

    /// Waits until every watched server has been looked at once.
    pub async fn synced(&self) {
        self.synced.clone().wait_for(|synced| *synced).await.ok();
    }

    /// Tells the daemon to end, as soon as what was begun is done.
    pub async fn stop(&self) {
        self.inputs.send(Input::Stop).await.ok();
    }

    /// The log.
    pub fn log(&self) -> &Reader {
        &self.reader
    }

    pub(super) async fn send(&self, input: Input) -> Result<(), CommandError> {
        self.inputs.send(input).await.map_err(|_closed| gone())
    }
}
