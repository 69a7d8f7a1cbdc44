//! Watches one life of one tmux server: what its hooks tell, the process table and the streams of agent panes; and asks
//! tmux for the whole truth every ten seconds and on any doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use agtmux_core::event::Place;
use agtmux_core::id::{PaneId, PaneKey, ServerId, SessionId, WindowId};
use agtmux_core::reconcile::{PaneSight, ServerSight};
use agtmux_tmux::client::ClientError;
use agtmux_tmux::hook_queue::{HookKind, Verified};
use agtmux_tmux::list::{self, Detail, PaneRow};
use agtmux_tmux::server::{ServerIdentity, Version};
use agtmux_tmux::{Plain, session};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::agents::{AgentWatch, SWEEP_EVERY};
use super::ear::Ear;
use super::link::{Link, LinkError, LinkEvent, is_structural};
use super::observation::{Connection, Observation, StreamFigures, Surface};
use super::observer::{CALL_DEADLINE, Observer};
use super::streams::Streams;

/// How often tmux is asked for the whole truth, doubt or not: users reload hooks and take pipes.
const RECONCILE_EVERY: Duration = Duration::from_secs(10);

/// Every so many times the truth includes each pane's command and directory, which are most of its cost.
const FULL_EVERY: u32 = 6;

/// Changes that come closer together than this are looked at together.
const SETTLE: Duration = Duration::from_millis(10);

/// A title that changes all the time, as a spinner does, is read no more often than this.
const TITLE_PAUSE: Duration = Duration::from_millis(250);

/// A pane that is new or in which another program runs is looked at closely when that program had time to take over from
/// whatever started it.
const TAKE_OVER_PAUSE: Duration = Duration::from_millis(300);

/// More panes than this are listed together: each that is read alone costs a process.
const FEW: usize = 8;

/// A title of a pane that is listened to was most likely heard already.
const HEARD_PAUSE: Duration = Duration::from_secs(2);

/// A shell takes a few milliseconds from being told to start an agent to having started it.
const RELOOK_PAUSE: Duration = Duration::from_millis(50);

/// How a watch ended.
#[derive(Debug)]
pub enum End {
    /// The daemon is ending; nothing of ours is left in tmux.
    Stopped,
    /// The user has no session left.
    LastSessionClosed,
    /// The server is too old.
    Unsupported {
        /// Its version.
        version: String,
    },
    /// The server died, or stopped to answer, or threw us out.
    Lost {
        /// What was seen of it.
        why: String,
    },
}

/// Watches one life of one server, until the server is lost or the daemon ends.
///
/// The truth comes first, by one client; what keeps it up to date is put in place when it is known.
///
/// # Errors
/// Fails when there is no server, or none that can be watched.
pub async fn watch(observer: &Observer, stop: &mut watch::Receiver<bool>) -> Result<End, LinkError> {
    let plain = Plain::new(&observer.tmux, &observer.socket);
    let (identity, version, rows) = list::identity_and_panes(&plain, Detail::Full, CALL_DEADLINE).await?;
    if !version.supported() {
        return Ok(End::Unsupported { version: version.to_string() });
    }
    let mut life = Life::begin(observer, identity, &version).await;
    if life.take_over(rows, Detail::Full).await == Sessions::NoneOfTheUsers {
        return Ok(End::LastSessionClosed);
    }
    let mut link = Link::open(observer).await?;
    let end = match follow(life, &mut link, stop).await {
        Ok(end) => end,
        Err(error) => End::Lost { why: error.to_string() },
    };
    link.close().await;
    Ok(end)
}

