//! The raw output of agent panes, by passed file descriptors. Read without pause, counted, and listened to.
//!
//! A pane has one pipe. It is taken only when it is free, and given up without a fight when somebody else takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agtmux_core::id::PaneId;
use agtmux_tmux::janitor::PipeNotes;
use agtmux_tmux::list::PaneRow;
use agtmux_tmux::pipe::{ArmError, Freed, PipeReceiver, PipeStream, Piped};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::agents::AgentWatch;
use super::ear::{Ear, Listener};
use super::link::{Commands, Link, LinkKind};
use super::observation::StreamFigures;
use super::observer::CALL_DEADLINE;
use super::watcher::at;

/// A helper that has not handed a stream over by then never will.
const GIVE_UP_AFTER: Duration = Duration::from_secs(15);

/// How long pipes that were asked for may still arrive when the daemon ends.
const ARRIVE_WITHIN: Duration = Duration::from_secs(1);

/// How many pipes are taken by one script.
const TOGETHER: usize = 32;

/// The streams of one server.
pub struct Streams {
    shared: Arc<Shared>,
    wanted: mpsc::UnboundedSender<(Commands, PaneId, u32)>,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    stages: Mutex<BTreeMap<PaneId, Stage>>,
    bytes: AtomicU64,
    /// How many streams there have been.
    begun: AtomicU32,
    /// Where a janitor learns which pipes to free, if there is one.
    notes: OnceLock<PipeNotes>,
    /// Something became of a request.
    settled: Notify,
}

/// How far a pane's stream has come.
enum Stage {
    /// Asked for; on its way.
    Asked { at: Instant },
    /// Being read.
    Open {
        /// Whether anything came since somebody last asked.
        heard: Arc<AtomicBool>,
    },
    /// Somebody else has the pane's pipe.
    Taken,
}

impl Shared {
    fn stages(&self) -> MutexGuard<'_, BTreeMap<PaneId, Stage>> {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what became of a request. A stream that is open is not asked about any more.
    fn settle(&self, pane: PaneId, result: Result<(), ArmError>) {
        let mut stages = self.stages();
        match result {
            Ok(()) => {}
            Err(_) if matches!(stages.get(&pane), Some(Stage::Open { .. })) => {}
            Err(ArmError::Taken) => {
                stages.insert(pane, Stage::Taken);
            }
            Err(error) => {
                tracing::debug!(%pane, %error, "no stream of this pane");
                stages.remove(&pane);
            }
        }
        self.settled.notify_waiters();
    }

    fn count(&self, suits: impl Fn(&Stage) -> bool) -> u64 {
        self.stages().values().filter(|stage| suits(stage)).count() as u64
    }
}

impl Streams {
    /// Streams that are handed over at this socket by this command line. A socket that cannot be had costs the
    /// streams, not the watch.
    pub fn new(socket: &Path, helper: Vec<OsString>, link: LinkKind, ear: &Arc<Ear>) -> Self {
        let shared = Arc::new(Shared::default());
        let (wanted, requests) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        let freed = match link {
            LinkKind::Plain => Freed::ByCommand,
            LinkKind::Control => Freed::ByTmux,
        };
        match PipeReceiver::bind(socket, freed) {
            Ok(receiver) => {
                let receiver = Arc::new(receiver);
                tasks.spawn(receive(receiver.clone(), shared.clone(), ear.clone()));
                tasks.spawn(arm(receiver, shared.clone(), helper, requests));
            }
            Err(error) => tracing::warn!(socket = %socket.display(), %error, "pane streams cannot be received"),
        }
        Self { shared, wanted, _tasks: tasks }
    }

    /// Asks for the streams of agent panes that have none, in the background.
    pub fn keep(&self, link: &Link, agents: &AgentWatch, rows: &BTreeMap<PaneId, PaneRow>) {
        if let Some(notes) = link.pipe_notes() {
            self.shared.notes.set(notes).ok();
        }
        let mut stages = self.shared.stages();
        stages.retain(|pane, _| rows.contains_key(pane));
        let now = Instant::now();
        for (pane, row) in rows {
            let free = agents.holds_agent(*pane) && !row.pane_dead && !row.pane_pipe;
            let under_way = match stages.get(pane) {
                Some(Stage::Open { .. }) => true,
                Some(Stage::Asked { at }) => now - *at < GIVE_UP_AFTER,
                Some(Stage::Taken) | None => false,
            };
            if agents.holds_agent(*pane) && row.pane_pipe && !under_way {
                stages.insert(*pane, Stage::Taken);
            } else if matches!(stages.get(pane), Some(Stage::Taken)) {
                stages.remove(pane);
            }
            if free && !under_way && self.wanted.send((link.commands().clone(), *pane, row.pane_pid)).is_ok() {
                stages.insert(*pane, Stage::Asked { at: now });
            }
        }
    }

