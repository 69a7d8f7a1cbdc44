//! `POST /v1/actions/resume`: an agent in the conversation of one that ended.

use agtmux_wire::resume::ResumeRequest;
use agtmux_wire::spawn::Spawned;
use axum::extract::{ConnectInfo, State};
use axum::http::HeaderMap;

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use super::spawn::meant_socket;
use crate::act::resume;

pub async fn make(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Body(request): Body<ResumeRequest>,
) -> Answer<Spawned> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(resume::resume(&api.hands, request, meant_socket(&headers), actor).await?))
}
