//! `resume`: an agent started again, in the conversation that it was in when it ended.

use std::path::PathBuf;

use agtmux_core::action::{Actor, Verb};
use agtmux_core::query::PaneFilter;
use agtmux_core::runtime::Left;
use agtmux_tmux::open::is_plain_name;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::resume::ResumeRequest;
use agtmux_wire::spawn::Spawned;

use super::Hands;
use super::spawn::{Meant, spawn};
use crate::error::CommandError;

/// Starts an agent that goes on with a conversation: in a window of its own, in the session and directory of before, by the name of before
/// if that is free.
///
/// # Errors
/// Refused while somebody is in the conversation, and if it is not known which one or where it was; else as a start.
pub async fn resume(
    hands: &Hands,
    request: ResumeRequest,
    socket: PathBuf,
    actor: Actor,
) -> Result<Spawned, CommandError> {
    let ResumeRequest { reference, here, mut start } = request;
    let mut socket = socket;
    let text = reference.clone();
    let found = match hands.handle.read(move |world| world.engine.resumable(&text)).await? {
        Ok(found) => found,
        Err(refusal) => return Err(hands.refuse(Verb::Spawn, &reference, actor, refusal.into()).await),
    };
    let conversation = match found {
        Some(found) => {
            if start.agent.is_empty() {
                start.agent = found.agent.to_string();
            }
            start.name = start.name.or(found.name);
            start.workspace = start.workspace.or(found.conversation.cwd);
            if start.session.is_none()
                && start.beside.is_none()
                && let Some(left) = found.left
            {
                socket = PathBuf::from(&left.socket);
                hands.handle.watch(socket.clone()).await?;
                (start.session, start.beside) = room(hands, left).await?;
            }
            found.conversation.id
        }
        // What only the agent knows of can be gone on with all the same, if it is said which agent that is.
        None if !start.agent.is_empty() => reference,
        None => {
            let message = format!("no agent that ended is known as {reference:?}, and no conversation");
            let error = CommandError::new(ErrorCode::RefNotFound, message)
                .hint("name its runtime, its name, or the agent's own id of the conversation with --agent");
            return Err(hands.refuse(Verb::Spawn, &reference, actor, error).await);
        }
    };
    start.workspace = start.workspace.or(here);
    spawn(hands, start, Meant { socket, conversation: Some(conversation) }, actor).await
}

/// The session where an agent was: its name if it can be made by that, or a pane in it if it is there. Neither means the usual one.
async fn room(hands: &Hands, left: Left) -> Result<(Option<String>, Option<String>), CommandError> {
    if is_plain_name(&left.session_name) {
        return Ok((Some(left.session_name), None));
    }
    let pane = hands.handle.read(move |world| {
        let filter = PaneFilter { session: Some(left.session_name), all: true, ..PaneFilter::default() };
        let mut panes = world.panes(&filter).into_iter().filter(|view| view.socket == left.socket);
        panes.next().map(|view| view.row.pane.pane.to_string())
    });
    Ok((None, pane.await?))
}
