//! From how things are to what happened: compares what was seen with what is known, and gives the facts that make up
//! the difference.
//!
//! Observers report levels, so a report that was lost, or that could not be logged because the disk was full, is made
//! good by the next one. Seeing the same twice gives no fact.

use std::collections::BTreeMap;

use crate::ending::Exit;
use crate::engine::Engine;
use crate::event::{Ending, Fact, Place, ProcessState};
use crate::id::{AgentId, BootId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, TargetName};
use crate::runtime::Runtime;

/// One life of a tmux server and all its panes, as tmux says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSight {
    /// The server.
    pub server: ServerId,
    /// Where it runs.
    pub target: TargetName,
    /// Its socket.
    pub socket: String,
    /// Its process.
    pub pid: u32,
    /// When it started, in seconds since the epoch.
    pub start_time: i64,
    /// All its panes.
    pub panes: Vec<PaneSight>,
}

/// A pane, as tmux says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneSight {
    /// Its id.
    pub pane: PaneId,
    /// Where it is.
    pub place: Place,
    /// Whether it is in front of somebody.
    pub looked_at: bool,
}

/// What a look at the processes of a pane found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSight {
    /// Which pane.
    pub pane: PaneKey,
    /// The agent in it.
    pub found: Option<FoundAgent>,
    /// How the process of the agent ended that was in it before, if that is known.
    pub left: Option<(ProcessKey, Exit)>,
}

/// An agent's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAgent {
    /// Which agent.
    pub agent: AgentId,
    /// The boot the process belongs to.
    pub boot: BootId,
    /// The process.
    pub process: ProcessKey,
    /// How it is.
    pub state: ProcessState,
    /// Why it counts as this agent.
    pub why: String,
}

/// What happened, if this is how a server's panes are.
pub fn server(engine: &Engine, sight: &ServerSight) -> Vec<Fact> {
    let topology = &engine.state().topology;
    let mut facts = Vec::new();
    if !topology.servers.contains_key(&sight.server) {
        facts.push(Fact::ServerSeen {
            server: sight.server.clone(),
            target: sight.target.clone(),
            socket: sight.socket.clone(),
            pid: sight.pid,
            start_time: sight.start_time,
        });
    }
    let seen: BTreeMap<_, _> =
        sight.panes.iter().map(|pane| (PaneKey { server: sight.server.clone(), pane: pane.pane }, pane)).collect();
    let gone = topology.panes.keys().filter(|key| key.server == sight.server && !seen.contains_key(key));
    facts.extend(gone.map(|key| Fact::PaneGone { pane: key.clone() }));
    for (key, pane) in &seen {
        let known = topology.panes.get(key);
        if known.and_then(|known| known.place.as_ref()) != Some(&pane.place) {
            facts.push(Fact::PanePlaced { pane: key.clone(), place: pane.place.clone() });
        }
        let unseen = topology.living_in(key).filter(|runtime| pane.looked_at && runtime.attention.unseen);
        facts.extend(unseen.map(|runtime| Fact::Seen { runtime: runtime.id.clone() }));
    }
    facts
}

/// What happened, if nothing listens on a socket.
pub fn no_server(engine: &Engine, target: &TargetName, socket: &str) -> Vec<Fact> {
    let servers = engine.state().topology.servers.iter();
    servers
        .filter(|(_, server)| server.target == *target && server.socket == socket)
        .map(|(id, _)| Fact::ServerGone { server: id.clone() })
        .collect()
}

/// What happened, if these are the agents in some panes.
pub fn agents(engine: &Engine, sights: &[AgentSight]) -> Vec<Fact> {
    sights.iter().flat_map(|sight| agent(engine, sight)).collect()
}

fn agent(engine: &Engine, sight: &AgentSight) -> Vec<Fact> {
    let topology = &engine.state().topology;
    if !topology.panes.contains_key(&sight.pane) {
        return Vec::new();
    }
    let known = topology.living_in(&sight.pane);
    let ended = |known: &Runtime| Fact::RuntimeEnded { runtime: known.id.clone(), how: ending(known, sight) };
    let Some(found) = &sight.found else {
        return known.map(ended).into_iter().collect();
    };
    let runtime = RuntimeId::derive(&sight.pane, &found.boot, found.process, &found.agent);
    let mut facts = Vec::new();
    // That it was replaced goes without saying; that it had crashed does not.
    let crashed = known.filter(|known| known.id != runtime && ending(known, sight) == Ending::Crashed);
    facts.extend(crashed.map(ended));
    let was = match known.filter(|known| known.id == runtime) {
        Some(known) => known.process_state.0,
        None => {
            facts.push(Fact::RuntimeStarted {
                runtime: runtime.clone(),
                pane: sight.pane.clone(),
                agent: found.agent.clone(),
                boot: found.boot.clone(),
                process: found.process,
                why: found.why.clone(),
            });
            ProcessState::Alive
        }
    };
    if was != found.state {
        facts.push(Fact::ProcessChanged { runtime, process: found.state });
    }
    facts
}

/// How the agent that was in a pane ended. What is known of the end of another process says nothing.
fn ending(known: &Runtime, sight: &AgentSight) -> Ending {
    let exit = sight.left.filter(|(process, _)| *process == known.process).map(|(_, exit)| exit);
    exit.map_or(Ending::Exited, |exit| exit.ending(known.verdict.state))
}
