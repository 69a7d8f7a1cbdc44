//! Looks at the screens of agents, for what [`glance::purpose`] says, when the [`schedule`]
//! says so.

mod schedule;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::glance::{self, Purpose};
use agtmux_agents::screen::{self, Screen};
use agtmux_core::id::PaneId;
use agtmux_core::signal::{Signal, Source};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::daemon::Handle;
use crate::daemon::roster::Member;
use crate::daemon::said::Said;
use crate::platform;
use crate::target::capture::{Captured, capture_all, context};
use crate::target::manifests::Manifests;
use crate::target::observation::Paint;
use crate::target::watcher::at;
use schedule::{Due, Look, Looked, Outcome, Schedule};

/// How long tmux may take for a capture.
const CAPTURE_DEADLINE: Duration = Duration::from_secs(2);

/// So many clients at once: each is a process.
const TOGETHER: usize = 2;

/// So many screens are captured by one client.
const PER_CLIENT: usize = 32;

/// What is needed to look at screens.
pub struct Eyes {
    /// The tmux program.
    pub tmux: PathBuf,
    /// What agents look like.
    pub manifests: Manifests,
    /// Told when a pane is painted.
    pub paints: mpsc::UnboundedReceiver<Paint>,
}

/// Looks at screens until the daemon ends.
pub async fn run(handle: Handle, eyes: Eyes) {
    let Eyes { tmux, manifests, mut paints } = eyes;
    let mut roster = handle.roster();
    let shared = Arc::new(Shared { handle, tmux, manifests, turns: Semaphore::new(TOGETHER) });
    let mut schedule = Schedule::default();
    let mut looks = JoinSet::new();
    loop {
        tokio::select! {
            Some(paint) = paints.recv() => schedule.painted(paint, Instant::now()),
            changed = roster.changed() => {
                if changed.is_err() {
                    return;
                }
                let members = roster.borrow_and_update().clone();
                let registry = shared.manifests.now();
                let purpose = |member: &Member| {
                    let manifest = registry.get(member.agent.as_str())?;
                    let purpose = glance::purpose(manifest, &member.verdict);
                    (purpose == Purpose::State || manifest.composer.is_some()).then_some(purpose)
                };
                schedule.meet(&members, purpose, Instant::now());
            }
            () = at(schedule.next()) => {
                let mut by_server: BTreeMap<PathBuf, Vec<Due>> = BTreeMap::new();
                for due in schedule.due(Instant::now()) {
                    by_server.entry(due.member.socket.clone()).or_default().push(due);
                }
                for (socket, mut due) in by_server {
                    while !due.is_empty() {
                        let some = due.split_off(due.len().saturating_sub(PER_CLIENT));
                        looks.spawn(look(shared.clone(), socket.clone(), some));
                    }
                }
            }
            Some(looked) = looks.join_next() => {
                for looked in looked.unwrap_or_default() {
                    schedule.looked(looked, Instant::now());
                }
            }
        }
    }
}

struct Shared {
    handle: Handle,
    tmux: PathBuf,
    manifests: Manifests,
    turns: Semaphore,
}

/// Looks at screens of one server, or only renews what was said of them, and tells what is news.
async fn look(shared: Arc<Shared>, socket: PathBuf, due: Vec<Due>) -> Vec<Looked> {
    let panes: Vec<_> = due.iter().filter(|due| due.look == Look::Capture).map(|due| due.member.pane.pane).collect();
    // What is told of a screen was so when the look began. By the time it is told a hook may have said that something else began.
    let (looked_ns, captured) = shared.capture(&socket, &panes).await;
    let mut looked = Vec::with_capacity(due.len());
    for Due { member, mut glance, look, at_rest, purpose } in due {
        let news = match look {
            Look::Renew => Some(glance.renewal(purpose)),
            Look::Capture => {
                let seen = captured.get(&member.pane.pane).and_then(|captured| shared.read(&member, captured));
                seen.map(|seen| {
                    let answered = member.declares_a_need() && glance.was_sent(&seen);
                    let news = match purpose {
                        Purpose::State => glance.news(seen),
                        Purpose::Details => glance.details(seen),
                    };
                    news.into_iter().chain(answered.then(|| Reading::new(Signal::Unblocked))).collect()
                })
            }
        };
        let outcome = match &news {
            None => Outcome::Failed,
            Some(news) if news.is_empty() => Outcome::Same,
            Some(_) => Outcome::News,
        };
        if let Some(news) = news.filter(|news| !news.is_empty()) {
            shared.tell(&member, Source::Screen, news, looked_ns).await;
        }
        looked.push(Looked { member, glance, look, at_rest, outcome });
    }
    looked
}

impl Shared {
    /// Captures screens, and gives the moment at which that began.
    async fn capture(&self, socket: &Path, panes: &[PaneId]) -> (u64, BTreeMap<PaneId, Captured>) {
        let turn = self.turns.acquire().await;
        let looked_ns = platform::boot_clock_ns();
        if turn.is_err() || panes.is_empty() {
            return (looked_ns, BTreeMap::new());
        }
        let captured = capture_all(&self.tmux, socket, panes, CAPTURE_DEADLINE).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot look at screens");
            BTreeMap::new()
        });
        (looked_ns, captured)
    }

    /// What a member's screen says; none if the member is not what it was.
    fn read(&self, member: &Member, captured: &Captured) -> Option<Vec<Reading>> {
        let context = context(captured, member.process)?;
        let registry = self.manifests.now();
        let manifest = registry.get(member.agent.as_str())?;
        let seen = screen::read(manifest, &Screen::parse(&captured.text), &context);
        tracing::debug!(pane = %member.pane.pane, rules = ?seen.matched, enter = seen.composer.enter.name(), "looked");
        Some(seen.readings)
    }

    async fn tell(&self, member: &Member, source: Source, news: Vec<Reading>, looked_ns: u64) {
        let said = Said { boot_ns: Some(looked_ns), ..Said::now(source, member.claim(), news) };
        self.handle.said(said).await.ok();
    }
}
