//! Catches up on markers that nobody heard: what stands in a pane when its stream begins to be read, what may have been
//! said again, and what is printed into a pane whose pipe another program has (F5, F6, F7).
//!
//! What was heard before is known from the state, so each marker counts once and in its order, also after a restart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agtmux_agents::detector::{self, Statement};
use agtmux_core::backlog::{Backlog, count_heard, fingerprint};
use agtmux_core::id::PaneKey;
use agtmux_core::signal::Source;
use agtmux_core::time::Timestamp;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::daemon::Handle;
use crate::daemon::roster::Member;
use crate::daemon::said::Said;
use crate::error::CommandError;
use crate::platform;
use crate::target::capture::history;
use crate::target::observation::{Gap, Missed};
use crate::target::watcher::at;

/// So many lines of a pane's history are looked through.
const LINES: u32 = 200;

/// How long tmux may take to show a pane's history.
const CAPTURE_DEADLINE: Duration = Duration::from_secs(2);

/// So many panes are looked at together: each costs a client.
const TOGETHER: usize = 2;

/// An agent that has not been found so long after its stream began to be read is gone again.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was heard takes less than this to get into the state.
const ON_ITS_WAY: Duration = Duration::from_millis(150);

/// Markers may come in while a pane is looked at. It is looked at again then, so often at most.
const LOOKS: u32 = 3;

/// A pane that waits for its agent to be known, or to be looked at.
struct Waiting {
    until: Instant,
    /// The readers of its stream.
    readers: Vec<oneshot::Sender<Vec<Statement>>>,
    /// Whether nobody hears what is printed there.
    is_unheard: bool,
}

/// Catches up until the daemon ends.
pub async fn run(handle: Handle, tmux: PathBuf, mut gaps: mpsc::UnboundedReceiver<Gap>) {
    handle.synced().await;
    let mut roster = handle.roster();
    let (began, looked_at) = (handle.now(), Mutex::default());
    let shared = Arc::new(Shared { handle, tmux, turns: Semaphore::new(TOGETHER), began, looked_at });
    let mut waiting: BTreeMap<PaneKey, Waiting> = BTreeMap::new();
    let mut looks: JoinSet<PaneKey> = JoinSet::new();
    let mut under_way: BTreeSet<PaneKey> = BTreeSet::new();
    loop {
        tokio::select! {
            gap = gaps.recv() => match gap {
                Some(gap) => wait_for(&mut waiting, gap),
                None => return,
            },
            changed = roster.changed() => if changed.is_err() {
                return;
            },
            Some(looked) = looks.join_next() => {
                under_way.retain(|pane| looked.as_ref().is_ok_and(|looked| looked != pane));
            }
            () = at(waiting.values().map(|waiting| waiting.until).min()) => {
                let now = Instant::now();
                waiting.retain(|_, waiting| waiting.until > now);
            }
        }
        let members = roster.borrow_and_update().clone();
        shared.looked_at().retain(|pane, _| members.values().any(|member| member.pane == *pane));
        for member in members.values() {
            if under_way.contains(&member.pane) {
                continue;
            }
            if let Some(waiting) = waiting.remove(&member.pane) {
                under_way.insert(member.pane.clone());
                looks.spawn(look(shared.clone(), member.clone(), waiting));
            }
        }
    }
}

fn wait_for(waiting: &mut BTreeMap<PaneKey, Waiting>, gap: Gap) {
    let until = Instant::now() + PATIENCE;
    let waiting = waiting.entry(gap.pane).or_insert(Waiting { until, readers: Vec::new(), is_unheard: false });
    match gap.why {
        Missed::Attached(reader) => {
            waiting.until = until;
            waiting.readers.push(reader);
        }
        Missed::Taken => waiting.is_unheard = true,
        Missed::Repeated => {}
    }
}

struct Shared {
    handle: Handle,
    tmux: PathBuf,
    turns: Semaphore,
    /// When the daemon began to hear anything.
    began: Timestamp,
    /// When panes were last looked at.
    looked_at: Mutex<BTreeMap<PaneKey, Timestamp>>,
}

/// Looks through a pane's history, tells what is news, and gives all that stands there to those who read its stream.
async fn look(shared: Arc<Shared>, member: Arc<Member>, waiting: Waiting) -> PaneKey {
    let Waiting { readers, is_unheard, .. } = waiting;
    let found = match shared.catch_up(&member, is_unheard || !readers.is_empty()).await {
        Ok(found) => found,
        Err(error) => {
            tracing::debug!(pane = %member.pane.pane, %error, "cannot catch up on markers");
            Vec::new()
        }
    };
    for reader in readers {
        reader.send(found.clone()).ok();
    }
    member.pane.clone()
}

impl Shared {
    /// Tells the markers of a pane that nobody has heard, and gives all that stand there. One that was only written again
    /// is no news while it counts.
    async fn catch_up(&self, member: &Member, was_unheard: bool) -> Result<Vec<Statement>, CommandError> {
        let mut found = Vec::new();
        let looked_at = self.looked_at().insert(member.pane.clone(), self.handle.now());
        let deaf_since = was_unheard.then(|| looked_at.unwrap_or(self.began));
        for _ in 0..LOOKS {
            let Some(before) = self.backlog(member, deaf_since).await? else { break };
            if before.stands && !was_unheard {
                break;
            }
            let found_ns = platform::boot_clock_ns();
            found = self.markers(member).await;
            sleep(ON_ITS_WAY).await;
            let Some(backlog) = self.backlog(member, deaf_since).await? else { break };
            if backlog.is_forgotten {
                break;
            }
            if backlog.heard == before.heard {
                self.tell(member, &backlog, &found, found_ns).await?;
                break;
            }
        }
        Ok(found)
    }

    async fn backlog(&self, member: &Member, deaf_since: Option<Timestamp>) -> Result<Option<Backlog>, CommandError> {
        let runtime = member.runtime.clone();
        self.handle.read(move |world| world.engine.backlog(&runtime, deaf_since)).await
    }

    fn looked_at(&self) -> MutexGuard<'_, BTreeMap<PaneKey, Timestamp>> {
        self.looked_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn markers(&self, member: &Member) -> Vec<Statement> {
        let Ok(_turn) = self.turns.acquire().await else {
            return Vec::new();
        };
        let shown = history(&self.tmux, &member.socket, member.pane.pane, LINES, CAPTURE_DEADLINE).await;
        let shown = shown.unwrap_or_else(|error| {
            tracing::warn!(pane = %member.pane.pane, %error, "cannot look through a pane's history");
            None
        });
        let text = shown.unwrap_or_default();
        let own = detector::own_part(&text, &platform::process_argv(member.process.pid));
        detector::markers(own)
    }

    async fn tell(
        &self,
        member: &Member,
        backlog: &Backlog,
        found: &[Statement],
        found_ns: u64,
    ) -> Result<(), CommandError> {
        let said = |statement: &Statement| Said::now(Source::Marker, member.claim(), vec![statement.reading()]);
        let fingerprints: Vec<_> = found.iter().flat_map(|one| said(one).into_signals()).collect();
        let fingerprints: Vec<_> = fingerprints.iter().map(fingerprint).collect();
        for statement in &found[count_heard(&backlog.heard, &fingerprints)..] {
            let boot_ns = Some(backlog.placed(&statement.reading().signal, found_ns));
            self.handle.said(Said { boot_ns, ..said(statement) }).await?;
        }
        Ok(())
    }
}
