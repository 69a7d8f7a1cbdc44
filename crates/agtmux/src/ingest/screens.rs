//! Looks at the screens of agents about which nobody tells better.
//!
//! A screen is captured when its pane was painted and has come to rest for a moment, or has been painted for long; and
//! only if [`glance::is_wanted`]. A pane whose output cannot be heard is looked at every now and then instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::glance::{self, Glance};
use agtmux_agents::screen::{self, Screen};
use agtmux_agents::{Reading, detector};
use agtmux_core::id::{PaneId, PaneKey};
use agtmux_core::signal::Source;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::daemon::Handle;
use crate::daemon::roster::{Member, Roster};
use crate::daemon::said::Said;
use crate::platform;
use crate::target::capture::{Captured, capture_all, context};
use crate::target::manifests::Manifests;
use crate::target::observation::Paint;
use crate::target::watcher::at;

/// A pane that was not painted for so long has come to rest. Longer, for one that rests often and shows nothing new: it
/// writes line by line.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_millis(800);

/// A pane that never rests is looked at this often. Less often, if that shows nothing new.
const RESTLESS: Duration = Duration::from_secs(1);
const LONGEST_RESTLESS: Duration = Duration::from_secs(16);

/// A pane whose output cannot be heard is looked at this often.
const DEAF: Duration = Duration::from_secs(2);

/// What a screen says is renewed this often, well within the time it holds. A pane that was not painted need not be
/// looked at for that.
const RENEW: Duration = Duration::from_secs(60);

/// A new agent is given so long to paint its first screen.
const FIRST_LOOK: Duration = Duration::from_millis(500);

/// What stands on the screen of an agent that has run for so long is its own.
const SETTLED_AFTER: Duration = Duration::from_secs(20);

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
                let is_wanted = |member: &Member| {
                    registry.get(member.agent.as_str()).is_some_and(|manifest| glance::is_wanted(manifest, &member.verdict))
                };
                schedule.meet(&members, is_wanted, Instant::now());
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
    let captured = shared.capture(&socket, &panes).await;
    let mut looked = Vec::with_capacity(due.len());
    for Due { member, mut glance, look, at_rest, is_first } in due {
        if is_first && let Some(captured) = captured.get(&member.pane.pane) {
            shared.recover(&member, captured).await;
        }
        let news = match look {
            Look::Renew => glance.renewal(),
            Look::Capture => {
                let seen = captured.get(&member.pane.pane).and_then(|captured| shared.read(&member, captured));
                seen.map_or_else(Vec::new, |seen| glance.news(seen))
            }
        };
        let brought_news = !news.is_empty();
        if brought_news {
            shared.tell(&member, Source::Screen, news).await;
        }
        looked.push(Looked { pane: member.pane.clone(), glance, look, at_rest, brought_news });
    }
    looked
}

impl Shared {
    async fn capture(&self, socket: &Path, panes: &[PaneId]) -> BTreeMap<PaneId, Captured> {
        let Ok(_turn) = self.turns.acquire().await else {
            return BTreeMap::new();
        };
        if panes.is_empty() {
            return BTreeMap::new();
        }
        capture_all(&self.tmux, socket, panes, CAPTURE_DEADLINE).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "cannot look at screens");
            BTreeMap::new()
        })
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

    /// A marker that stands on the screen of an agent that was there before anybody listened. It may be old news.
    async fn recover(&self, member: &Member, captured: &Captured) {
        if member.verdict.source.is_none()
            && platform::age(member.process.start) > SETTLED_AFTER
            && let Some(statement) = detector::recover(&captured.text)
        {
            self.tell(member, Source::Scrollback, vec![statement.reading()]).await;
        }
    }

    async fn tell(&self, member: &Member, source: Source, news: Vec<Reading>) {
        self.handle.said(Said::now(source, member.claim(), news)).await.ok();
    }
}

/// What is to be done about a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    Capture,
    Renew,
}

/// A screen whose time has come.
struct Due {
    member: Arc<Member>,
    glance: Glance,
    look: Look,
    /// It has come to rest, rather than being painted for long.
    at_rest: bool,
    /// Nobody looked at it before.
    is_first: bool,
}

/// A screen that was looked at.
struct Looked {
    pane: PaneKey,
    glance: Glance,
    look: Look,
    at_rest: bool,
    brought_news: bool,
}