async fn follow(mut life: Life<'_>, link: &mut Link, stop: &mut watch::Receiver<bool>) -> Result<End, ClientError> {
    // What happened since the first look was told by no hook.
    if life.reconcile(link, Detail::Light).await? == Sessions::NoneOfTheUsers {
        return Ok(End::LastSessionClosed);
    }
    let mut reconcile = interval(RECONCILE_EVERY);
    let mut sweep = interval(SWEEP_EVERY);
    for timer in [&mut reconcile, &mut sweep] {
        timer.set_missed_tick_behavior(MissedTickBehavior::Delay);
        timer.reset();
    }
    let mut reconciled = 0u32;
    let mut doubt: Option<Instant> = None;
    loop {
        // A new agent's stream is asked for with the next look at all panes.
        if std::mem::take(&mut life.found_new) | life.agents.take_lost() {
            doubt.get_or_insert_with(|| Instant::now() + SETTLE);
        }
        tokio::select! {
            event = link.next_event() => life.take(&event?, &mut doubt),
            () = at(doubt) => {
                doubt = None;
                if life.reconcile(link, Detail::Light).await? == Sessions::NoneOfTheUsers {
                    return Ok(End::LastSessionClosed);
                }
            }
            () = at(life.surfaces.next()) => life.read_surfaces(link).await?,
            () = at(life.relook) => {
                let launching = life.agents.launching();
                life.look_at(&launching).await;
            }
            pane = life.agents.exited() => life.look_at(&[pane]).await,
            _ = sweep.tick() => life.sweep().await,
            _ = reconcile.tick() => {
                reconciled += 1;
                let detail = if reconciled.is_multiple_of(FULL_EVERY) { Detail::Full } else { Detail::Light };
                let (verified, rows) = life.meanwhile(link.verify_and_list(detail)).await?;
                if verified == Verified::Reinstalled {
                    tracing::info!("the hooks had been removed and are back");
                }
                if life.take_over(rows, detail).await == Sessions::NoneOfTheUsers {
                    return Ok(End::LastSessionClosed);
                }
                life.open_streams(link);
                life.look_again().await;
            }
            _ = stop.changed() => {
                life.streams.arrive().await;
                return Ok(End::Stopped);
            }
        }
    }
}

/// Whether the server has sessions of the user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sessions {
    SomeOfTheUsers,
    NoneOfTheUsers,
}

/// What is known of the server while it is watched.
struct Life<'a> {
    observer: &'a Observer,
    server: ServerId,
    identity: ServerIdentity,
    agents: AgentWatch,
    streams: Streams,
    ear: Arc<Ear>,
    _reports: JoinSet<()>,
    figures: StreamFigures,
    surfaces: Surfaces,
    /// The panes whose pipe somebody else has, as they were reported last.
    taken: BTreeSet<PaneId>,
    /// Whether an agent was found that was not there before.
    found_new: bool,
    /// When panes in which an agent is about to appear are looked at again.
    relook: Option<Instant>,
    /// The panes as tmux told of them last.
    rows: BTreeMap<PaneId, PaneRow>,
}

impl<'a> Life<'a> {
    async fn begin(observer: &'a Observer, identity: ServerIdentity, version: &Version) -> Self {
        let socket = observer.socket.to_string_lossy();
        let server = ServerId::derive(&observer.target, &socket, identity.pid, identity.start_time);
        observer
            .report(Observation::Connection {
                socket: observer.socket.clone(),
                status: Connection::Connected {
                    server: server.clone(),
                    pid: identity.pid,
                    start_time: identity.start_time,
                    version: version.to_string(),
                },
            })
            .await;
        let (ear, reports) = listen(observer, &server);
        Self {
            observer,
            agents: AgentWatch::new(
                observer.manifests.clone(),
                observer.boot.clone(),
                server.clone(),
                observer.shims.clone(),
            ),
            streams: Streams::new(&observer.pipe_socket, observer.pipe_helper.clone(), observer.link, &ear),
            ear,
            _reports: reports,
            figures: StreamFigures::default(),
            surfaces: Surfaces::default(),
            taken: BTreeSet::new(),
            found_new: false,
            relook: None,
            rows: BTreeMap::new(),
            server,
            identity,
        }
    }

    /// Titles are read one by one. Whatever else happened, all panes are looked at, but a burst is given time to end.
    fn take(&mut self, event: &LinkEvent, doubt: &mut Option<Instant>) {
        let doubtful = match event {
            LinkEvent::Structure => true,
            LinkEvent::Hooks(batch) => {
                let titles = batch.events.iter().filter(|event| event.kind == HookKind::TitleChanged);
                for pane in titles.filter_map(|event| event.pane).map(|pane| PaneId(pane.0)) {
                    // What an agent writes is heard in its stream; this may be somebody's `select-pane -T`.
                    let pause = if self.streams.is_open(pane) { HEARD_PAUSE } else { TITLE_PAUSE };
                    self.surfaces.changed(pane, pause);
                }
                batch.missed || batch.events.iter().any(|event| is_structural(event.kind))
            }
        };
        if doubtful {
            doubt.get_or_insert_with(|| Instant::now() + SETTLE);
        }
    }

    /// Asks tmux for the truth and takes it over.
    async fn reconcile(&mut self, link: &Link, detail: Detail) -> Result<Sessions, ClientError> {
        let rows = self.meanwhile(list::panes(link.commands(), detail, CALL_DEADLINE)).await?;
        let sessions = self.take_over(rows, detail).await;
        self.open_streams(link);
        Ok(sessions)
    }

