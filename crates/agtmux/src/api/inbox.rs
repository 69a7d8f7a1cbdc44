//! `GET /v1/inbox` and `GET /v1/whoami`. An agent sees its own messages with their texts, nobody else's.

use std::collections::BTreeMap;

use agtmux_core::mail::{Entry, MailId, Party, Stage};
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::inbox::{Inbox, InboxItem, InboxQuery, Whoami};
use agtmux_wire::mail::MessageParty;
use axum::extract::{ConnectInfo, State};

use super::actions::actor;
use super::answer::{Answer, Json, Params};
use super::busy::whose;
use super::mail::{message, party, person};
use super::peer::Peer;
use super::{Api, convert};
use crate::daemon::world::World;
use crate::error::CommandError;

/// How many of those that it was given are shown.
const GIVEN: usize = 20;

pub async fn show(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    Params(query): Params<InboxQuery>,
) -> Answer<Inbox> {
    let actor = actor::of(&api, peer).await?;
    let (runtime, name) = whose(&api, &actor, query.reference).await?;
    let id = runtime.clone();
    let (waiting, given, busy) = api
        .handle
        .read(move |world| {
            let post = &world.engine.state().mail;
            let to_it = post.letters.values().filter(|entry| entry.letter.to == id);
            let mut given: Vec<_> = to_it.filter(|entry| is_given(entry)).collect();
            given.sort_by_key(|entry| std::cmp::Reverse(entry.since));
            let all = |entries: &[&Entry]| entries.iter().map(|entry| item(world, entry)).collect::<Vec<_>>();
            given.truncate(GIVEN);
            (all(&post.undelivered(&id)), all(&given), post.busy.get(&id).map(convert::busy))
        })
        .await?;
    let mut waiting = waiting;
    let mut texts = texts(&api, waiting.iter().map(|(id, _)| id.clone()).collect()).await?;
    waiting.iter_mut().for_each(|(id, item)| item.text = texts.remove(id));
    let items = |items: Vec<(MailId, InboxItem)>| items.into_iter().map(|(_, item)| item).collect();
    Ok(Json(Inbox {
        schema_version: SCHEMA_VERSION,
        agent: MessageParty { name, id: runtime.to_string() },
        busy,
        waiting: items(waiting),
        given: items(given),
    }))
}

pub async fn whoami(State(api): State<Api>, ConnectInfo(peer): ConnectInfo<Peer>) -> Answer<Whoami> {
    let actor = actor::of(&api, peer).await?;
    let person = peer.pid.and_then(person);
    let party = api.synced().await.read(move |world| party(world, &actor, person)).await?;
    let kind = if matches!(party, Party::Agent { .. }) { "agent" } else { "person" };
    Ok(Json(Whoami {
        schema_version: SCHEMA_VERSION,
        kind: kind.to_owned(),
        party: MessageParty { name: party.name().to_owned(), id: party.id() },
    }))
}

/// Whether it may have read it.
fn is_given(entry: &Entry) -> bool {
    entry.stage == Stage::Submitted || entry.stage.ended().is_some_and(|ended| ended.verdict() != "not_delivered")
}

fn item(world: &World, entry: &Entry) -> (MailId, InboxItem) {
    (entry.letter.id.clone(), InboxItem { message: message(world, entry), text: None })
}

async fn texts(api: &Api, ids: Vec<MailId>) -> Result<BTreeMap<MailId, String>, CommandError> {
    let reader = api.handle.log().clone();
    let texts = tokio::task::spawn_blocking(move || reader.texts(Some(&ids))).await;
    texts.map_err(CommandError::internal)?.map_err(CommandError::from)
}
