//! Which panes hold an agent, kept up to date from the process table.
//!
//! Reading process trees is dear, so they are read only on suspicion. Suspicion costs one small read per pane that is not
//! silent and sweep: the foreground group, name, state and start time of the pane's first process (or of its agent) change
//! whenever a program is started, ends, is suspended or becomes another. Exits are told by the kernel at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use agtmux_agents::Look;
use agtmux_core::ending::Exit;
use agtmux_core::event::ProcessState;
use agtmux_core::id::{AgentId, BootId, PaneId, PaneKey, ProcessKey, ServerId};
use agtmux_core::reconcile::{AgentSight, FoundAgent};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::ear::Speaker;
use super::manifests::Manifests;
use super::parting::{Parting, Wrapper};
use crate::platform::{self, Stat};

/// How often panes are swept. With the time a look takes this keeps a suspended or started agent from going unseen
/// for two seconds.
pub const SWEEP_EVERY: Duration = Duration::from_millis(1_000);

/// Up to so many panes are looked at one by one; for more, the table of all processes is read once.
const FEW: usize = 16;

/// How often a pane that launches something is looked at again before the sweeps have to do.
const LAUNCH_LOOKS: u32 = 10;

/// The kernel's name of the wrapper. What it runs has another terminal, so that the pane's shows no trace of it.
const SHIM: &str = "agtmux-shim";

/// The agents of one server.
pub struct AgentWatch {
    manifests: Manifests,
    boot: BootId,
    server: ServerId,
    /// Where wrappers have their sockets and leave their notes.
    shims: PathBuf,
    panes: BTreeMap<PaneId, Pane>,
    exits: (mpsc::UnboundedSender<Parting>, mpsc::UnboundedReceiver<Parting>),
    /// Whether a pane was found without its first process.
    lost_one: bool,
}

struct Pane {
    pid: u32,
    trace: Option<Trace>,
    agent: Option<Agent>,
    /// How often in a row it was seen to be launching something.
    launching: u32,
    /// Whether its first process was seen to be gone.
    is_gone: bool,
}

impl Pane {
    fn speaker(&self) -> Option<Speaker> {
        self.agent.as_ref().map(|agent| Speaker { agent: agent.agent.clone(), process: agent.process })
    }
}

/// What of a process betrays that something else runs in its pane.
#[derive(PartialEq, Eq)]
struct Trace {
    foreground: i32,
    state: bool,
    name: String,
    start: u64,
}

struct Agent {
    agent: AgentId,
    process: ProcessKey,
    is_wrapped: bool,
    /// How its process ended, or that nobody could tell, once that is so.
    left: Option<Option<Exit>>,
    exit: AbortHandle,
}

impl Agent {
    fn has_ended(&self) -> bool {
        !platform::is_running(self.process.pid, self.process.start)
    }

    /// Whether its process has ended, and how may be known at any moment.
    fn is_parting(&self) -> bool {
        self.is_wrapped && self.left.is_none() && self.has_ended()
    }

    /// Whether its process is about to have ended: it has lost its arguments, and with them all likeness to an agent.
    fn is_going(&self) -> bool {
        self.is_wrapped && self.left.is_none() && platform::process_argv(self.process.pid).is_empty()
    }

    fn left(&self) -> Option<(ProcessKey, Exit)> {
        self.left.flatten().map(|exit| (self.process, exit))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.exit.abort();
    }
}

impl AgentWatch {
    /// Watches the panes of a server for the agents that manifests describe.
    pub fn new(manifests: Manifests, boot: BootId, server: ServerId, shims: PathBuf) -> Self {
        let (panes, exits) = (BTreeMap::new(), mpsc::unbounded_channel());
        Self { manifests, boot, server, shims, panes, exits, lost_one: false }
    }

