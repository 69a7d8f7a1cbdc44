//! The stream of changes: what is new since when, for everybody who follows.
//!
//! Every change has a `seq`. The newest few are kept, so that a follower who was cut off for a moment gets what it
//! missed; whoever was away longer gets everything anew.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};

use agtmux_core::attention::CallKind;
use agtmux_core::id::{PaneId, PaneKey, RuntimeId, TargetName, WindowId};
use agtmux_core::mail::Transition;
use agtmux_core::query::PaneFilter;
use agtmux_core::time::Timestamp;
use tokio::sync::broadcast;

use super::handle::{Start, Subscription};
use super::world::{PaneView, World};

/// How many panes that changed are kept for those who come back. A burst is few changes of many panes, and whoever was away for
/// longer gets everything anew, which is no more than that.
const KEPT: usize = 1_024;

/// How many changes a follower may be behind before it gets everything anew.
const BEHIND: usize = 512;

/// A change of what is shown.
#[derive(Debug)]
pub struct Change {
    /// The place of the stream after it.
    pub seq: u64,
    /// When it happened.
    pub at: Timestamp,
    /// Panes that are new or different.
    pub panes: Vec<PaneView>,
    /// Panes that are gone, or moved away from there.
    pub removed: Vec<Identity>,
    /// Calls for attention that began.
    pub calls: Vec<Call>,
    /// Steps that messages took.
    pub steps: Vec<Transition>,
    /// The change as it goes over the wire, made by the first follower that needs it.
    pub encoded: OnceLock<String>,
}

impl Change {
    fn weight(&self) -> usize {
        1 + self.panes.len() + self.removed.len() + self.calls.len() + self.steps.len()
    }
}

/// What names a pane for a follower.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The target.
    pub target: TargetName,
    /// The session's name.
    pub session_name: String,
    /// The window.
    pub window: WindowId,
    /// The pane.
    pub pane: PaneId,
    /// The socket of its server.
    pub socket: String,
}

/// A runtime calls for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Which.
    pub runtime: RuntimeId,
    /// The dedupe key together with the runtime.
    pub nudge_seq: u64,
    /// Why.
    pub kind: CallKind,
    /// Text for the person.
    pub message: Option<String>,
}

/// The stream of changes.
pub struct Publisher {
    kept: VecDeque<Arc<Change>>,
    /// The weight of all that is kept.
    weight: usize,
    /// Changes up to this place are no longer at hand.
    forgotten: u64,
    shown: BTreeMap<PaneKey, Identity>,
    followers: broadcast::Sender<Arc<Change>>,
}

impl Publisher {
    /// A stream that begins at a place.
    pub fn new(seq: u64) -> Self {
        let (followers, _) = broadcast::channel(BEHIND);
        Self { kept: VecDeque::new(), weight: 0, forgotten: seq, shown: BTreeMap::new(), followers }
    }

    /// Tells the followers of panes that changed. Nothing is told where nothing is to be seen.
    pub fn publish<'a>(
        &mut self,
        world: &World,
        at: Timestamp,
        changed: impl IntoIterator<Item = &'a PaneKey>,
        calls: Vec<Call>,
        steps: Vec<Transition>,
    ) {
        let mut panes = Vec::new();
        let mut removed = Vec::new();
        for key in changed {
            let view = world.pane(key);
            let now = view.as_ref().map(identity);
            let before = match &now {
                Some(now) => self.shown.insert(key.clone(), now.clone()),
                None => self.shown.remove(key),
            };
            removed.extend(before.filter(|before| Some(before) != now.as_ref()));
            panes.extend(view);
        }
        if panes.is_empty() && removed.is_empty() && calls.is_empty() && steps.is_empty() {
            return;
        }
        let change = Arc::new(Change { seq: world.seq, at, panes, removed, calls, steps, encoded: OnceLock::new() });
        self.weight += change.weight();
        self.kept.push_back(change.clone());
        while self.weight > KEPT
            && let Some(oldest) = self.kept.pop_front()
        {
            self.weight -= oldest.weight();
            self.forgotten = oldest.seq;
        }
        // Nobody may be following; the change is kept all the same.
        self.followers.send(change).ok();
    }

    /// Lets somebody follow from a place. What they missed and what comes next meet without gap or overlap, because
    /// both are taken in one step of the main loop.
    pub fn subscribe(&self, world: &World, at: Timestamp, after: Option<u64>) -> Subscription {
        let start = match after {
            Some(after) if (self.forgotten..=world.seq).contains(&after) => {
                Start::Changes(self.kept.iter().filter(|change| change.seq > after).cloned().collect())
            }
            _ => Start::Snapshot(Box::new(Change {
                seq: world.seq,
                at,
                panes: world.panes(&PaneFilter { all: true, ..PaneFilter::default() }),
                removed: Vec::new(),
                calls: Vec::new(),
                // What was before anybody asked is not news; what somebody missed is.
                steps: after.map(|after| world.engine.state().mail.steps_after(after)).unwrap_or_default(),
                encoded: OnceLock::new(),
            })),
        };
        Subscription { start, changes: self.followers.subscribe() }
    }
}

fn identity(view: &PaneView) -> Identity {
    Identity {
        target: view.row.target.clone(),
        session_name: view.row.place.session_name.clone(),
        window: view.row.place.window,
        pane: view.row.pane.pane,
        socket: view.socket.clone(),
    }
}
