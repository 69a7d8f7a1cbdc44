//! The clients of a server, by the kernel's account of who holds the other end of each connection.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agtmux_agents::Registry;
use agtmux_agents::translate::Connected;
use agtmux_core::id::RuntimeId;

use super::{AGENT, Members};
use crate::daemon::Handle;
use crate::ingest::servers::own::own_sockets;
use crate::platform;
use crate::target::manifests::Manifests;

/// What it takes to look at the clients of one server at any time.
#[derive(Clone)]
pub(super) struct Clients {
    /// The path that the server is bound to.
    pub(super) bound: PathBuf,
    pub(super) handle: Handle,
    pub(super) manifests: Manifests,
}

impl Clients {
    /// Who is connected, but for this daemon. `None` where the kernel does not tell.
    pub(super) async fn connected(&self, members: &Members) -> Option<Connected> {
        let (registry, members, bound) = (self.manifests.now(), members.clone(), self.bound.clone());
        let looked = tokio::task::spawn_blocking(move || connected(&registry, &members, &bound));
        looked.await.unwrap_or_default()
    }

    /// Whether this agent is the only client right now.
    pub(super) fn is_sole(&self, runtime: &RuntimeId) -> bool {
        let roster = self.handle.roster().borrow().clone();
        let members = roster.values().filter(|member| member.agent.as_str() == AGENT).cloned().collect();
        let connected = connected(&self.manifests.now(), &members, &self.bound);
        connected.is_some_and(|connected| connected.sole().is_some_and(|(client, _)| client == runtime))
    }
}

fn connected(registry: &Registry, members: &Members, bound: &Path) -> Option<Connected> {
    let ends = platform::unix_clients(bound)?;
    let mut others: BTreeSet<u64> = ends.into_iter().collect();
    for own in platform::sockets_of(std::process::id()) {
        others.remove(&own);
    }
    let mut clients = BTreeMap::new();
    for member in members {
        let own = own_sockets(registry, member);
        if others.iter().any(|end| own.contains(end)) {
            clients.insert(member.runtime.clone(), platform::started_at_unix_ms(member.process.start));
        }
        others.retain(|end| !own.contains(end));
    }
    Some(Connected { clients, strangers: others.len() })
}
