//! `POST /v1/actions/kill`.

use std::time::Duration;

use agtmux_core::action::Verb;
use agtmux_core::state::State as AgentState;
use agtmux_wire::kill::{KillRequest, Killed};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use super::snapshots;
use crate::act::kill::{self, Order};

/// How long what comes of a signal is waited for, unless the request says otherwise.
const WAIT: Duration = Duration::from_secs(5);

/// And at most.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

pub async fn act(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<KillRequest>,
) -> Answer<Killed> {
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    let KillRequest { aim, signal, close_pane, wait_ms } = request;
    let wait = wait_ms.map_or(WAIT, Duration::from_millis).min(LONGEST_WAIT);
    let detail = format!("signal {}{}", signal.name(), if close_pane { ", then close the pane" } else { "" });
    let hands = api.hands.clone();
    let order = Order { signal, close_pane, wait };
    let act = move |snapshot| kill::kill(hands, snapshot, order);
    let killed = api.hands.carry_out(Verb::Kill, aim, actor, detail, act).await?;
    let before = killed.snapshot.runtime.as_ref().map(|aimed| aimed.state);
    Ok(Json(Killed {
        snapshot: snapshots::item(&killed.snapshot),
        signal,
        reached: killed.reached,
        outcome: killed.fate.outcome,
        ending: killed.fate.ending.map(str::to_owned),
        state_before: before.map(name),
        state_after: killed.fate.state.map(name),
        took_ms: u64::try_from(killed.took.as_millis()).unwrap_or(u64::MAX),
        pane: killed.pane,
    }))
}

fn name(state: AgentState) -> String {
    state.name().to_owned()
}
