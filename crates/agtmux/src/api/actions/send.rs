//! `POST /v1/actions/send`.

use agtmux_wire::send::{SendRequest, Sent};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use crate::act::send;

pub async fn act(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<SendRequest>,
) -> Answer<Sent> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(send::send(&api.hands, request, actor).await?))
}