    /// Waits for tmux to list hundreds of panes. That an agent ended is reported meanwhile.
    async fn meanwhile<T>(&mut self, listing: impl Future<Output = T>) -> T {
        let mut listing = std::pin::pin!(listing);
        loop {
            tokio::select! {
                listed = &mut listing => return listed,
                pane = self.agents.exited() => self.look_at(&[pane]).await,
            }
        }
    }

    /// Asks for the streams of agents that are not listened to.
    fn open_streams(&mut self, link: &Link) {
        self.streams.keep(link, &self.agents, &self.rows);
    }

    /// Reports how things are; looks into panes that are new or changed hands.
    async fn take_over(&mut self, rows: Vec<PaneRow>, detail: Detail) -> Sessions {
        let rows = one_per_pane(rows);
        let alive = || rows.values().filter(|row| !row.pane_dead).map(|row| (PaneId(row.pane_id.0), row.pane_pid));
        // An agent that took its pane with it ended by itself. Once the pane is gone nobody would ask how.
        let ended = self.agents.ended_beside(&alive().map(|(pane, _)| pane).collect()).await;
        self.look_at(&ended).await;
        if rows.is_empty() {
            return Sessions::NoneOfTheUsers;
        }
        let sight = ServerSight {
            server: self.server.clone(),
            target: self.observer.target.clone(),
            socket: self.observer.socket.to_string_lossy().into_owned(),
            pid: self.identity.pid,
            start_time: self.identity.start_time,
            panes: rows.values().map(pane_sight).collect(),
        };
        let surfaces = rows.iter().map(|(pane, row)| (self.key(*pane), surface(row))).collect();
        self.observer.report(Observation::Panes { sight, surfaces }).await;
        let mut suspects = self.agents.panes(alive());
        if detail == Detail::Full {
            self.surfaces.all_read();
        }
        let renamed = self.renamed(&rows);
        renamed.iter().for_each(|pane| self.surfaces.changed(*pane, TAKE_OVER_PAUSE));
        suspects.extend(renamed);
        if detail == Detail::Full {
            // What starts an agent without a trace starts it where none is; where one is, its process betrays every change.
            suspects.extend(rows.keys().filter(|pane| !self.agents.holds_agent(**pane)));
        }
        self.look_at(&suspects).await;
        self.found_new = false;
        self.ear.read_titles(rows.iter().map(|(pane, row)| (*pane, row.title.clone())).collect());
        self.rows = rows;
        Sessions::SomeOfTheUsers
    }

    /// Looks where a sweep would not: at panes that were silent, since a stopped agent may say nothing, and at those in
    /// which some program runs that may have started an agent.
    async fn look_again(&mut self) {
        let mut suspects = self.agents.sweep(&BTreeSet::new());
        suspects.extend(self.agents.occupied());
        self.look_at(&suspects).await;
    }

    /// Panes whose window has another name than before: tmux renames a window after the program that runs in it, unless
    /// told not to.
    fn renamed(&self, rows: &BTreeMap<PaneId, PaneRow>) -> Vec<PaneId> {
        let before = |pane: &PaneId| self.rows.get(pane).map(|row| &row.window_name);
        let renamed = rows.iter().filter(|(pane, row)| before(pane) != Some(&row.window_name));
        renamed.map(|(pane, _)| *pane).collect()
    }

    async fn sweep(&mut self) {
        let suspects = self.agents.sweep(&self.streams.silent());
        self.look_at(&suspects).await;
        let (figures, taken) = (self.streams.figures(), self.streams.taken());
        taken.iter().for_each(|pane| self.ear.miss(*pane));
        if (figures, &taken) != (self.figures, &self.taken) {
            self.figures = figures;
            self.taken.clone_from(&taken);
            self.observer.report(Observation::Streams { server: self.server.clone(), figures, taken }).await;
        }
    }

    /// Looks for agents among the processes of these panes and reports what is there.
    async fn look_at(&mut self, panes: &[PaneId]) {
        let before = self.agents.count();
        let held: Vec<_> = panes.iter().map(|pane| self.agents.holds_agent(*pane)).collect();
        let sights = self.agents.look_at(panes);
        for (pane, _) in panes.iter().zip(held).filter(|(pane, held)| self.agents.holds_agent(**pane) != *held) {
            self.surfaces.changed(*pane, TAKE_OVER_PAUSE);
        }
        self.found_new |= self.agents.count() > before;
        self.ear.meet(self.agents.speakers());
        self.relook = (!self.agents.launching().is_empty()).then(|| Instant::now() + RELOOK_PAUSE);
        if !sights.is_empty() {
            self.observer.report(Observation::Agents { sights }).await;
        }
    }

