//! `spawn`: an agent started in a window of its own, with everything it needs to tell how it stands.
//!
//! Everything is checked before anything is done ([`order`]). Then the workspace is taught to signal, a window is opened in
//! the background, the agent takes its place there in the wrapper, and it is waited for: to be found, to be named, and to take
//! prompts. Only then is it sent its first one ([`first`]), and whether it took that is part of the answer (F68). A
//! dialog that it shows first, whether to trust the folder for instance, is reported and never answered. Whatever exists when
//! something goes wrong is left for the person to look at, and the answer says what that is.

mod first;
mod order;
mod place;
mod settle;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use agtmux_agents::launch;
use agtmux_core::action::{Actor, Step, Verb};
use agtmux_core::command::Command;
use agtmux_core::id::ActionId;
use agtmux_tmux::Plain;
use agtmux_tmux::act::Acted;
use agtmux_tmux::open::{self, Opened, Program};
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::{ErrorCode, ErrorDetail};
use agtmux_wire::spawn::{SpawnRequest, SpawnStatus, Spawned};
use agtmux_wire::worktree::MadeWorktree;

pub use order::Meant;
use order::Order;
use settle::Settled;

use super::Hands;
use super::aim::{STEP_DEADLINE, missed, tmux_failed};
use crate::daemon::actions::{self, failed};
use crate::daemon::world::LOCAL;
use crate::error::CommandError;
use crate::setup::environment::Start;
use crate::setup::instructions::{Lessons, Wish};
use crate::setup::lock::SetupLock;
use crate::worktree;

/// Names that agents have been promised which are not there yet.
#[derive(Default)]
pub struct Promised(Mutex<BTreeSet<String>>);

/// A name that nobody else is given while this lives.
pub struct Promise {
    name: String,
    promised: Arc<Promised>,
}

impl Promised {
    /// Keeps a name for somebody.
    ///
    /// # Errors
    /// Refused if somebody else was promised it.
    pub fn keep(self: &Arc<Self>, name: &str) -> Result<Promise, CommandError> {
        if self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned()) {
            return Ok(Promise { name: name.to_owned(), promised: Arc::clone(self) });
        }
        let message = format!("{name} is the name of an agent that is being started");
        Err(CommandError::new(ErrorCode::NameTaken, message).hint("choose another"))
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.promised.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Starts an agent. `meant` is what the request takes from elsewhere: the tmux server, a conversation.
///
/// # Errors
/// Refused or failed with nothing started. An agent that was started and is not as it should be is an answer with a problem.
pub async fn spawn(hands: &Hands, request: SpawnRequest, meant: Meant, actor: Actor) -> Result<Spawned, CommandError> {
    let reference = request.agent.clone();
    let action = hands.permit(Verb::Spawn, &reference, &actor).await?;
    let order = match Order::check(hands, request, meant).await {
        Ok(order) => order,
        Err(error) => {
            let step = actions::refused(Verb::Spawn, &reference, &error);
            hands.handle.note(action, actor, step).await.ok();
            return Err(error);
        }
    };
    hands.handle.note(action.clone(), actor.clone(), Step::Started { detail: order.detail() }).await?;
    let hands = hands.clone();
    // Once begun it runs to its end, whether or not whoever asked still listens.
    let under_way = tokio::spawn(async move {
        let outcome = order.carry_out(&hands, &action, &actor).await;
        let step = match &outcome {
            Ok(Spawned { problem: None, pane_id, runtime_id, .. }) => {
                Step::Done { result: format!("{} in {pane_id}", runtime_id.as_deref().unwrap_or("no agent")) }
            }
            Ok(Spawned { problem: Some(problem), .. }) => failed(&CommandError::from(problem.clone())),
            // Git was asked before anything else, and left everything as it was.
            Err(error) if error.code == ErrorCode::Worktree => actions::refused(Verb::Spawn, &reference, error),
            Err(error) => failed(error),
        };
        hands.handle.note(action, actor, step).await.ok();
        outcome
    });
    under_way.await.map_err(CommandError::internal)?
}

impl Order {
    async fn carry_out(mut self, hands: &Hands, action: &ActionId, actor: &Actor) -> Result<Spawned, CommandError> {
        self.make_room_for_server()?;
        if let Some(branch) = self.branch.clone() {
            let made = worktree::add::add(&self.workspace, &branch, self.worktrees.as_deref()).await?;
            self.move_to(made);
        }
        self.start_in_workspace(hands, action, actor).await.map_err(|error| match &self.made {
            // What exists now, nobody else would say.
            Some(made) => {
                let hint = error.hint.clone().map_or_else(String::new, |hint| format!("{hint}; "));
                error.hint(format!("{hint}the worktree {} was made and is still there", made.path.display()))
            }
            None => error,
        })
    }

