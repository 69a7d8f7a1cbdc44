//! `GET /v1/next` and `POST /v1/acks`.

use agtmux_core::command::Command;
use agtmux_core::id::RuntimeId;
use agtmux_core::queue;
use agtmux_core::runtime::Runtime;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::next::{AckItem, AckRequest, Acknowledged, Queue, QueueItem};
use axum::extract::State;

use super::answer::{Answer, Body, Json};
use super::{Api, convert};
use crate::daemon::world::World;
use crate::error::CommandError;

pub async fn list(State(api): State<Api>) -> Answer<Queue> {
    let items = api.synced().await.read(|world| {
        let waiting = queue::waiting(&world.engine);
        let item = |waits: &queue::Waiting<'_>| {
            let pane = world.pane(&waits.runtime.pane)?;
            let waiting_since = convert::time(waits.since);
            Some(QueueItem { kind: waits.kind.name().to_owned(), waiting_since, pane: convert::pane(&pane) })
        };
        waiting.iter().filter_map(item).collect()
    });
    let (schema_version, generated_at) = (SCHEMA_VERSION, jiff::Timestamp::now().to_string());
    Ok(Json(Queue { schema_version, generated_at, items: items.await? }))
}

pub async fn acknowledge(State(api): State<Api>, Body(request): Body<AckRequest>) -> Answer<Acknowledged> {
    let handle = api.synced().await;
    let meant = handle.read(move |world| meant(world, &request)).await??;
    let mut items = Vec::with_capacity(meant.len());
    for (runtime, item) in meant {
        // What was meant is what was seen: a call that comes in between is not acknowledged with it.
        handle.request(Command::Acknowledge { runtime, nudge_seq: Some(item.nudge_seq) }).await?;
        items.push(item);
    }
    Ok(Json(Acknowledged { items }))
}

fn meant(world: &World, request: &AckRequest) -> Result<Vec<(RuntimeId, AckItem)>, CommandError> {
    let item = |runtime: &Runtime| {
        let item = AckItem {
            runtime_id: runtime.id.to_string(),
            agent: runtime.agent.to_string(),
            pane_id: runtime.pane.pane.to_string(),
            nudge_seq: runtime.attention.nudge_seq,
        };
        (runtime.id.clone(), item)
    };
    match (&request.reference, request.all) {
        (None, true) => Ok(queue::waiting(&world.engine).iter().map(|waits| item(waits.runtime)).collect()),
        (Some(reference), false) => {
            let found = world.engine.resolve_ref(reference)?;
            let living = found.runtime.and_then(|id| world.engine.state().topology.live(&id).map(item));
            let no_agent = || {
                CommandError::new(ErrorCode::RefNotFound, format!("no agent runs in {reference}"))
                    .hint("`agtmux list panes` shows the agents there are")
            };
            living.map(|item| vec![item]).ok_or_else(no_agent)
        }
        _ => Err(CommandError::new(ErrorCode::Usage, "it is not said who is meant").hint("give either `ref` or `all`")),
    }
}
