//! Codex's app server, to which its panes may be clients: one listener for each server, whoever shares it.

mod clients;
mod door;
mod line;
mod listener;
mod place;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use agtmux_core::id::RuntimeId;
use tokio::sync::watch;

pub(in crate::ingest) use self::place::holds;
use crate::daemon::Handle;
use crate::daemon::roster::Member;
use crate::target::manifests::Manifests;

/// The agent that this is about.
const AGENT: &str = "codex";

/// The most servers that are listened to. A person has one, or one for each home that an agent is given.
const SERVERS: usize = 64;

/// The agents in panes that may be clients of one server.
type Members = Vec<Arc<Member>>;

/// Listens to the servers of all agents in panes until the daemon ends.
pub(super) async fn run(handle: Handle, manifests: Manifests) {
    let mut roster = handle.roster();
    let mut places: BTreeMap<RuntimeId, Option<PathBuf>> = BTreeMap::new();
    let mut listeners: BTreeMap<PathBuf, watch::Sender<Members>> = BTreeMap::new();
    loop {
        let roll = roster.borrow_and_update().clone();
        places.retain(|runtime, _| roll.contains_key(runtime));
        let mut members: BTreeMap<PathBuf, Members> = BTreeMap::new();
        for member in roll.values().filter(|member| member.agent.as_str() == AGENT) {
            if !places.contains_key(&member.runtime) {
                let place = place::find(Arc::clone(member), &manifests).await;
                places.insert(member.runtime.clone(), place);
            }
            if let Some(place) = places.get(&member.runtime).cloned().flatten() {
                members.entry(place).or_default().push(Arc::clone(member));
            }
        }
        // A listener ends when nobody tells it of members any more.
        listeners.retain(|place, _| members.contains_key(place));
        for (place, members) in members {
            follow(&mut listeners, place, members, (&handle, &manifests));
        }
        if roster.changed().await.is_err() {
            return;
        }
    }
}

fn follow(
    listeners: &mut BTreeMap<PathBuf, watch::Sender<Members>>,
    place: PathBuf,
    members: Members,
    (handle, manifests): (&Handle, &Manifests),
) {
    if let Some(listener) = listeners.get(&place) {
        listener.send_if_modified(|known| {
            let is_new = differs(known, &members);
            *known = members;
            is_new
        });
    } else if listeners.len() < SERVERS {
        let (sender, receiver) = watch::channel(members);
        tokio::spawn(listener::listen(place.clone(), receiver, handle.clone(), manifests.clone()));
        listeners.insert(place, sender);
    }
}

/// Whether others are there. In what state they are makes no difference.
fn differs(known: &Members, new: &Members) -> bool {
    let who = |members: &Members| -> BTreeSet<_> { members.iter().map(|member| member.runtime.clone()).collect() };
    who(known) != who(new)
}