    async fn read_surfaces(&mut self, link: &Link) -> Result<(), ClientError> {
        let due = self.surfaces.take_due();
        if due.len() > FEW {
            return self.reconcile(link, Detail::Full).await.map(|_| ());
        }
        for pane in due {
            let tmux_pane = agtmux_tmux::PaneId(pane.0);
            match list::pane(link.commands(), tmux_pane, Detail::Full, CALL_DEADLINE).await {
                Ok(Some(row)) => {
                    let observation = Observation::Surface { pane: self.key(pane), surface: surface(&row) };
                    self.observer.report(observation).await;
                    // A program that gives a pane its first title may be an agent that has just started.
                    if !self.agents.holds_agent(pane) {
                        self.look_at(&[pane]).await;
                    }
                }
                Ok(None) | Err(ClientError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn key(&self, pane: PaneId) -> PaneKey {
        PaneKey { server: self.server.clone(), pane }
    }
}

/// An ear for a server. What it hears must never wait for the main loop, so a task stands between.
fn listen(observer: &Observer, server: &ServerId) -> (Arc<Ear>, JoinSet<()>) {
    let (heard, mut reports) = mpsc::unbounded_channel();
    let main = observer.reports.clone();
    let mut task = JoinSet::new();
    task.spawn(async move {
        while let Some(observation) = reports.recv().await {
            if main.send(observation).await.is_err() {
                break;
            }
        }
    });
    let (target, manifests) = (observer.target.clone(), observer.manifests.clone());
    (Ear::new(target, server.clone(), manifests, heard, observer.paints.clone(), observer.gaps.clone()), task)
}

/// Which panes have to be read for what they show, and when: title, command and directory.
#[derive(Default)]
struct Surfaces {
    due: BTreeMap<PaneId, Instant>,
    read_at: BTreeMap<PaneId, Instant>,
}

impl Surfaces {
    fn changed(&mut self, pane: PaneId, pause: Duration) {
        let now = Instant::now();
        let not_before = if pause > TITLE_PAUSE { now + pause } else { now };
        let due = self.read_at.get(&pane).map_or(not_before, |read| not_before.max(*read + pause));
        self.due.entry(pane).or_insert(due);
    }

    /// Everything was read, except what changes right now.
    fn all_read(&mut self) {
        self.due.clear();
    }

    fn next(&self) -> Option<Instant> {
        self.due.values().min().copied()
    }

    fn take_due(&mut self) -> Vec<PaneId> {
        let now = Instant::now();
        self.read_at.retain(|_, read| now - *read < TITLE_PAUSE);
        let due: Vec<_> = self.due.extract_if(.., |_, due| *due <= now).map(|(pane, _)| pane).collect();
        self.read_at.extend(due.iter().map(|pane| (*pane, now)));
        due
    }
}

/// Waits for a moment; for ever, if there is none.
pub async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// A window that is linked to several sessions gives a row for each; its panes are shown in the first one by id.
/// Panes of hidden sessions are nobody's business.
fn one_per_pane(rows: Vec<PaneRow>) -> BTreeMap<PaneId, PaneRow> {
    let mut panes: BTreeMap<PaneId, PaneRow> = BTreeMap::new();
    for row in rows.into_iter().filter(|row| !session::hidden(row.session_name.as_bytes())) {
        let pane = PaneId(row.pane_id.0);
        let shown = panes.get(&pane).is_some_and(|known| known.session_id <= row.session_id);
        if !shown {
            panes.insert(pane, row);
        }
    }
    panes
}

fn pane_sight(row: &PaneRow) -> PaneSight {
    PaneSight {
        pane: PaneId(row.pane_id.0),
        place: Place {
            session: SessionId(row.session_id.0),
            session_name: row.session_name.clone(),
            window: WindowId(row.window_id.0),
            window_index: row.window_index,
            window_name: row.window_name.clone(),
            pane_index: row.pane_index,
        },
        looked_at: row.session_attached > 0 && row.window_active && row.pane_active,
    }
}

fn surface(row: &PaneRow) -> Surface {
    Surface {
        title: Some(row.title.trim().to_owned()),
        cwd: row.cwd.as_ref().map(|path| path.to_string_lossy().into_owned()),
        command: row.command.clone(),
    }
}
