//! Listens to agents that run a server of their own, for as long as they live.

mod codex;
mod opencode;
mod own;
mod patience;
mod sse;

use std::collections::BTreeMap;
use std::sync::Arc;

use agtmux_core::id::RuntimeId;
use tokio::task::AbortHandle;

pub(super) use self::codex::holds as codex_holds;
pub(super) use self::opencode::is_shared as opencode_is_shared;
pub(super) use self::own::own_processes;
use crate::daemon::Handle;
use crate::daemon::roster::Roster;
use crate::target::manifests::Manifests;

/// The most servers that are listened to.
const SERVERS: usize = 256;

/// Listens to agents' servers until the daemon ends.
pub async fn run(handle: Handle, manifests: Manifests) {
    tokio::join!(codex::run(handle.clone(), manifests.clone()), run_each(handle, manifests));
}

/// Listens to servers that belong to one agent each.
async fn run_each(handle: Handle, manifests: Manifests) {
    let mut roster = handle.roster();
    let mut listeners = Listeners::default();
    loop {
        let members = roster.borrow_and_update().clone();
        listeners.follow(&members, &handle, &manifests);
        if roster.changed().await.is_err() {
            return;
        }
    }
}

/// The tasks that listen, by runtime; none for a runtime without a server. Dropped, they end.
#[derive(Default)]
struct Listeners(BTreeMap<RuntimeId, Option<AbortHandle>>);

impl Listeners {
    fn follow(&mut self, members: &Arc<Roster>, handle: &Handle, manifests: &Manifests) {
        self.0.retain(|runtime, listener| {
            let stays = members.contains_key(runtime);
            if let Some(listener) = listener.as_ref().filter(|_| !stays) {
                listener.abort();
            }
            stays
        });
        for member in members.values() {
            if self.0.contains_key(&member.runtime) {
                continue;
            }
            let has_room = self.0.values().flatten().count() < SERVERS;
            let may_serve = has_room && member.agent.as_str() == opencode::AGENT;
            let listen = || tokio::spawn(opencode::listen(member.clone(), handle.clone(), manifests.clone()));
            let listener = may_serve.then(listen);
            self.0.insert(member.runtime.clone(), listener.map(|task| task.abort_handle()));
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.0.values().flatten().for_each(AbortHandle::abort);
    }
}
