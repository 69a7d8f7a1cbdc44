//! `POST /v1/busy` and `POST /v1/ready`. An agent says so of itself, a person of any.

use agtmux_core::action::Actor;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::Busy;
use agtmux_core::time::Span;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::busy::{BusyRequest, Readiness, ReadyRequest};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::mail::MessageParty;
use axum::extract::{ConnectInfo, State};

use super::actions::actor;
use super::answer::{Answer, Body, Json};
use super::mail::{by, preview, recipient, seconds};
use super::peer::Peer;
use super::{Api, convert};
use crate::error::CommandError;

/// How long an agent is busy unless it says for how long.
const HOUR: u64 = 3_600;

pub async fn busy(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<BusyRequest>,
) -> Answer<Readiness> {
    let reason = preview(&request.reason.unwrap_or_default());
    let with = (reason, seconds(request.for_seconds.unwrap_or(HOUR)));
    Ok(Json(say(&api, peer, request.reference, Some(with)).await?))
}

pub async fn ready(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<ReadyRequest>,
) -> Answer<Readiness> {
    Ok(Json(say(&api, peer, request.reference, None).await?))
}

async fn say(
    api: &Api,
    peer: Peer,
    reference: Option<String>,
    with: Option<(String, Span)>,
) -> Result<Readiness, CommandError> {
    let actor = actor::of(api, peer).await?;
    let (runtime, name) = whose(api, &actor, reference).await?;
    let busy = api.handle.mail_busy(runtime.clone(), with, by(&actor)).await?;
    Ok(readiness(runtime, name, busy.as_ref()))
}

/// The agent that is meant: the one that asks, or for a person the one that is named.
pub async fn whose(api: &Api, actor: &Actor, reference: Option<String>) -> Result<(RuntimeId, String), CommandError> {
    let Some(reference) = reference.or_else(|| Some(format!("runtime:{}", actor.agent.as_ref()?))) else {
        return Err(CommandError::new(ErrorCode::Usage, "it is not said which agent is meant")
            .hint("an agent means itself; from a shell name one: a name, `%3` or `runtime:ID`"));
    };
    let (runtime, name) = api.synced().await.read(move |world| recipient(world, &reference)).await??;
    if actor.agent.as_ref().is_some_and(|agent| *agent != runtime) {
        return Err(CommandError::new(ErrorCode::NotAllowed, format!("{name} is another agent"))
            .hint("an agent has a say in its own matters; a person in those of all"));
    }
    Ok((runtime, name))
}

fn readiness(runtime: RuntimeId, name: String, busy: Option<&Busy>) -> Readiness {
    let agent = MessageParty { name, id: runtime.to_string() };
    Readiness { schema_version: SCHEMA_VERSION, agent, busy: busy.map(convert::busy) }
}
