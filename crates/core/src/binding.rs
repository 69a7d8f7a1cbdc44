//! Whose signal is it? Only a bound signal moves a state.
//!
//! A claim is settled by the first of these that applies:
//! 1. It names a runtime: that one if it lives, else none. A signal of an ended runtime never moves its successor.
//! 2. The sender's ancestors are known: the nearest one that is a runtime's process. That is proof, and it beats the
//!    pane the sender believes to be in. `TMUX_PANE` alone is a hint that may name another pane, so without proof the
//!    signal waits: its agent may just not have been found yet.
//! 3. The sender is out of the kernel's sight (another host, the API): the runtime in the pane it names, if its process
//!    is not another than claimed and the runtime was there when the signal was made; or the runtime of the process.
//!
//! What waits is bound in the order it was made as soon as its runtime is found, or dropped after the policy's
//! `bind_within`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};

use crate::id::{ProcessKey, RuntimeId, TargetName};
use crate::runtime::Runtime;
use crate::signal::{Claim, SignalEvent};
use crate::time::Timestamp;
use crate::topology::Topology;

/// Whose a signal is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    To(RuntimeId),
    /// Its runtime is not known, and may still be found.
    Pending,
    /// It belongs to a runtime that is over.
    Ended(RuntimeId),
    /// It can never be bound.
    Nobody(&'static str),
}

/// The processes of all living runtimes. Derived, not stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processes(BTreeMap<ProcessKey, BTreeSet<RuntimeId>>);

impl Processes {
    pub(crate) fn of(topology: &Topology) -> Self {
        let mut processes = Self::default();
        topology.runtimes.values().filter(|runtime| runtime.is_live()).for_each(|runtime| processes.add(runtime));
        processes
    }

    pub(crate) fn add(&mut self, runtime: &Runtime) {
        self.0.entry(runtime.process).or_default().insert(runtime.id.clone());
    }

    pub(crate) fn remove(&mut self, runtime: &Runtime) {
        if let Some(ids) = self.0.get_mut(&runtime.process) {
            ids.remove(&runtime.id);
            if ids.is_empty() {
                self.0.remove(&runtime.process);
            }
        }
    }

    fn find<'a>(&self, topology: &'a Topology, target: &TargetName, process: ProcessKey) -> Option<&'a Runtime> {
        self.0.get(&process)?.iter().filter_map(|id| topology.live(id)).find(|runtime| runtime.target == *target)
    }
}

/// Settles the claim of a signal.
pub(crate) fn bind(topology: &Topology, processes: &Processes, event: &SignalEvent) -> Binding {
    let claim = &event.claim;
    if !topology.targets.contains_key(&claim.target) {
        return Binding::Nobody("unknown target");
    }
    if let Some(id) = &claim.runtime {
        return match topology.runtimes.get(id) {
            None => Binding::Nobody("unknown runtime"),
            Some(runtime) if runtime.target != claim.target => Binding::Nobody("runtime of another target"),
            Some(runtime) if !runtime.is_live() => Binding::Ended(id.clone()),
            Some(_) => Binding::To(id.clone()),
        };
    }
    if let Some(ancestors) = &claim.ancestors {
        let proven = ancestors.iter().find_map(|process| processes.find(topology, &claim.target, *process));
        return proven.map_or(Binding::Pending, |runtime| Binding::To(runtime.id.clone()));
    }
    match (&claim.pane, claim.process) {
        (Some(_), _) => bind_by_pane(topology, claim, event),
        (None, Some(process)) => processes
            .find(topology, &claim.target, process)
            .map_or(Binding::Pending, |runtime| Binding::To(runtime.id.clone())),
        (None, None) => Binding::Nobody("claims no runtime, pane or process"),
    }
}

fn bind_by_pane(topology: &Topology, claim: &Claim, event: &SignalEvent) -> Binding {
    let Some((key, pane)) = claim.pane.as_ref().and_then(|key| topology.panes.get_key_value(key)) else {
        return Binding::Pending;
    };
    if topology.target_of(key) != Some(&claim.target) {
        return Binding::Nobody("pane of another target");
    }
    let Some(runtime) = topology.living_in(key) else {
        return Binding::Pending;
    };
    if claim.process.is_some_and(|process| process != runtime.process) {
        return Binding::Pending;
    }
    match &pane.fence {
        Some(fence) if fence.boot == event.emitted.boot && event.emitted.ns <= fence.ns => {
            Binding::Nobody("made before the pane's runtime was there")
        }
        _ => Binding::To(runtime.id.clone()),
    }
}

/// A signal that waits for its runtime to be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// Its position in the log.
    pub seq: u64,
    /// When it was taken in.
    pub at: Timestamp,
    /// Until when it waits.
    pub until: Timestamp,
    /// The signal.
    pub event: Box<SignalEvent>,
}

/// All that wait, and a count of those that waited in vain. At most [`Pending::CAPACITY`]; then the oldest is dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pending {
    queue: VecDeque<Waiting>,
    /// Signals that were dropped because no runtime was found for them in time.
    pub dropped: u64,
}

impl Pending {
    /// How many may wait.
    pub const CAPACITY: usize = 10_000;

    /// Those that wait, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.queue.iter()
    }

    /// When the first of them has waited long enough.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        self.queue.iter().map(|waiting| waiting.until).min()
    }

    pub(crate) fn push(&mut self, waiting: Waiting) {
        if self.queue.len() >= Self::CAPACITY && self.queue.pop_front().is_some() {
            self.dropped += 1;
        }
        self.queue.push_back(waiting);
    }

    /// Drops those that have waited long enough.
    pub(crate) fn expire(&mut self, now: Timestamp) {
        let before = self.queue.len();
        self.queue.retain(|waiting| waiting.until > now);
        self.dropped += (before - self.queue.len()) as u64;
    }

    /// Takes out everything that can be settled now, in the order it was made.
    pub(crate) fn settle(&mut self, settle: impl Fn(&SignalEvent) -> Binding) -> Vec<(Waiting, Binding)> {
        let mut settled = Vec::new();
        for waiting in std::mem::take(&mut self.queue) {
            match settle(&waiting.event) {
                Binding::Pending => self.queue.push_back(waiting),
                binding => settled.push((waiting, binding)),
            }
        }
        settled.sort_by(|(a, _), (b, _)| (&a.event.emitted, a.seq).cmp(&(&b.event.emitted, b.seq)));
        settled
    }
}
