//! Listens to the streams of agent panes: what is said in them, and what their titles are.
//!
//! Whoever reads a stream must never wait, since tmux keeps what is not read. So everything heard goes into a queue
//! without a bound, and what may go in is bounded instead: a title a quarter of a second, and a few statements.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::detector::{Sighting, SignalDetector, Statement};
use agtmux_agents::translate::Signs;
use agtmux_core::id::{AgentId, PaneId, PaneKey, ProcessKey, ServerId, TargetName};
use agtmux_core::signal::{Claim, Signal, Source};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::manifests::Manifests;
use super::observation::{Gap, Heard, Missed, Observation, Paint, Surface};
use crate::platform;

/// A line without an end counts as one when nothing followed it for so long.
const LINE_PAUSE: Duration = Duration::from_millis(500);

/// A title that changes all the time, as a spinner does, is shown no more often than this.
const PAUSE: Duration = Duration::from_millis(250);

/// So many statements of one pane are passed on per [`PAUSE`]; of more, only the last.
const STATEMENTS: usize = 16;

/// A marker that was written again is looked for in the pane after this time, and no more often.
const REPEAT_PAUSE: Duration = Duration::from_millis(250);

/// So many markers wait at most until those that stand in the pane are known.
const WAITING: usize = 64;

/// An agent that has run for so long has set its title.
const SETTLED_AFTER: Duration = Duration::from_secs(20);

/// What the streams of one server's panes have in common.
#[derive(Debug)]
pub struct Ear {
    target: TargetName,
    server: ServerId,
    manifests: Manifests,
    reports: mpsc::UnboundedSender<Observation>,
    paints: mpsc::UnboundedSender<Paint>,
    gaps: mpsc::UnboundedSender<Gap>,
    speakers: Mutex<BTreeMap<PaneId, Speaker>>,
    titles: Mutex<BTreeMap<PaneId, String>>,
}

/// The agent in a pane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// Which agent.
    pub agent: AgentId,
    /// Its process.
    pub process: ProcessKey,
}

impl Ear {
    /// An ear for a server; what it hears is reported.
    pub fn new(
        target: TargetName,
        server: ServerId,
        manifests: Manifests,
        reports: mpsc::UnboundedSender<Observation>,
        paints: mpsc::UnboundedSender<Paint>,
        gaps: mpsc::UnboundedSender<Gap>,
    ) -> Arc<Self> {
        Arc::new(Self {
            target,
            server,
            manifests,
            reports,
            paints,
            gaps,
            speakers: Mutex::default(),
            titles: Mutex::default(),
        })
    }

    /// Learns which agents are in which panes.
    pub fn meet(&self, speakers: BTreeMap<PaneId, Speaker>) {
        *self.speakers() = speakers;
    }

    /// Learns the titles that panes have, as tmux knows them.
    pub fn read_titles(&self, titles: BTreeMap<PaneId, String>) {
        *self.titles.lock().unwrap_or_else(PoisonError::into_inner) = titles;
    }

    /// Begins to listen to a pane's stream.
    pub fn listen(self: &Arc<Self>, pane: PaneId) -> Listener {
        let key = self.key(pane);
        let (found, markers) = oneshot::channel();
        self.gaps.send(Gap { pane: key.clone(), why: Missed::Attached(found) }).ok();
        let mut listener = Listener {
            paint: Paint { pane: key, fresh: Arc::default() },
            ear: self.clone(),
            pane,
            detector: SignalDetector::new(),
            voice: None,
            seen: Vec::new(),
            flush_at: None,
            repeat_at: None,
            markers: Some(markers),
            waiting: Vec::new(),
            titles: None,
            statements: None,
        };
        listener.catch_up();
        // From now on silence means that nothing is painted.
        self.paints.send(listener.paint.clone()).ok();
        listener
    }

    /// Has a pane looked at whose stream somebody else reads.
    pub fn miss(&self, pane: PaneId) {
        self.gaps.send(Gap { pane: self.key(pane), why: Missed::Taken }).ok();
    }

    fn key(&self, pane: PaneId) -> PaneKey {
        PaneKey { server: self.server.clone(), pane }
    }

