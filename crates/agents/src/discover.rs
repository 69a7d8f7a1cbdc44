//! Which agent a pane holds, by the process tree below it.
//!
//! The tree is the only witness. A pane's title outlives the program that set it, and a working directory
//! says where a shell is and not what runs in it.

use std::collections::{BTreeMap, BTreeSet};

use crate::matching::{Verdict, judge};
use crate::registry::Registry;

/// One process, as the operating system tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub ppid: u32,
    pub pgid: u32,
    /// The foreground group of the process's terminal; negative without a terminal.
    pub tpgid: i32,
    /// The controlling terminal, such as `pts/7`.
    pub tty: Option<String>,
    /// When the process started, in a unit of the platform. With the pid it names one life of a process.
    pub start: u64,
    /// The scheduler state letter: `R`, `S`, `T` for stopped, `Z` for a zombie.
    pub state: char,
    /// The kernel's name of the process.
    pub comm: String,
    /// The arguments; empty if they cannot be read.
    pub argv: Vec<String>,
}

/// The agent that a pane holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The agent's id, such as `claude`.
    pub agent: String,
    /// The process that stands for the agent's life.
    pub pid: u32,
    pub start: u64,
    /// Its scheduler state; `T` means that the agent was suspended.
    pub state: char,
    /// Whether the agent has the pane's keyboard.
    pub foreground: bool,
    /// Why this process is the agent, for people.
    pub rule: String,
    pub argv: Vec<String>,
}

/// What a look at the processes of a pane found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// An agent.
    Agent(Found),
    /// A shell that is about to start one: look again soon.
    Launching,
    /// No agent.
    Nothing,
}

impl Look {
    /// The agent, if there is one.
    pub fn agent(self) -> Option<Found> {
        match self {
            Self::Agent(found) => Some(found),
            Self::Launching | Self::Nothing => None,
        }
    }
}

/// Finds the agent in the pane whose root process is `pane_pid`, among processes that include at least those
/// below it.
///
/// The outermost process of an agent stands for it. Launchers start the real binary as a child, some of them
/// twice, and agents start agents as tools; only the outermost lives exactly as long as what a person sees
/// in the pane. Of several agents side by side, jobs of one shell, the one in the foreground counts, else
/// the one started last.
pub fn identify(registry: &Registry, processes: &[Process], pane_pid: u32) -> Look {
    let survey = survey(registry, processes, pane_pid);
    match survey.chosen() {
        Some(found) => Look::Agent(found.clone()),
        None if survey.launching => Look::Launching,
        None => Look::Nothing,
    }
}

/// Says in words what [`identify`] decides, and what it passed over.
pub fn explain(registry: &Registry, processes: &[Process], pane_pid: u32) -> String {
    let survey = survey(registry, processes, pane_pid);
    let chosen = survey.chosen();
    let describe = |found: &Found| format!("pid {}{}: {}", found.pid, manner(found), found.rule);
    let mut lines = vec![match chosen {
        Some(found) => format!("{} is {}", found.agent, describe(found)),
        None => format!("no agent at or below pid {pane_pid}; processes seen: {}", survey.seen),
    }];
    let others = survey.agents.iter().filter(|found| Some(*found) != chosen);
    lines.extend(others.map(|found| format!("  passed over {} {}", found.agent, describe(found))));
    let helpers = survey.helpers.iter();
    lines.extend(helpers.map(|(pid, agent, why)| format!("  passed over {agent} pid {pid}: {why}")));
    lines.join("\n")
}

/// Whether a process runs an agent's program without being the agent of a pane: a server, a one-shot run. What such a
/// process starts is not the doing of the agent that a person sees.
pub fn is_helper(registry: &Registry, process: &Process) -> bool {
    let verdict = registry.in_order_of_claim().find_map(|manifest| judge(manifest, process));
    matches!(verdict, Some(Verdict::Helper(_)))
}

