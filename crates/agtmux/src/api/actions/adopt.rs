//! `POST /v1/actions/adopt`: a name for an agent.

use agtmux_wire::adopt::{AdoptRequest, Adopted};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use crate::act::adopt;

pub async fn make(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<AdoptRequest>,
) -> Answer<Adopted> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(adopt::adopt(&api.hands, request, actor).await?))
}
