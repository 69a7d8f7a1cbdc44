//! `GET /v1/explain/{ref}`.

use agtmux_core::explain::{self, SourceHealth, Status, Step};
use agtmux_core::id::PaneKey;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::explain::{ExplainSource, ExplainStep, Explanation};
use axum::extract::{Path, State};

use super::answer::{Answer, Json};
use super::mail::message;
use super::{Api, convert};
use crate::act::loaded::Session;
use crate::daemon::world::World;
use crate::error::CommandError;

pub async fn show(State(api): State<Api>, Path(reference): Path<String>) -> Answer<Explanation> {
    let explanation = api.synced().await.read(move |world| {
        let resolved = world.engine.resolve_ref(&reference)?;
        let no_agent = || {
            CommandError::new(ErrorCode::RefNotFound, format!("no agent runs in {reference}"))
                .hint("`agtmux list panes` shows the agents there are")
        };
        let runtime = resolved.runtime.ok_or_else(no_agent)?;
        let explained = explain::explain(&world.engine, &runtime).ok_or_else(no_agent)?;
        let pane = world.pane(&resolved.pane).ok_or_else(no_agent)?;
        let explanation = Explanation {
            schema_version: SCHEMA_VERSION,
            generated_at: jiff::Timestamp::now().to_string(),
            pane: convert::pane(&pane),
            identified_by: Some(explained.why),
            chain: explained.chain.iter().map(step).collect(),
            sources: explained.sources.iter().map(source).collect(),
            would_change: explained.would_change,
            limits: limits(world, &resolved.pane),
            last_message: world.engine.state().mail.given_last(&runtime).map(|entry| message(world, entry)),
        };
        let sessions = Session::of(std::iter::once(&explanation.pane), world);
        Ok::<_, CommandError>((explanation, sessions))
    });
    let (mut explanation, sessions) = explanation.await??;
    api.hands.tell_hooks(std::slice::from_mut(&mut explanation.pane), sessions).await;
    Ok(Json(explanation))
}

/// What cannot be heard of a pane.
fn limits(world: &World, pane: &PaneKey) -> Vec<String> {
    let is_taken = world.is_taken(pane);
    let taken = "another program reads this pane's output (pipe-pane); markers are read off its screen instead, and \
                 OSC sequences are not seen";
    is_taken.then(|| taken.to_owned()).into_iter().collect()
}

fn step(step: &Step) -> ExplainStep {
    let (status, note) = match &step.status {
        Status::Deciding => ("deciding", None),
        Status::Agrees => ("agrees", None),
        Status::Outranked => ("outranked", None),
        Status::Retired { by } => ("retired", Some(format!("by {by}"))),
        Status::Expired => ("expired", None),
    };
    ExplainStep {
        status: status.to_owned(),
        fact: step.fact.name().to_owned(),
        value: match &step.message {
            Some(message) => format!("{} {message:?}", step.value),
            None => step.value.clone(),
        },
        source: step.source.name().to_owned(),
        evidence: step.evidence.name().to_owned(),
        seq: step.seq,
        at: convert::time(step.at),
        expires_at: Some(convert::time(step.expires_at)),
        note,
    }
}

fn source(source: &SourceHealth) -> ExplainSource {
    ExplainSource {
        source: source.source.name().to_owned(),
        last_source_seq: source.source_seq,
        last_heard: source.heard_at.map(convert::time),
        near_misses: source.near_misses,
        last_near_miss: source.last_near_miss.clone(),
    }
}
