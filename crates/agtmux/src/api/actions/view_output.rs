//! `POST /v1/actions/view-output`.

use agtmux_core::action::Verb;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::view_output::{Output, ViewOutputRequest};
use axum::extract::{ConnectInfo, State};

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use super::snapshots;
use crate::act::view_output::{self, Order};
use crate::error::CommandError;

/// How many lines are shown, unless the request says otherwise.
const LINES: u32 = 100;

/// And at most.
const MOST_LINES: u32 = 10_000;

pub async fn act(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<ViewOutputRequest>,
) -> Answer<Output> {
    let ViewOutputRequest { aim, lines, ansi, raw, continues } = request;
    let lines = lines.unwrap_or(LINES);
    if lines == 0 || lines > MOST_LINES {
        let message = format!("{lines} lines cannot be shown");
        return Err(CommandError::new(ErrorCode::Usage, message).hint("from 1 to 10,000 lines can").into());
    }
    let actor = actor::of(&api, peer).await?;
    api.synced().await;
    let hands = api.hands.clone();
    let order = Order { lines, ansi, raw };
    let viewed = match continues {
        Some(action) => view_output::view_again(hands, &action, order).await?,
        None => {
            let act = move |snapshot| view_output::view(hands, snapshot, order);
            api.hands.carry_out(Verb::ViewOutput, aim, actor, format!("the last {lines} lines"), act).await?
        }
    };
    Ok(Json(Output {
        snapshot: snapshots::item(&viewed.snapshot),
        source: viewed.source,
        lines: viewed.page.lines,
        truncated: viewed.page.truncated,
        redacted: viewed.page.redacted,
    }))
}
