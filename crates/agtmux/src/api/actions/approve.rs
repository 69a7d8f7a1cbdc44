//! `POST /v1/actions/approve` and `/v1/actions/deny`.

use agtmux_agents::answer::Decision;
use agtmux_wire::approve::{Answered, ApproveRequest, DenyRequest};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;

pub async fn approve(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<ApproveRequest>,
) -> Answer<Answered> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(api.hands.answer(Decision::Allow, request.aim, actor).await?))
}

pub async fn deny(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<DenyRequest>,
) -> Answer<Answered> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(api.hands.answer(Decision::Deny { reason: request.reason }, request.aim, actor).await?))
}
