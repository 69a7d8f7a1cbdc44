//! Where everything is: targets, their tmux servers, the servers' panes, and the runtimes in them.
//!
//! Owns the life of a runtime: at most one lives in a pane, an ended one never moves again, and only the newest
//! [`Topology::REMEMBERED`] ended ones are remembered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::entries;
use crate::event::{Ending, Health, Place, TargetKind};
use crate::id::{PaneKey, RuntimeId, ServerId, TargetName};
use crate::runtime::{Left, Runtime};
use crate::time::{Stamp, Timestamp};

/// A place where commands run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// How it is reached.
    pub kind: TargetKind,
    /// Where.
    pub connection: Option<String>,
    /// How it is, and since when.
    pub health: (Health, Timestamp),
    /// What is wrong.
    pub detail: Option<String>,
}

/// One life of one tmux server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Where it runs.
    pub target: TargetName,
    /// Its socket.
    pub socket: String,
    /// Its process id.
    pub pid: u32,
    /// When it started, in seconds since the epoch.
    pub start_time: i64,
}

/// A pane.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pane {
    /// Where it sits, once tmux has said so.
    pub place: Option<Place>,
    /// How many runtimes it has had.
    pub epoch: u32,
    /// The runtime that lives in it.
    pub runtime: Option<RuntimeId>,
    /// The last stamp heard of the runtime before. What was said no later than that was not said by its successor.
    pub fence: Option<Stamp>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Targets by name.
    #[serde(with = "entries")]
    pub targets: BTreeMap<TargetName, Target>,
    /// Servers by id.
    #[serde(with = "entries")]
    pub servers: BTreeMap<ServerId, Server>,
    /// Panes by key.
    #[serde(with = "entries")]
    pub panes: BTreeMap<PaneKey, Pane>,
    /// Runtimes by id: those that live and those remembered.
    #[serde(with = "entries")]
    pub runtimes: BTreeMap<RuntimeId, Runtime>,
    /// Ended runtimes, the one that ended first in front.
    ended: VecDeque<RuntimeId>,
}

impl Default for Topology {
    /// This host and nothing on it.
    fn default() -> Self {
        let local = Target {
            kind: TargetKind::Local,
            connection: None,
            health: (Health::Ok, Timestamp::default()),
            detail: None,
        };
        Self {
            targets: BTreeMap::from([(TargetName::local(), local)]),
            servers: BTreeMap::new(),
            panes: BTreeMap::new(),
            runtimes: BTreeMap::new(),
            ended: VecDeque::new(),
        }
    }
}

impl Topology {
    /// How many ended runtimes are remembered.
    pub const REMEMBERED: usize = 1_000;

    /// The target a pane's server runs on.
    pub fn target_of(&self, pane: &PaneKey) -> Option<&TargetName> {
        self.servers.get(&pane.server).map(|server| &server.target)
    }

    /// The health of a target, and since when. A target that is not known is down.
    pub fn health(&self, target: &TargetName) -> (Health, Timestamp) {
        self.targets.get(target).map_or((Health::Down, Timestamp::default()), |target| target.health)
    }

    /// A runtime, if it lives.
    pub fn live(&self, id: &RuntimeId) -> Option<&Runtime> {
        self.runtimes.get(id).filter(|runtime| runtime.is_live())
    }

    /// The runtime that lives in a pane.
    pub fn living_in(&self, pane: &PaneKey) -> Option<&Runtime> {
        self.panes.get(pane).and_then(|pane| pane.runtime.as_ref()).and_then(|id| self.runtimes.get(id))
    }

    /// All runtimes that live on a target.
    pub fn living_on<'a>(&'a self, target: &'a TargetName) -> impl Iterator<Item = &'a Runtime> {
        self.runtimes.values().filter(move |runtime| runtime.is_live() && runtime.target == *target)
    }

    /// Panes of all servers that satisfy a condition.
    pub(crate) fn panes_of_servers(&self, suits: impl Fn(&ServerId, &Server) -> bool) -> BTreeSet<PaneKey> {
        let servers: BTreeSet<_> =
            self.servers.iter().filter(|(id, server)| suits(id, server)).map(|(id, _)| id).collect();
        self.panes.keys().filter(|pane| servers.contains(&pane.server)).cloned().collect()
    }

    /// Puts a runtime into its pane, which must be empty, and counts it.
    ///
    /// A runtime that had ended may be found again, when its target was removed and came back for instance. It is the
    /// same life of the same process, so it keeps what is known of it.
    pub(crate) fn start(&mut self, mut runtime: Runtime) {
        let pane = self.panes.entry(runtime.pane.clone()).or_default();
        match self.runtimes.remove(&runtime.id) {
            Some(known) => {
                self.ended.retain(|id| *id != known.id);
                if known.epoch != pane.epoch {
                    pane.epoch += 1;
                }
                runtime = Runtime { epoch: pane.epoch, ended: None, left: None, ..known };
            }
            None => {
                pane.epoch += 1;
                runtime.epoch = pane.epoch;
            }
        }
        pane.runtime = Some(runtime.id.clone());
        self.runtimes.insert(runtime.id.clone(), runtime);
    }

    /// Ends a runtime and empties its pane. Gives the pane, or none if it had ended already.
    pub(crate) fn end(&mut self, id: &RuntimeId, how: Ending, at: Timestamp) -> Option<PaneKey> {
        let runtime = self.runtimes.get_mut(id).filter(|runtime| runtime.is_live())?;
        runtime.end(how, at);
        let key = runtime.pane.clone();
        let place = self.panes.get(&key).and_then(|pane| pane.place.as_ref());
        runtime.left = place
            .zip(self.servers.get(&key.server))
            .map(|(place, server)| Left { socket: server.socket.clone(), session_name: place.session_name.clone() });
        if let Some(pane) = self.panes.get_mut(&key) {
            pane.runtime = None;
            pane.fence = Some(Stamp { boot: runtime.boot.clone(), ns: runtime.clock.latest() });
        }
        self.ended.push_back(id.clone());
        if self.ended.len() > Self::REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.runtimes.remove(&oldest);
        }
        Some(key)
    }
}
