//! `GET /v1/events`, `POST /v1/events` and `POST /v1/events/batch`.

use agtmux_core::engine::Disposition;
use agtmux_core::event::Event;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::Transition;
use agtmux_core::signal::SignalEvent;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::event::{
    BindStatus, EventItem, EventList, PostEvent, PostEvents, PostOutcome, PostedEvent, PostedEvents,
};
use axum::extract::{ConnectInfo, State};
use schemars::JsonSchema;
use serde::Deserialize;

use super::answer::{Answer, Body, Json, Params};
use super::peer::Peer;
use super::{Api, convert};
use crate::daemon::ingest::{self, Sender};
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::store::{EventFilter, StoreError};

/// How many events one answer or batch holds at most.
const MOST: u32 = 1_000;

/// Query parameters of `GET /v1/events`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct EventsQuery {
    /// Only events after this place in the log; without it, the newest.
    after: Option<u64>,
    /// At most so many; 100 unless given, 1,000 at most.
    limit: Option<u32>,
    /// Only events of this runtime; a reference.
    runtime: Option<String>,
    /// Whether all ticks are shown, by which time passes. With `false`, only those by which a message took a step.
    ticks: Option<bool>,
}

pub async fn list(State(api): State<Api>, Params(query): Params<EventsQuery>) -> Answer<EventList> {
    let limit = query.limit.unwrap_or(100).clamp(1, MOST) as usize;
    let runtime = match query.runtime {
        Some(reference) => Some(runtime_of(&api, reference).await?),
        None => None,
    };
    let after = query.after;
    let ticks = if query.ticks == Some(false) {
        let steps = api.handle.read(move |world| world.engine.state().mail.steps_after(after.unwrap_or(0))).await?;
        Some(steps.iter().map(|step| step.step.seq).collect())
    } else {
        None
    };
    let filter = EventFilter { runtime, ticks, ..EventFilter::default() };
    let log = api.handle.log().clone();
    let reading = tokio::task::spawn_blocking(move || {
        let events = match after {
            Some(after) => log.events_after(after, limit + 1, &filter)?,
            None => log.newest_events(limit, &filter)?,
        };
        let seqs = (events.first().map_or(0, |event| event.seq), events.last().map_or(0, |event| event.seq));
        let runtimes = log.bound_runtimes(seqs.0, seqs.1)?;
        Ok::<_, StoreError>((events, runtimes))
    });
    let (mut events, runtimes) = reading.await.map_err(CommandError::internal)?.map_err(CommandError::from)?;
    let truncated = after.is_some() && events.len() > limit;
    events.truncate(limit);
    let before = events.first().map_or(u64::MAX, |event| event.seq.saturating_sub(1));
    let steps = api.handle.read(move |world| world.engine.state().mail.steps_after(before)).await?;
    Ok(Json(EventList {
        schema_version: SCHEMA_VERSION,
        generated_at: jiff::Timestamp::now().to_string(),
        next_after: events.last().map_or_else(|| after.unwrap_or(0), |event| event.seq),
        items: events.iter().map(|event| item(event, runtimes.get(&event.seq), &steps)).collect(),
        truncated,
    }))
}

/// The runtime that a reference means, also one that is over.
async fn runtime_of(api: &Api, reference: String) -> Result<RuntimeId, CommandError> {
    api.handle
        .read(move |world| {
            if let Some(ended) = ended_runtime(world, &reference) {
                return Ok(ended);
            }
            let resolved = world.engine.resolve_ref(&reference)?;
            resolved.runtime.ok_or_else(|| {
                CommandError::new(ErrorCode::RefNotFound, format!("no agent runs in {reference}"))
                    .hint("`agtmux list panes` shows the agents there are")
            })
        })
        .await?
}

/// The one runtime that is over whose id a reference gives, whole or in part.
fn ended_runtime(world: &World, reference: &str) -> Option<RuntimeId> {
    let prefix = reference.strip_prefix("runtime:").or_else(|| reference.starts_with("rt_").then_some(reference))?;
    let runtimes = world.engine.state().topology.runtimes.values();
    let mut matching = runtimes.filter(|runtime| runtime.id.as_str().starts_with(prefix));
    let found = matching.next().filter(|runtime| !runtime.is_live())?;
    matching.next().is_none().then(|| found.id.clone())
}