    async fn start_in_workspace(
        &self,
        hands: &Hands,
        action: &ActionId,
        actor: &Actor,
    ) -> Result<Spawned, CommandError> {
        let mut notes: Vec<_> = self.unwrapped.iter().cloned().collect();
        notes.extend(self.make_folders(hands).err().map(|error| format!("it cannot signal by files: {error}")));
        if self.provision {
            match self.teach(hands) {
                Ok(note) => notes.extend(note),
                Err(error) => notes.push(format!("the workspace was not taught to signal: {error}")),
            }
        }
        let plain = Plain::new(&hands.tmux, &self.socket).at(&self.workspace);
        let opened = self.open(hands, &plain).await?;
        let program = self.program(hands);
        match open::launch(&plain, &opened, &program, STEP_DEADLINE).await {
            Ok(Acted::Done(_)) => {}
            Ok(Acted::Refused(mismatch)) => return Err(missed(&mismatch)),
            Err(error) => return Err(tmux_failed(&error)),
        }
        hands.handle.watch(self.socket.clone()).await?;
        let settled = settle::settle(hands, &plain, &opened, &self.capability, self.patience, self.is_command).await?;
        let mut spawned = self.answer(action, &opened, &settled, notes);
        if settled.status != SpawnStatus::Ended {
            // From here on the window closes with the agent, as any other does.
            open::let_go(&plain, opened.pane, STEP_DEADLINE).await.ok();
        }
        if let Some(runtime) = &settled.runtime {
            // The daemon also reads this from the agent's environment, but later: the client may use the reference at once.
            let command = Command::Session { runtime: runtime.clone(), session: self.word.clone() };
            hands.handle.request(command).await.ok();
        }
        if let (Some(runtime), Some(name)) = (&settled.runtime, &self.name) {
            let command = Command::Name { runtime: runtime.clone(), name: Some(name.name.clone()) };
            match hands.handle.request(command).await {
                Ok(()) => spawned.name = Some(name.name.clone()),
                Err(error) => spawned.problem = spawned.problem.or(Some(ErrorDetail::from(error))),
            }
        }
        if let Some(prompt) = &self.prompt
            && spawned.problem.is_none()
        {
            match first::deliver(hands, prompt, &settled, actor, self.patience).await {
                Ok(sent) => {
                    spawned.problem = first::problem(&sent).map(ErrorDetail::from);
                    spawned.prompt = Some(sent);
                }
                Err(error) => spawned.problem = Some(ErrorDetail::from(error)),
            }
        }
        Ok(spawned)
    }

    fn start<'s>(&'s self, hands: &'s Hands, capability: &'s str) -> Start<'s> {
        Start {
            session: &self.word,
            workspace: &self.workspace_word,
            folder: &self.workspace,
            socket: &hands.paths.socket,
            capability,
            name: self.name.as_ref().map(|promise| promise.name.as_str()),
        }
    }

    /// The folders of the files by which the agent signals.
    fn make_folders(&self, hands: &Hands) -> Result<(), CommandError> {
        let start = self.start(hands, "");
        for file in [start.status_file(), start.events_file()] {
            if let Some(folder) = file.parent() {
                std::fs::create_dir_all(folder).map_err(CommandError::internal)?;
            }
        }
        // What is in there is nobody's work, and no version control is to see it.
        let ignore = self.workspace.join(".schmux/.gitignore");
        if !ignore.exists() {
            std::fs::write(&ignore, "*\n").map_err(CommandError::internal)?;
        }
        Ok(())
    }

    /// The block in the instruction file. Gives what is worth knowing besides.
    fn teach(&self, hands: &Hands) -> Result<Option<String>, CommandError> {
        let Some(files) = &self.instructions else { return Ok(None) };
        let _lock = SetupLock::take(&hands.paths.state_dir)?;
        let mut lessons = Lessons::new(&self.workspace);
        lessons.plan(files, Wish { removes: false, follows_links: false })?;
        lessons.plan_exclude();
        let unheard = lessons.write()?;
        Ok(unheard.map(|error| format!("git was not told to ignore the instructions: {error}")))
    }

    /// The program as tmux runs it: without what tells an agent that it runs inside another (F64).
    fn program(&self, hands: &Hands) -> Program {
        let registry = hands.manifests.now();
        let mut argv: Vec<Vec<u8>> = vec![b"/usr/bin/env".to_vec()];
        // An agent that starts another may have given its own name to the tmux server.
        let nameless = self.name.is_none().then_some("AGTMUX_NAME");
        for mark in launch::marks(&registry).into_iter().chain(nameless) {
            argv.extend([b"-u".to_vec(), mark.as_bytes().to_vec()]);
        }
        argv.extend(self.wrapper.iter().map(|wrapper| wrapper.as_os_str().as_encoded_bytes().to_vec()));
        argv.extend(self.command.iter().map(|word| word.as_bytes().to_vec()));
        let capability = self.capability.reveal();
        let own = self.start(hands, &capability).variables();
        let own = own.into_iter().map(|(name, value)| (name.to_owned(), value.into_encoded_bytes()));
        let given = self.variables.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes()));
        let sockets =
            (agtmux_shim::SOCKETS_VARIABLE.to_owned(), hands.shims.clone().into_os_string().into_encoded_bytes());
        let wrapped = self.wrapper.as_ref().map(|_| sockets);
        Program { argv, variables: given.chain(own).chain(wrapped).collect() }
    }

    fn answer(&self, action: &ActionId, opened: &Opened, settled: &Settled, notes: Vec<String>) -> Spawned {
        Spawned {
            schema_version: SCHEMA_VERSION,
            action_id: action.to_string(),
            status: settled.status,
            agent: self.agent.clone(),
            model: self.model.clone(),
            runtime_id: settled.runtime.as_ref().map(ToString::to_string),
            name: None,
            state: settled.state.map(|state| state.name().to_owned()),
            reason_code: settled.reason.clone(),
            conversation: self.conversation.clone(),
            target: LOCAL.to_owned(),
            tmux_socket: self.socket.display().to_string(),
            session_name: opened.session_name.clone(),
            session_id: opened.session.to_string(),
            window_id: opened.window.to_string(),
            pane_id: opened.pane.to_string(),
            workspace: self.workspace.display().to_string(),
            worktree: self.made.as_ref().map(|made| MadeWorktree {
                path: made.path.display().to_string(),
                branch: made.branch.clone(),
                is_new_branch: made.is_new_branch,
            }),
            command: self.command.clone(),
            wrapped: self.wrapper.is_some(),
            prompt: None,
            notes: notes.into_iter().chain(settled.note.clone()).collect(),
            problem: settled.problem(&self.agent, self.is_command, opened).map(ErrorDetail::from),
        }
    }
}
