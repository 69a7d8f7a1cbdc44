//! `POST /v1/actions/attach`.

use agtmux_core::action::Verb;
use agtmux_wire::attach::{AttachRequest, Attached};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use super::snapshots;
use crate::act::attach::{self, Order};

pub async fn act(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<AttachRequest>,
) -> Answer<Attached> {
    let AttachRequest { aim, caller, read_only } = request;
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    let detail = match &caller {
        Some(_) => "switch a terminal",
        None if read_only => "attach a terminal that only looks",
        None => "attach a terminal",
    };
    let hands = api.hands.clone();
    let act = move |snapshot| attach::attach(hands, snapshot, Order { caller, read_only });
    let attached = api.hands.carry_out(Verb::Attach, aim, actor, detail.to_owned(), act).await?;
    Ok(Json(Attached {
        snapshot: snapshots::item(&attached.snapshot),
        session_id: attached.place.session.to_string(),
        window_id: attached.place.window.to_string(),
        client: attached.client,
        command: attached.command,
    }))
}
