//! Who wants something done, as the kernel says: a person, or an agent.
//!
//! A process is an agent's if it runs below the agent's process. One that was left behind in the background is an agent's
//! by the environment that it was started with. Whoever cleans that too is taken for a person: all of them are programs of
//! one user, and nothing but the user's care keeps them apart.

use std::ffi::OsStr;

use agtmux_core::action::{Actor, Proof};
use agtmux_core::id::{ProcessKey, RuntimeId};

use super::super::Api;
use super::super::peer::Peer;
use crate::daemon::capabilities::{CAPABILITY_VARIABLE, Capabilities, Capability, Holder, RUNTIME_VARIABLE};
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::platform;

/// How far up the environment is read: the program, the shell that ran it, and what ran that.
const GENERATIONS: usize = 4;

/// An agent that nobody knows.
const UNKNOWN: &str = "unknown";

/// The one behind a connection.
///
/// # Errors
/// Refused when the process that connected is gone; else it fails only when the daemon is ending.
pub async fn of(api: &Api, peer: Peer) -> Result<Actor, CommandError> {
    let lineage = peer.lineage()?;
    let told = lineage.iter().take(GENERATIONS).find_map(|process| told(api.handle.capabilities(), process.pid));
    let program = peer.pid.and_then(|pid| platform::process_argv(pid).into_iter().next());
    let above = api.handle.read(move |world| agent_above(world, &lineage)).await?;
    let known = above.map(|runtime| (runtime, Proof::Ancestors)).or(told);
    Ok(Actor {
        uid: peer.uid.unwrap_or(u32::MAX),
        pid: peer.pid,
        program: program.map(|path| basename(&path)),
        known_by: known.as_ref().map(|(_, proof)| *proof),
        agent: known.map(|(runtime, _)| runtime),
    })
}

/// The agent below which a process runs.
fn agent_above(world: &World, lineage: &[ProcessKey]) -> Option<RuntimeId> {
    let runtimes = &world.engine.state().topology.runtimes;
    let is_its =
        |process: &ProcessKey| runtimes.values().find(|runtime| runtime.is_live() && runtime.process == *process);
    lineage.iter().find_map(is_its).map(|runtime| runtime.id.clone())
}

/// The agent that a process is of by its environment. A capability that nobody knows, given out before the daemon was
/// started anew for instance, still says that an agent was given one.
fn told(capabilities: &Capabilities, pid: u32) -> Option<(RuntimeId, Proof)> {
    let environment = platform::process_environment(pid);
    let variable = |name: &str| environment.get(OsStr::new(name))?.to_str().filter(|text| !text.is_empty());
    let capability = variable(CAPABILITY_VARIABLE);
    let holder = capability.and_then(Capability::parse).map(|given| capabilities.holder(&given));
    if let Some(Holder::Runtime(runtime)) = holder {
        return Some((runtime, Proof::Capability));
    }
    let said = variable(RUNTIME_VARIABLE).or(capability.map(|_| UNKNOWN))?;
    Some((claimed(said), Proof::Environment))
}

/// Whom a process says it is of. Agents read this name, so that nothing but a name can stand in it.
fn claimed(said: &str) -> RuntimeId {
    let is_name = said.len() <= 64 && said.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    RuntimeId::new(if is_name { said } else { UNKNOWN }.to_owned())
}

fn basename(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).chars().take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_says_of_itself_is_a_name_and_nothing_else() {
        assert_eq!(claimed("rt_4f1cplx2").as_str(), "rt_4f1cplx2");
        for forged in ["boss (uid 0) via sm send id=x.y]", "rt_1\nrt_2", &"a".repeat(65)] {
            assert_eq!(claimed(forged).as_str(), UNKNOWN, "{forged:?}");
        }
    }
}
