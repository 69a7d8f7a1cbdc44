//! `POST /v1/snapshots`: what an action would be done to, before it is done.

use agtmux_core::action::{self, Verb};
use agtmux_wire::action::{Snapshot, SnapshotRequest};
use agtmux_wire::error::ErrorCode;
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::convert::{prompt as prompt_item, time};
use super::super::peer::Peer;
use super::actor;
use crate::error::CommandError;

pub async fn make(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<SnapshotRequest>,
) -> Answer<Snapshot> {
    let verb =
        Verb::from_name(&request.verb).filter(|verb| !matches!(verb, Verb::Spawn | Verb::Adopt)).ok_or_else(|| {
            CommandError::new(ErrorCode::Usage, format!("{:?} is no action on an agent", request.verb))
                .hint("attach, send, view-output, kill, approve or deny")
        })?;
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    let snapshot = api.hands.prepare(verb, request.aim, actor).await?;
    Ok(Json(item(&snapshot)))
}

/// A snapshot for the wire.
pub fn item(snapshot: &action::Snapshot) -> Snapshot {
    let aimed = snapshot.runtime.as_ref();
    let prompt = aimed.and_then(|aimed| aimed.prompt.as_ref());
    Snapshot {
        snapshot_id: snapshot.action.to_string(),
        verb: snapshot.verb.name().to_owned(),
        target: snapshot.target.to_string(),
        tmux_socket: snapshot.socket.clone(),
        pane_id: snapshot.pane.pane.to_string(),
        runtime_id: aimed.map(|aimed| aimed.runtime.to_string()),
        agent: aimed.map(|aimed| aimed.agent.to_string()),
        pid: aimed.map(|aimed| aimed.process.pid),
        state: aimed.map(|aimed| aimed.state.name().to_owned()),
        state_version: aimed.map(|aimed| aimed.state_version),
        prompt: prompt.map(prompt_item),
        observed_at: time(snapshot.observed_at),
        expires_at: time(snapshot.expires_at),
    }
}