    fn speakers(&self) -> MutexGuard<'_, BTreeMap<PaneId, Speaker>> {
        self.speakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, observation: Observation) {
        self.reports.send(observation).ok();
    }
}

/// Listens to one pane.
pub struct Listener {
    ear: Arc<Ear>,
    pane: PaneId,
    paint: Paint,
    detector: SignalDetector,
    voice: Option<(Speaker, Signs)>,
    seen: Vec<Sighting>,
    flush_at: Option<Instant>,
    /// When it is looked whether a marker was said again.
    repeat_at: Option<Instant>,
    /// Will bring the markers that stand in the pane.
    markers: Option<oneshot::Receiver<Vec<Statement>>>,
    /// Markers that were seen meanwhile.
    waiting: Vec<Statement>,
    titles: Option<Window<String>>,
    statements: Option<Window<(Source, Reading)>>,
}

/// A moment in which much may come and little is passed on: so many, and of the rest the last.
struct Window<T> {
    ends: Instant,
    passed: usize,
    held_back: Option<T>,
}

impl<T> Window<T> {
    /// Gives the thing back if it may pass now.
    fn pass(window: &mut Option<Self>, thing: T, most: usize, now: Instant) -> Option<T> {
        let window = window.get_or_insert(Self { ends: now + PAUSE, passed: 0, held_back: None });
        if window.passed < most {
            window.passed += 1;
            return Some(thing);
        }
        window.held_back = Some(thing);
        None
    }

    /// What was held back, once the moment is over.
    fn over(window: &mut Option<Self>, now: Instant) -> Option<T> {
        window.take_if(|window| window.ends <= now).and_then(|window| window.held_back)
    }
}

impl Listener {
    /// Reads the title that the pane has already, for an agent that was there long before anybody listened. That of a
    /// new agent may still be what another program left behind.
    fn catch_up(&mut self) {
        let title = self.ear.titles.lock().unwrap_or_else(PoisonError::into_inner).get(&self.pane).cloned();
        let speaker = self.ear.speakers().get(&self.pane).cloned();
        let (Some(title), Some(speaker)) = (title, speaker) else {
            return;
        };
        if platform::age(speaker.process.start) > SETTLED_AFTER {
            let (source, readings) = self.meaning(&Sighting::Title(title));
            for reading in readings {
                self.say(source, reading, Instant::now());
            }
        }
    }

    /// Takes the next bytes of the stream.
    pub fn hear(&mut self, bytes: &[u8]) {
        if self.paint.put() {
            self.ear.paints.send(self.paint.clone()).ok();
        }
        let mut seen = std::mem::take(&mut self.seen);
        self.detector.feed(bytes, &mut seen);
        self.tell(&mut seen);
        self.seen = seen;
    }

    /// Waits for the markers that stand in the pane, as long as they are not known.
    pub async fn markers(&mut self) -> Vec<Statement> {
        match &mut self.markers {
            Some(markers) => markers.await.unwrap_or_default(),
            None => std::future::pending().await,
        }
    }

    /// Takes note of the markers that stand in the pane. They are told by whoever found them, or were before; those that
    /// were seen meanwhile and are none of them are news.
    pub fn know(&mut self, found: &[Statement]) {
        self.markers = None;
        found.iter().for_each(|marker| self.detector.remember(marker));
        for marker in std::mem::take(&mut self.waiting) {
            if !found.contains(&marker) {
                self.detector.remember(&marker);
                self.say(Source::Marker, marker.reading(), Instant::now());
            }
        }
    }

    /// When [`Self::pass_time`] has something to do.
    pub fn due(&self) -> Option<Instant> {
        let titles = self.titles.as_ref().map(|window| window.ends);
        let statements = self.statements.as_ref().map(|window| window.ends);
        self.flush_at.into_iter().chain(self.repeat_at).chain(titles).chain(statements).min()
    }

