//! The thread that reads agents' files: it follows the roster, watches where the files are, and looks at what changed.
//!
//! It is a thread of its own because files may be on a disk that takes its time. Nothing is decided here: what it tells
//! are levels, and a look that was one too many finds nothing new.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agtmux_agents::Reading;
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::Signal;
use tokio::sync::{mpsc, watch};

use super::order::Order;
use super::surroundings;
use super::trace::{News, Told, Trace};
use super::watcher::{Change, Watcher};
use crate::daemon::roster::{Member, Roster};
use crate::target::manifests::Manifests;

/// How often everything is looked at, whatever was told.
const RESCAN: Duration = Duration::from_secs(30);

/// How often everything is looked at where changes are not told.
const POLL: Duration = Duration::from_secs(1);

/// How long a file that has just told something is left alone. An agent that writes a thousand times a second means the
/// last one.
const REST: Duration = Duration::from_millis(10);

/// How often the watches are brought up to date with what a look found out about where to look.
const ROUNDS: usize = 4;

/// The reader and what it follows.
pub(super) struct Reader {
    roster: watch::Receiver<Arc<Roster>>,
    manifests: Manifests,
    told: mpsc::Sender<Told>,
    watcher: Watcher,
    followed: BTreeMap<RuntimeId, Followed>,
    /// Whom a change in a directory may concern.
    concerned: BTreeMap<PathBuf, BTreeSet<(RuntimeId, usize)>>,
    order: Order,
    /// Who reads each file that must be one runtime's alone.
    claims: Claims,
    trouble: Option<String>,
    next_scan: Instant,
}

struct Followed {
    member: Arc<Member>,
    traces: Vec<Tracked>,
}

struct Tracked {
    trace: Box<dyn Trace>,
    is_due: bool,
    rests_until: Instant,
    /// When it is due whether or not anything changes.
    again_at: Option<Instant>,
    /// Whether it spoke for its runtime and has not taken it back.
    has_spoken: bool,
}

impl Reader {
    pub(super) fn new(roster: watch::Receiver<Arc<Roster>>, manifests: Manifests, told: mpsc::Sender<Told>) -> Self {
        Self {
            roster,
            manifests,
            told,
            watcher: Watcher::new(),
            followed: BTreeMap::new(),
            concerned: BTreeMap::new(),
            order: Order::default(),
            claims: Claims::default(),
            trouble: None,
            next_scan: Instant::now(),
        }
    }

    /// Reads until the other end of `wake` is closed, or nobody listens any more.
    pub(super) fn run(mut self, wake: &UnixStream) {
        while let Some(changes) = self.watcher.wait(wake.as_fd(), self.until_next()) {
            self.follow_roster();
            for change in changes {
                self.mark(&change);
            }
            if Instant::now() >= self.next_scan {
                self.scan();
            }
            let news = self.look();
            for told in news.0 {
                if self.told.blocking_send(told).is_err() {
                    return;
                }
            }
        }
    }

    fn until_next(&self) -> Duration {
        let due = self.tracked().filter(|tracked| tracked.is_due).map(|tracked| tracked.rests_until);
        let again = self.tracked().filter_map(|tracked| tracked.again_at);
        let next = due.chain(again).fold(self.next_scan, Instant::min);
        next.saturating_duration_since(Instant::now())
    }

    fn tracked(&self) -> impl Iterator<Item = &Tracked> {
        self.followed.values().flat_map(|followed| &followed.traces)
    }

    /// Takes up new members and lets go of everything of those that left.
    fn follow_roster(&mut self) {
        if !self.roster.has_changed().unwrap_or(false) {
            return;
        }
        let roster = self.roster.borrow_and_update().clone();
        let before = self.followed.len();
        self.followed.retain(|runtime, _| roster.contains_key(runtime));
        let mut is_changed = self.followed.len() != before;
        self.order.keep(|runtime| roster.contains_key(runtime));
        for (runtime, member) in roster.iter() {
            match self.followed.get_mut(runtime) {
                Some(followed) if Arc::ptr_eq(&followed.member, member) => {}
                Some(followed) => {
                    followed.member = member.clone();
                    for tracked in &mut followed.traces {
                        tracked.is_due |= tracked.trace.is_searching();
                        tracked.plan(member);
                    }
                }
                None => {
                    let traces = surroundings::traces(member, &self.manifests).into_iter().map(Tracked::new).collect();
                    self.followed.insert(runtime.clone(), Followed { member: member.clone(), traces });
                    is_changed = true;
                }
            }
        }
        // The roster changes with every state of every agent; who is on it seldom does.
        if is_changed {
            self.claims = self.all_claims();
            self.watch_places();
        }
    }

    fn watch_places(&mut self) {
        self.concerned.clear();
        for (runtime, followed) in &self.followed {
            for (number, tracked) in followed.traces.iter().enumerate() {
                for place in tracked.trace.places() {
                    self.concerned.entry(place.dir).or_default().insert((runtime.clone(), number));
                }
            }
        }
        self.watcher.want(self.concerned.keys().cloned().collect());
    }