    /// Takes over which panes there are, with their first processes. Gives those that are new or changed hands.
    pub fn panes(&mut self, panes: impl IntoIterator<Item = (PaneId, u32)>) -> Vec<PaneId> {
        let mut known = std::mem::take(&mut self.panes);
        let mut new = Vec::new();
        for (id, pid) in panes {
            let pane = known.remove(&id).filter(|pane| pane.pid == pid).unwrap_or_else(|| {
                new.push(id);
                Pane { pid, trace: None, agent: None, launching: 0, is_gone: false }
            });
            self.panes.insert(id, pane);
        }
        new
    }

    /// The panes in which something else seems to run than before. Those that were silent are passed over: whatever
    /// suspends, ends or replaces an agent by hand is echoed by a shell, and exits are told by the kernel anyway.
    pub fn sweep(&mut self, silent: &BTreeSet<PaneId>) -> Vec<PaneId> {
        let mut suspects = Vec::new();
        for (id, pane) in self.panes.iter_mut().filter(|(id, _)| !silent.contains(*id)) {
            let trace = trace(pane);
            // What a launch ends in has the same group in the foreground as the launch.
            let is_wrapped = pane.agent.is_none() && trace.as_ref().is_some_and(|trace| trace.name == SHIM);
            if trace != pane.trace || pane.launching > 0 || is_wrapped {
                pane.trace = trace;
                suspects.push(*id);
            }
        }
        suspects
    }

    /// The panes without an agent in which a program has the keyboard. What it starts in turn leaves no trace.
    pub fn occupied(&self) -> Vec<PaneId> {
        let is_occupied = |pane: &Pane| {
            let foreground = pane.trace.as_ref().map(|trace| trace.foreground);
            pane.agent.is_none() && foreground.is_some_and(|group| i64::from(group) != i64::from(pane.pid))
        };
        self.panes.iter().filter(|(_, pane)| is_occupied(pane)).map(|(id, _)| *id).collect()
    }

    /// Looks for agents in these panes.
    pub fn look_at(&mut self, panes: &[PaneId]) -> Vec<AgentSight> {
        if panes.is_empty() {
            return Vec::new();
        }
        let registry = self.manifests.now();
        let table = (panes.len() > FEW).then(platform::process_tree_snapshot);
        let mut sights = Vec::with_capacity(panes.len());
        for id in &BTreeSet::from_iter(panes) {
            let Some(pane) = self.panes.get_mut(*id) else {
                continue;
            };
            // Read before the look: what becomes of the process meanwhile is another trace at the next sweep.
            let before = trace(pane);
            let mut processes = match &table {
                Some(table) => table.under(pane.pid),
                None => platform::processes_under(pane.pid),
            };
            // `respawn-pane` puts another in its place, and no hook tells. Said once: a program in the background can keep a
            // pane without a first process for as long as it likes.
            if processes.is_empty() && !pane.is_gone {
                pane.is_gone = true;
                self.lost_one = true;
            }
            // A daemon that runs in a pane may ask an agent about a screen. That one is nobody's agent.
            processes.retain(|process| process.ppid != std::process::id());
            let look = agtmux_agents::identify(&registry, &processes, pane.pid);
            let launching = if look == Look::Launching { pane.launching + 1 } else { 0 };
            let found = look.agent();
            let speaker = found.as_ref().map(|found| Speaker {
                agent: AgentId::new(found.agent.clone()),
                process: ProcessKey { pid: found.pid, start: found.start },
            });
            let is_another = pane.speaker() != speaker;
            // Whoever is gone is not reported before it is known how it went; then the pane is looked at again.
            let is_gone = |agent: &Agent| agent.is_parting() || agent.is_going();
            if is_another && pane.agent.as_ref().is_some_and(is_gone) {
                continue;
            }
            pane.launching = launching;
            let left = pane.agent.as_ref().filter(|_| is_another).and_then(Agent::left);
            if is_another {
                pane.agent = speaker.map(|speaker| {
                    let wrapper = Wrapper::around(&self.shims, &processes, speaker.process.pid);
                    watch_exit(**id, speaker, wrapper, self.exits.0.clone())
                });
            }
            pane.trace = match (is_another, &pane.agent) {
                (false, _) => before,
                (true, Some(_)) => trace(pane),
                (true, None) => None,
            };
            sights.push(AgentSight {
                pane: PaneKey { server: self.server.clone(), pane: **id },
                found: found.map(|found| FoundAgent {
                    agent: AgentId::new(found.agent),
                    boot: self.boot.clone(),
                    process: ProcessKey { pid: found.pid, start: found.start },
                    state: if is_stopped(found.state) { ProcessState::Stopped } else { ProcessState::Alive },
                    why: found.rule,
                }),
                left,
            });
        }
        sights
    }

