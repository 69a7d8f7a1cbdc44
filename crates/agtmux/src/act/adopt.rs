//! `adopt`: a name for an agent that is there, or no name for it any more.

use agtmux_core::action::{Actor, Verb};
use agtmux_core::command::Command;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::adopt::{AdoptRequest, Adopted};
use agtmux_wire::error::ErrorCode;

use super::{Done, Hands};
use crate::error::CommandError;

/// Names an agent.
///
/// # Errors
/// Refused for a name that is none or is taken, and unless exactly one agent is meant.
pub async fn adopt(hands: &Hands, request: AdoptRequest, actor: Actor) -> Result<Adopted, CommandError> {
    let AdoptRequest { aim, name } = request;
    let detail = name.as_deref().map_or_else(|| "take the name away".to_owned(), |name| format!("name it {name}"));
    let handle = hands.handle.clone();
    hands
        .carry_out(Verb::Adopt, aim, actor, detail.clone(), move |snapshot| async move {
            let gone = || CommandError::new(ErrorCode::RuntimeStale, "no agent is there any more");
            let aimed = snapshot.runtime.ok_or_else(gone)?;
            handle.request(Command::Name { runtime: aimed.runtime.clone(), name: name.clone() }).await?;
            let result = format!("{} is {}", aimed.runtime, name.as_deref().unwrap_or("without a name"));
            let answer = Adopted {
                schema_version: SCHEMA_VERSION,
                action_id: snapshot.action.to_string(),
                runtime_id: aimed.runtime.to_string(),
                agent: aimed.agent.to_string(),
                pane_id: snapshot.pane.pane.to_string(),
                name,
            };
            Ok(Done { answer, result })
        })
        .await
}