/// The processes that are an agent's own, of those at and below it, parents first. A helper that it started may serve other
/// agents too (`codex app-server`), and an agent that it runs as a tool is another agent: what these and the processes below
/// them hold open, or have among their arguments, says nothing about it.
pub fn own_processes(registry: &Registry, processes: Vec<Process>) -> Vec<Process> {
    let mut others = BTreeSet::new();
    let mut own: Vec<Process> = Vec::new();
    for process in processes {
        let is_own = own.first().is_none_or(|agent| {
            !others.contains(&process.ppid)
                && match registry.in_order_of_claim().find_map(|manifest| judge(manifest, &process)) {
                    Some(Verdict::Helper(_)) => false,
                    // A launcher starts the agent itself on the same terminal.
                    Some(Verdict::Agent(_)) => process.tty == agent.tty,
                    Some(Verdict::Launcher) | None => true,
                }
        });
        if is_own {
            own.push(process);
        } else {
            others.insert(process.pid);
        }
    }
    own
}

/// Everything below a pane that has to do with agents.
struct Survey {
    agents: Vec<Found>,
    /// (pid, agent, what it does instead).
    helpers: Vec<(u32, String, String)>,
    launching: bool,
    seen: usize,
}

impl Survey {
    fn chosen(&self) -> Option<&Found> {
        self.agents.iter().max_by_key(|found| (found.foreground, found.start, found.pid))
    }
}

fn survey(registry: &Registry, processes: &[Process], pane_pid: u32) -> Survey {
    let mut survey = Survey { agents: Vec::new(), helpers: Vec::new(), launching: false, seen: 0 };
    let tree = Tree::new(processes);
    let pane_tty = tree.get(pane_pid).and_then(|root| root.tty.as_deref());
    // The walk carries whether the job that a process belongs to has the pane's keyboard. A process on
    // another terminal, below a pty wrapper, has it through its nearest ancestor on the pane's own.
    let mut pending: Vec<(&Process, bool)> =
        tree.get(pane_pid).map(|root| (root, is_foreground(root))).into_iter().collect();
    let mut visited = BTreeSet::new();
    while let Some((process, job_is_foreground)) = pending.pop() {
        if !visited.insert(process.pid) {
            continue;
        }
        let on_pane = process.tty.as_deref() == pane_tty;
        let foreground = if on_pane { is_foreground(process) } else { job_is_foreground };
        match claim(registry, process) {
            // What runs below an agent or its helper is that agent's own doing.
            Some((agent, Verdict::Agent(rule))) => survey.agents.push(Found {
                agent,
                pid: process.pid,
                start: process.start,
                state: process.state,
                foreground,
                rule,
                argv: process.argv.clone(),
            }),
            Some((agent, Verdict::Helper(why))) => survey.helpers.push((process.pid, agent, why)),
            None => pending.extend(tree.children(process.pid).map(|child| (child, foreground))),
            Some((_, Verdict::Launcher)) => {
                survey.launching = true;
                pending.extend(tree.children(process.pid).map(|child| (child, foreground)));
            }
        }
    }
    survey.seen = visited.len();
    survey.agents.sort_by_key(|found| found.pid);
    survey.helpers.sort();
    survey
}

/// The first manifest with something to say about a process.
fn claim(registry: &Registry, process: &Process) -> Option<(String, Verdict)> {
    // A dead process keeps its name until it is reaped, and one without a terminal is nothing that a pane shows.
    if matches!(process.state, 'Z' | 'X') || process.tty.is_none() {
        return None;
    }
    registry.in_order_of_claim().find_map(|manifest| Some((manifest.id.clone(), judge(manifest, process)?)))
}

fn is_foreground(process: &Process) -> bool {
    i64::from(process.pgid) == i64::from(process.tpgid)
}

fn manner(found: &Found) -> &'static str {
    match (found.foreground, found.state) {
        (_, 'T' | 't') => " (suspended)",
        (true, _) => "",
        (false, _) => " (in the background)",
    }
}

/// Processes by pid and by parent.
struct Tree<'a> {
    by_pid: BTreeMap<u32, &'a Process>,
    by_parent: BTreeMap<u32, Vec<&'a Process>>,
}

impl<'a> Tree<'a> {
    fn new(processes: &'a [Process]) -> Self {
        let mut tree = Self { by_pid: BTreeMap::new(), by_parent: BTreeMap::new() };
        for process in processes {
            tree.by_pid.insert(process.pid, process);
            tree.by_parent.entry(process.ppid).or_default().push(process);
        }
        tree
    }

    fn get(&self, pid: u32) -> Option<&'a Process> {
        self.by_pid.get(&pid).copied()
    }

    fn children(&self, pid: u32) -> impl Iterator<Item = &'a Process> {
        self.by_parent.get(&pid).into_iter().flatten().copied()
    }
}