    /// Whether a pane has lost its first process since this was asked last, so that tmux knows of another or of none.
    pub fn take_lost(&mut self) -> bool {
        std::mem::take(&mut self.lost_one)
    }

    /// The panes in which an agent is about to appear. A launch that takes too long is left to the sweeps.
    pub fn launching(&self) -> Vec<PaneId> {
        let launching = self.panes.iter().filter(|(_, pane)| (1..LAUNCH_LOOKS).contains(&pane.launching));
        launching.map(|(id, _)| *id).collect()
    }

    /// Waits for the exit of an agent and gives its pane. Safe to cancel.
    pub async fn exited(&mut self) -> PaneId {
        let Some(Parting { pane: id, process, exit }) = self.exits.1.recv().await else {
            return std::future::pending().await;
        };
        let agent = self.panes.get_mut(&id).and_then(|pane| pane.agent.as_mut());
        if let Some(agent) = agent.filter(|agent| agent.process == process) {
            agent.left = Some(exit);
        }
        id
    }

    /// The panes whose agents have ended, of those panes that do not live on. Waits until it is known how they ended, which takes
    /// no time if the wrapper is gone too.
    pub async fn ended_beside(&mut self, alive: &BTreeSet<PaneId>) -> Vec<PaneId> {
        let agents = |watch: &Self, suits: fn(&Agent) -> bool| -> Vec<PaneId> {
            let lost = watch.panes.iter().filter(|(id, _)| !alive.contains(id));
            lost.filter(|(_, pane)| pane.agent.as_ref().is_some_and(suits)).map(|(id, _)| *id).collect()
        };
        let mut told = Vec::new();
        while !agents(self, Agent::is_parting).is_empty() {
            told.push(self.exited().await);
        }
        told.extend(agents(self, Agent::has_ended));
        told
    }

    /// The agents and their panes.
    pub fn speakers(&self) -> BTreeMap<PaneId, Speaker> {
        self.panes.iter().filter_map(|(id, pane)| Some((*id, pane.speaker()?))).collect()
    }

    /// How many panes hold an agent.
    pub fn count(&self) -> usize {
        self.panes.values().filter(|pane| pane.agent.is_some()).count()
    }

    /// Whether a pane holds an agent.
    pub fn holds_agent(&self, pane: PaneId) -> bool {
        self.panes.get(&pane).is_some_and(|pane| pane.agent.is_some())
    }
}

fn watch_exit(
    pane: PaneId,
    Speaker { agent, process }: Speaker,
    wrapper: Option<Wrapper>,
    exits: mpsc::UnboundedSender<Parting>,
) -> Agent {
    let is_wrapped = wrapper.is_some();
    let task = tokio::spawn(async move {
        platform::wait_exit(process.pid, process.start).await;
        let exit = match wrapper {
            Some(wrapper) => wrapper.farewell().await,
            None => None,
        };
        exits.send(Parting { pane, process, exit }).ok();
    });
    Agent { agent, process, is_wrapped, left: None, exit: task.abort_handle() }
}

/// The agent's process betrays suspension and replacement, the pane's first process the start of an agent.
fn trace(pane: &Pane) -> Option<Trace> {
    let pid = pane.agent.as_ref().map_or(pane.pid, |agent| agent.process.pid);
    platform::process_stat(pid).map(|Stat { tpgid, state, comm, start, .. }| Trace {
        foreground: tpgid,
        state: is_stopped(state),
        name: comm,
        start,
    })
}

/// `T` is job control, `t` a debugger; either way it does not run.
fn is_stopped(state: char) -> bool {
    matches!(state, 'T' | 't')
}