    /// Time has passed.
    pub fn pass_time(&mut self) {
        let now = Instant::now();
        if let Some(title) = Window::over(&mut self.titles, now) {
            self.show(title, now);
        }
        if let Some((source, reading)) = Window::over(&mut self.statements, now) {
            self.say(source, reading, now);
        }
        if self.repeat_at.take_if(|at| *at <= now).is_some() {
            self.ear.gaps.send(Gap { pane: self.key(), why: Missed::Repeated }).ok();
        }
        if self.flush_at.is_some_and(|at| at <= now) {
            self.flush_at = None;
            let mut seen = std::mem::take(&mut self.seen);
            self.detector.flush(&mut seen);
            self.tell(&mut seen);
            self.seen = seen;
        }
    }

    fn tell(&mut self, seen: &mut Vec<Sighting>) {
        let now = Instant::now();
        match (self.detector.pending(), self.flush_at) {
            (true, None) => self.flush_at = Some(now + LINE_PAUSE),
            (false, Some(_)) => self.flush_at = None,
            _ => {}
        }
        if self.detector.take_repeated() && self.markers.is_none() {
            self.repeat_at.get_or_insert(now + REPEAT_PAUSE);
        }
        for sighting in seen.drain(..) {
            let (source, readings) = self.meaning(&sighting);
            if let (Sighting::Marker(marker), Some(_)) = (&sighting, &self.markers) {
                if self.waiting.len() < WAITING {
                    self.waiting.push(marker.clone());
                }
                continue;
            }
            for reading in readings {
                self.say(source, reading, now);
            }
            if let Sighting::Title(title) = sighting {
                self.show(title, now);
            }
        }
    }

    /// What a sighting means for the agent that is in the pane now.
    fn meaning(&mut self, sighting: &Sighting) -> (Source, Vec<Reading>) {
        let speaker = self.ear.speakers().get(&self.pane).cloned();
        if self.voice.as_ref().map(|(known, _)| known) != speaker.as_ref() {
            self.voice = speaker.map(|speaker| (speaker, Signs::default()));
        }
        let Some((speaker, signs)) = &mut self.voice else {
            return (Source::Osc, Vec::new());
        };
        let registry = self.ear.manifests.now();
        let manifest = registry.get(speaker.agent.as_str());
        let readings = match (sighting, manifest) {
            (Sighting::Marker(statement) | Sighting::Osc777(statement), _) => {
                return (Source::Marker, vec![statement.reading()]);
            }
            (Sighting::NearMiss { line, .. }, _) => {
                tracing::warn!(pane = %self.pane, line, "looks like a marker and is none");
                return (Source::Marker, vec![Reading::new(Signal::Unsupported { what: line.clone() })]);
            }
            (Sighting::Title(title), Some(manifest)) => signs.title(manifest, title),
            (Sighting::Notify { title, body }, Some(manifest)) => {
                let text: Vec<_> = title.iter().chain(body).map(String::as_str).collect();
                signs.notice(manifest, &text.join(" | "))
            }
            (Sighting::Program { state, kind, .. }, _) => signs.program_status(state, kind.as_deref()),
            (
                Sighting::Title(_)
                | Sighting::Notify { .. }
                | Sighting::Progress { .. }
                | Sighting::Prompt(_)
                | Sighting::Bell,
                _,
            ) => Vec::new(),
        };
        (Source::Osc, readings)
    }

    fn say(&mut self, source: Source, reading: Reading, now: Instant) {
        let passed = Window::pass(&mut self.statements, (source, reading), STATEMENTS, now);
        let (Some((source, reading)), Some((speaker, _))) = (passed, &self.voice) else {
            return;
        };
        let claim = Claim {
            target: self.ear.target.clone(),
            runtime: None,
            pane: Some(self.key()),
            process: Some(speaker.process),
            ancestors: None,
        };
        self.ear.report(Observation::Heard(Box::new(Heard { source, claim, readings: vec![reading] })));
    }

    fn show(&mut self, title: String, now: Instant) {
        if let Some(title) = Window::pass(&mut self.titles, title, 1, now) {
            let surface = Surface { title: Some(title.trim().to_owned()), ..Surface::default() };
            self.ear.report(Observation::Surface { pane: self.key(), surface });
        }
    }

    fn key(&self) -> PaneKey {
        self.paint.pane.clone()
    }
}