    fn mark(&mut self, change: &Change) {
        let (dir, name) = match change {
            Change::File { dir, name } => (dir, Some(name)),
            Change::Directory(dir) => (dir, None),
            Change::Everything => {
                self.next_scan = Instant::now();
                return;
            }
        };
        for (runtime, number) in self.concerned.get(dir).into_iter().flatten() {
            let tracked = self.followed.get_mut(runtime).and_then(|followed| followed.traces.get_mut(*number));
            if let Some(tracked) = tracked {
                let concerns = |name| tracked.trace.places().iter().any(|place| place.concerns(dir, name));
                tracked.is_due |= name.is_none_or(|name| concerns(name.as_os_str()));
            }
        }
    }

    /// Looks at everything again: changes may have been missed, or are not told at all.
    fn scan(&mut self) {
        self.watcher.check();
        for tracked in self.followed.values_mut().flat_map(|followed| &mut followed.traces) {
            tracked.is_due = true;
        }
        self.next_scan = Instant::now() + if self.watcher.must_poll() { POLL } else { RESCAN };
    }

    /// Looks at what is due. A look may find out that there is more to watch, which may have changed by then.
    fn look(&mut self) -> News {
        let mut news = News::default();
        for _ in 0..ROUNDS {
            let mut moved = false;
            for (runtime, followed) in &mut self.followed {
                for (number, tracked) in followed.traces.iter_mut().enumerate() {
                    let claimant = (runtime.clone(), number);
                    let before = tracked.path().map(Path::to_owned);
                    let is_shared = |path: &Path| self.claims.has_another(path, &claimant);
                    moved |= tracked.look(&followed.member, is_shared, &mut news);
                    if tracked.path() != before.as_deref() {
                        self.claims.change(before.as_deref(), tracked.path(), claimant);
                    }
                }
            }
            if !moved {
                break;
            }
            self.watch_places();
        }
        self.order.arrange(&mut news);
        let trouble = self.watcher.trouble();
        if trouble != self.trouble {
            news.0.push(Told::Trouble(trouble.clone()));
            self.trouble = trouble;
        }
        if self.watcher.must_poll() {
            self.next_scan = self.next_scan.min(Instant::now() + POLL);
        }
        news
    }

    fn all_claims(&self) -> Claims {
        let mut claims = Claims::default();
        for (runtime, followed) in &self.followed {
            for (number, tracked) in followed.traces.iter().enumerate() {
                claims.change(None, tracked.path(), (runtime.clone(), number));
            }
        }
        claims
    }
}

/// One trace of one runtime.
type Claimant = (RuntimeId, usize);

/// Who reads each file that must be one runtime's alone. One that two read speaks for neither.
#[derive(Debug, Default)]
struct Claims(BTreeMap<PathBuf, BTreeSet<Claimant>>);

impl Claims {
    fn has_another(&self, path: &Path, claimant: &Claimant) -> bool {
        self.0.get(path).is_some_and(|claimants| claimants.iter().any(|other| other != claimant))
    }

    fn change(&mut self, before: Option<&Path>, now: Option<&Path>, claimant: Claimant) {
        if let Some(claimants) = before.and_then(|before| self.0.get_mut(before)) {
            claimants.remove(&claimant);
        }
        if let Some(now) = now {
            self.0.entry(now.to_owned()).or_default().insert(claimant);
        }
    }
}

impl Tracked {
    fn new(trace: Box<dyn Trace>) -> Self {
        Self { trace, is_due: true, rests_until: Instant::now(), again_at: None, has_spoken: false }
    }

    /// The file that must be one runtime's alone.
    fn path(&self) -> Option<&Path> {
        self.trace.claimed().map(|(_, path)| path).or_else(|| self.trace.kept())
    }

    /// Notes when another look is worth it though nothing changes.
    fn plan(&mut self, member: &Member) {
        self.again_at = self.trace.is_shown_as(&member.verdict).map(|pause| Instant::now() + pause);
    }

    /// Looks if it is due. Says whether there are other places to watch now.
    fn look(&mut self, member: &Member, is_shared: impl Fn(&Path) -> bool, news: &mut News) -> bool {
        if self.path().is_some_and(&is_shared) {
            self.retract(member, news);
        }
        let now = Instant::now();
        self.is_due |= self.again_at.take_if(|again_at| *again_at <= now).is_some();
        if !self.is_due || now < self.rests_until {
            return false;
        }
        let before = self.trace.places();
        let mut found = News::default();
        self.is_due = self.trace.look(member, &mut found);
        self.plan(member);
        if !found.0.is_empty() {
            self.rests_until = now + REST;
        }
        // What a shared file says is passed over, but known as said.
        if !self.path().is_some_and(is_shared) {
            self.has_spoken |= !found.0.is_empty();
            news.0.append(&mut found.0);
        }
        let moved = self.trace.places() != before;
        self.is_due |= moved;
        if moved {
            self.rests_until = now;
        }
        moved
    }

    /// Takes back what was told of a file that turned out to be another's too.
    fn retract(&mut self, member: &Member, news: &mut News) {
        if !std::mem::take(&mut self.has_spoken) {
            return;
        }
        if let Some((source, path)) = self.trace.claimed() {
            tracing::warn!(path = %path.display(), "two agents were told to use one file; it counts for neither");
            let why = format!("{} is named by two agents", path.display());
            news.say(source, member, super::trace::Moment::now(), vec![Reading::new(Signal::Withdrawn)], &why);
        }
    }
}