fn item(event: &Event, bound: Option<&RuntimeId>, steps: &[Transition]) -> EventItem {
    let fact = serde_json::to_value(&event.fact).unwrap_or_default();
    EventItem {
        seq: event.seq,
        at: convert::time(event.at),
        kind: fact["type"].as_str().unwrap_or_default().to_owned(),
        runtime_id: bound.or_else(|| event.fact.runtime()).map(ToString::to_string),
        text: convert::fact_text(&event.fact),
        messages: steps.iter().filter(|step| step.step.seq == event.seq).map(convert::message_event).collect(),
        fact,
    }
}

pub async fn post(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(post): Body<PostEvent>,
) -> Answer<PostedEvent> {
    let sender = sender(peer)?;
    let handle = api.handle.clone();
    let made = move |world: &World| ingest::signal_event(post, &sender, handle.capabilities(), world);
    let event = api.synced().await.read(made).await??;
    Ok(Json(take_in(&api, event).await?))
}

/// Signals of one request go to the main loop together, which logs them in one transaction.
pub async fn post_batch(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(posts): Body<PostEvents>,
) -> Answer<PostedEvents> {
    if posts.events.len() > MOST as usize {
        let message = format!("{} events are more than {MOST}", posts.events.len());
        return Err(CommandError::new(ErrorCode::TooLarge, message).hint("send them in several requests").into());
    }
    let sender = sender(peer)?;
    let handle = api.handle.clone();
    let made = api.synced().await.read(move |world| {
        let events = posts.events.into_iter();
        events.map(|post| ingest::signal_event(post, &sender, handle.capabilities(), world)).collect::<Vec<_>>()
    });
    let taken = made.await?.into_iter().map(|event| async {
        match event {
            Ok(event) => take_in(&api, event).await,
            Err(error) => Err(error),
        }
    });
    let items = futures_util::future::join_all(taken).await.into_iter().map(|outcome| match outcome {
        Ok(posted) => PostOutcome { posted: Some(posted), error: None },
        Err(error) => PostOutcome { posted: None, error: Some(error.into()) },
    });
    Ok(Json(PostedEvents { items: items.collect() }))
}

/// Who sent a signal, read while it waits for its answer. One that did not wait could be an agent, which speaks for itself alone.
fn sender(peer: Peer) -> Result<Sender, CommandError> {
    Ok(Sender { lineage: peer.lineage()? })
}

async fn take_in(api: &Api, event: SignalEvent) -> Result<PostedEvent, CommandError> {
    let event_id = event.event_id.to_string();
    let posted = api.handle.post(event).await?;
    let (status, runtime, detail) = match posted.disposition {
        Disposition::Bound { runtime } => (BindStatus::Bound, Some(runtime), "applied".to_owned()),
        Disposition::Duplicate { runtime } => {
            (BindStatus::Duplicate, Some(runtime), "seen before; nothing changed".to_owned())
        }
        Disposition::OutOfOrder { runtime } => {
            (BindStatus::OutOfOrder, Some(runtime), "older than what is known; nothing changed".to_owned())
        }
        Disposition::Pending => (
            BindStatus::PendingBind,
            None,
            "no agent is known here yet; kept for a while in case one is found".to_owned(),
        ),
        Disposition::RuntimeEnded { runtime } => {
            return Err(CommandError::new(ErrorCode::RuntimeStale, format!("runtime {runtime} is over"))
                .hint("`agtmux list panes` shows the runtimes there are"));
        }
        Disposition::Unbound { why } => (BindStatus::DroppedUnbound, None, why),
    };
    Ok(PostedEvent {
        event_id,
        seq: posted.seq,
        status,
        runtime_id: runtime.map(|runtime| runtime.to_string()),
        state: posted.state.map(|state| state.name().to_owned()),
        detail,
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_signal_of_who_is_gone_is_nobodys() {
        let mut child = Command::new("sleep").arg("600").spawn().unwrap();
        let peer = Peer { uid: Some(0), pid: Some(child.id()), since: Instant::now() };
        assert_eq!(sender(peer).unwrap().lineage[0].pid, child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(sender(peer).unwrap_err().code, ErrorCode::NotAllowed);
    }
}
