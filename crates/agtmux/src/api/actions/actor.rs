//! Who wants something done, as the kernel says: a person, or an agent that runs below one of the panes.

use agtmux_core::action::Actor;
use agtmux_core::id::{ProcessKey, RuntimeId};

use super::super::Api;
use super::super::peer::Peer;
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::platform;

/// The one behind a connection.
///
/// # Errors
/// Fails only when the daemon is ending.
pub async fn of(api: &Api, peer: Peer) -> Result<Actor, CommandError> {
    let lineage = peer.pid.map(platform::ancestors).unwrap_or_default();
    let lineage: Vec<_> = lineage.into_iter().map(|(pid, start)| ProcessKey { pid, start }).collect();
    let agent = api.handle.read(move |world| agent_above(world, &lineage)).await?;
    let program = peer.pid.and_then(|pid| platform::process_argv(pid).into_iter().next());
    Ok(Actor { uid: peer.uid.unwrap_or(u32::MAX), pid: peer.pid, program: program.map(|path| basename(&path)), agent })
}

/// The agent below which a process runs.
fn agent_above(world: &World, lineage: &[ProcessKey]) -> Option<RuntimeId> {
    let runtimes = &world.engine.state().topology.runtimes;
    let is_its =
        |process: &ProcessKey| runtimes.values().find(|runtime| runtime.is_live() && runtime.process == *process);
    lineage.iter().find_map(is_its).map(|runtime| runtime.id.clone())
}

fn basename(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).chars().take(64).collect()
}
