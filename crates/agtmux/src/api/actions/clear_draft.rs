//! `POST /v1/actions/clear-draft`.

use agtmux_wire::clear_draft::{ClearDraftRequest, ClearedDraft};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use crate::act::clear_draft;

pub async fn act(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<ClearDraftRequest>,
) -> Answer<ClearedDraft> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    Ok(Json(clear_draft::clear_draft(&api.hands, request.aim, actor).await?))
}
