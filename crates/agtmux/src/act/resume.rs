//! `resume`: an agent started again, in the conversation that it was in when it ended.

use std::path::PathBuf;

use agtmux_core::action::{Actor, Verb};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::resume::ResumeRequest;
use agtmux_wire::spawn::Spawned;

use super::Hands;
use super::spawn::{Meant, spawn};
use crate::error::CommandError;

/// Starts an agent that goes on with a conversation: in a window of its own, in the directory of before, by the name of before
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
    let ResumeRequest { reference, mut start } = request;
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
    spawn(hands, start, Meant { socket, conversation: Some(conversation) }, actor).await
}