    /// The panes that are listened to and were silent since this was last asked.
    pub fn silent(&self) -> BTreeSet<PaneId> {
        let is_silent = |stage: &Stage| match stage {
            Stage::Open { heard } => !heard.swap(false, Ordering::Relaxed),
            Stage::Asked { .. } | Stage::Taken => false,
        };
        self.shared.stages().iter().filter(|(_, stage)| is_silent(stage)).map(|(pane, _)| *pane).collect()
    }

    /// The panes whose pipe somebody else has.
    pub fn taken(&self) -> BTreeSet<PaneId> {
        let stages = self.shared.stages();
        stages.iter().filter(|(_, stage)| matches!(stage, Stage::Taken)).map(|(pane, _)| *pane).collect()
    }

    /// Whether a pane is listened to.
    pub fn is_open(&self, pane: PaneId) -> bool {
        matches!(self.shared.stages().get(&pane), Some(Stage::Open { .. }))
    }

    /// Waits for the pipes that were asked for, so that the janitor knows of each that was taken.
    pub async fn arrive(&self) {
        let arrived = async {
            loop {
                let settled = self.shared.settled.notified();
                if self.shared.count(|stage| matches!(stage, Stage::Asked { .. })) == 0 {
                    return;
                }
                settled.await;
            }
        };
        tokio::time::timeout(ARRIVE_WITHIN, arrived).await.ok();
    }

    /// How many streams are open and how much they brought.
    pub fn figures(&self) -> StreamFigures {
        StreamFigures {
            open: self.shared.count(|stage| matches!(stage, Stage::Open { .. })),
            bytes: self.shared.bytes.load(Ordering::Relaxed),
            taken: self.shared.count(|stage| matches!(stage, Stage::Taken)),
        }
    }
}

/// Takes pipes a few at a time: one by one would take a client each, all at once would have tmux start hundreds of helpers.
async fn arm(
    receiver: Arc<PipeReceiver>,
    shared: Arc<Shared>,
    helper: Vec<OsString>,
    mut requests: mpsc::UnboundedReceiver<(Commands, PaneId, u32)>,
) {
    let mut batch = Vec::new();
    while requests.recv_many(&mut batch, TOGETHER).await > 0 {
        let Some((commands, ..)) = batch.first().cloned() else {
            continue;
        };
        let wanted: Vec<_> = batch.drain(..).map(|(_, pane, pid)| (agtmux_tmux::PaneId(pane.0), pid)).collect();
        match receiver.arm_many(&commands, &wanted, &helper, CALL_DEADLINE).await {
            Ok(results) => {
                for ((pane, _), result) in wanted.iter().zip(results) {
                    shared.settle(PaneId(pane.0), result);
                }
            }
            Err(error) => tracing::debug!(%error, "pane streams are asked for again"),
        }
    }
}

async fn receive(receiver: Arc<PipeReceiver>, shared: Arc<Shared>, ear: Arc<Ear>) {
    let mut drains = JoinSet::new();
    loop {
        tokio::select! {
            piped = receiver.receive() => match piped {
                Ok(piped) => {
                    let listener = ear.listen(PaneId(piped.pane.0));
                    drains.spawn(drain(piped, listener, shared.clone()));
                }
                Err(error) => {
                    tracing::warn!(%error, "pane streams can no longer be received");
                    return;
                }
            },
            Some(_) = drains.join_next() => {}
        }
    }
}

/// Reads a stream to its end. The buffer lives on the stack of each read, so that five hundred quiet panes cost no
/// memory; tmux keeps what is not read, so nothing here may wait for anything else.
async fn drain(piped: Piped, mut listener: Listener, shared: Arc<Shared>) {
    let Piped { pane: tmux_pane, pane_pid, stream, .. } = piped;
    let (pane, number) = (PaneId(tmux_pane.0), shared.begun.fetch_add(1, Ordering::Relaxed));
    if let Some(notes) = shared.notes.get() {
        notes.begins(number, tmux_pane, pane_pid);
    }
    let heard = Arc::new(AtomicBool::new(true));
    shared.stages().insert(pane, Stage::Open { heard: heard.clone() });
    shared.settled.notify_waiters();
    loop {
        let readable = tokio::select! {
            readable = stream.readable() => readable,
            () = at(listener.due()) => {
                listener.pass_time();
                continue;
            }
            found = listener.markers() => {
                listener.know(&found);
                continue;
            }
        };
        match readable.and_then(|()| read(&stream, &mut listener)) {
            Ok(0) => break,
            Ok(count) => {
                shared.bytes.fetch_add(count as u64, Ordering::Relaxed);
                heard.store(true, Ordering::Relaxed);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    if let Some(notes) = shared.notes.get() {
        notes.ends(number);
    }
    // The next stream of the same pane may have begun already.
    let mut stages = shared.stages();
    if matches!(stages.get(&pane), Some(Stage::Open { heard: other }) if Arc::ptr_eq(other, &heard)) {
        stages.remove(&pane);
    }
}

fn read(stream: &PipeStream, listener: &mut Listener) -> io::Result<usize> {
    let mut buffer = [0; 16 * 1024];
    let count = stream.try_read(&mut buffer)?;
    listener.hear(&buffer[..count]);
    Ok(count)
}
