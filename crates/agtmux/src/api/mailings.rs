//! `POST /v1/mailings`: one text for several agents. Each gets a message of its own, and each is answered for.

use std::collections::BTreeSet;

use agtmux_core::action::Actor;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::MailId;
use agtmux_core::query;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::list::Filters;
use agtmux_wire::mail::{PostMessage, PostMessages, PostedMessage, PostedMessages};
use axum::extract::{ConnectInfo, State};
use futures_util::future::join_all;

use super::Api;
use super::actions::actor;
use super::answer::{Answer, Body, Json};
use super::mail::{accept, at_once, recipient};
use super::panes::filter;
use super::peer::Peer;
use crate::daemon::world::World;
use crate::error::CommandError;

/// Somebody who was meant, as they were named: an agent, or why it is none.
type Meant = (String, Result<RuntimeId, CommandError>);

pub async fn post(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Body(request): Body<PostMessages>,
) -> Answer<PostedMessages> {
    let actor = actor::of(&api, peer).await?;
    let PostMessages { message, .. } = request.clone();
    let asker = actor.clone();
    let meant = api.synced().await.read(move |world| meant(world, &request, &asker)).await??;
    if meant.is_empty() {
        return Err(CommandError::new(ErrorCode::RefNotFound, "nobody is meant by that")
            .hint("`agtmux list panes` shows the agents there are; whoever sends is not among those who get it")
            .into());
    }
    let mut accepted = Vec::new();
    for (to, found) in meant {
        let message = match found {
            Ok(runtime) => accept(&api, addressed(&message, &runtime), actor.clone(), peer).await,
            Err(error) => Err(error),
        };
        accepted.push((to, message));
    }
    // What is urgent is under way to all of them by now, and each is waited for.
    let items = join_all(accepted.into_iter().map(async |(to, message)| {
        let message = match message {
            Ok(message) => at_once(&api, message).await,
            Err(error) => Err(error),
        };
        match message {
            Ok(message) => PostedMessage { to, message: Some(message), error: None },
            Err(error) => PostedMessage { to, message: None, error: Some(error.into()) },
        }
    }));
    Ok(Json(PostedMessages { schema_version: SCHEMA_VERSION, items: items.await }))
}

/// The message for one of them. Its id is made of the one that was chosen and of who gets it, so that asking again asks for the same.
fn addressed(message: &PostMessage, to: &RuntimeId) -> PostMessage {
    let id = message.id.as_ref().map(|id| MailId::made_of(&format!("{id}-{to}")).to_string());
    PostMessage { to: format!("runtime:{to}"), id, ..message.clone() }
}

/// All that are meant, each once: those that are named as they are named, then those that the filters find, without the one that asks.
fn meant(world: &World, request: &PostMessages, asker: &Actor) -> Result<Vec<Meant>, CommandError> {
    let mut known = BTreeSet::new();
    let mut meant: Vec<Meant> = Vec::new();
    for name in &request.to {
        let found = recipient(world, name).map(|(runtime, _)| runtime);
        if found.as_ref().map_or(true, |runtime| known.insert(runtime.clone())) {
            meant.push((name.clone(), found));
        }
    }
    if request.all || request.agent.is_some() || request.state.is_some() {
        let filters = Filters { agent: request.agent.clone(), state: request.state.clone(), ..Filters::default() };
        known.extend(asker.agent.clone());
        for row in query::panes(&world.engine, &filter(&filters, world)?) {
            if let Some(runtime) = row.runtime.filter(|runtime| known.insert(runtime.id.clone())) {
                meant.push((runtime.name.unwrap_or_else(|| runtime.id.to_string()), Ok(runtime.id)));
            }
        }
    }
    Ok(meant)
}