/// Which screens are to be looked at, and when.
#[derive(Default)]
struct Schedule {
    panes: BTreeMap<PaneKey, Watched>,
}

struct Watched {
    member: Arc<Member>,
    wanted: bool,
    /// Tells of new paint; none before the pane's output was first heard.
    paint: Option<Paint>,
    /// Since when it was painted without having been looked at.
    unseen_since: Option<Instant>,
    due: Option<Instant>,
    /// How long it must not be painted to be at rest.
    rest: Duration,
    /// How long it may be painted before it is looked at all the same.
    patience: Duration,
    /// What was last seen; out of the house while it is being looked at.
    glance: Option<Glance>,
    was_looked_at: bool,
}

impl Schedule {
    fn painted(&mut self, paint: Paint, now: Instant) {
        let Some(watched) = self.panes.get_mut(&paint.pane) else {
            return;
        };
        watched.paint = Some(paint);
        watched.unseen_since.get_or_insert(now);
        watched.look_soon(now + watched.rest);
    }

    fn meet(&mut self, members: &Roster, is_wanted: impl Fn(&Member) -> bool, now: Instant) {
        let mut known = std::mem::take(&mut self.panes);
        for member in members.values() {
            let before = known.remove(&member.pane).filter(|watched| watched.member.runtime == member.runtime);
            let is_new = before.is_none();
            let mut watched = before.unwrap_or_else(|| Watched::new(member.clone(), now));
            let was_wanted = std::mem::replace(&mut watched.wanted, is_wanted(member));
            watched.member = member.clone();
            match (watched.wanted, was_wanted) {
                (false, _) => watched.due = None,
                (true, false) => watched.look_soon(now + if is_new { FIRST_LOOK } else { REST }),
                (true, true) => {}
            }
            self.panes.insert(member.pane.clone(), watched);
        }
    }

    fn next(&self) -> Option<Instant> {
        self.panes.values().filter_map(|watched| watched.due).min()
    }

    /// What is to be done now. A pane that is being painted is given time to come to rest.
    fn due(&mut self, now: Instant) -> Vec<Due> {
        let mut looks = Vec::new();
        for watched in self.panes.values_mut().filter(|watched| watched.due.is_some_and(|due| due <= now)) {
            watched.due = None;
            let is_being_painted = watched.paint.as_ref().is_some_and(Paint::take);
            if is_being_painted && watched.unseen_since.is_none_or(|since| now - since < watched.patience) {
                watched.unseen_since.get_or_insert(now);
                watched.look_soon(now + watched.rest);
                continue;
            }
            let Some(glance) = watched.glance.take() else {
                continue;
            };
            let is_unseen = watched.unseen_since.take().is_some() || watched.paint.is_none();
            let look = if is_unseen { Look::Capture } else { Look::Renew };
            let is_first = !std::mem::replace(&mut watched.was_looked_at, true);
            looks.push(Due { member: watched.member.clone(), glance, look, at_rest: !is_being_painted, is_first });
        }
        looks
    }

    fn looked(&mut self, looked: Looked, now: Instant) {
        let Some(watched) = self.panes.get_mut(&looked.pane) else {
            return;
        };
        watched.glance = Some(looked.glance);
        match (looked.brought_news, looked.look, looked.at_rest) {
            (_, Look::Renew, _) => {}
            (true, Look::Capture, _) => (watched.rest, watched.patience) = (REST, RESTLESS),
            (false, Look::Capture, true) => watched.rest = (watched.rest * 2).min(LONGEST_REST),
            (false, Look::Capture, false) => watched.patience = (watched.patience * 2).min(LONGEST_RESTLESS),
        }
        let again = match (&watched.paint, watched.unseen_since) {
            (None, _) => DEAF,
            (Some(_), Some(_)) => watched.rest,
            (Some(_), None) => RENEW,
        };
        watched.look_soon(now + again);
    }
}

impl Watched {
    fn new(member: Arc<Member>, now: Instant) -> Self {
        Self {
            member,
            wanted: false,
            paint: None,
            unseen_since: Some(now),
            due: None,
            rest: REST,
            patience: RESTLESS,
            glance: Some(Glance::default()),
            was_looked_at: false,
        }
    }

    /// Looks at it no later than then, if at all.
    fn look_soon(&mut self, then: Instant) {
        if self.wanted {
            self.due = Some(self.due.map_or(then, |due| due.min(then)));
        }
    }
}
