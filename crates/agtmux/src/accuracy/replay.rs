//! One recording through the whole of it: traces, readings, signals, engine, verdict.

use std::collections::BTreeMap;

use agtmux_agents::detector::{Sighting, SignalDetector};
use agtmux_agents::screen::{Enter, Screen, ScreenReading, read};
use agtmux_agents::translate::{Signs, Translator, claude_session_file};
use agtmux_agents::{Found, Manifest, Reading, Registry};
use agtmux_core::engine::Engine;
use agtmux_core::event::{Event, FORMAT, Fact, ProcessState, TargetKind};
use agtmux_core::id::{AgentId, BootId, EventId, PaneId, PaneKey, ProcessKey, RuntimeId, ServerId, TargetName};
use agtmux_core::policy::Policy;
use agtmux_core::signal::{Claim, SignalEvent, Source};
use agtmux_core::state::{Confidence, State};
use agtmux_core::time::{Stamp, Timestamp};

use super::Sources;
use super::recording::Recording;

/// How long what a recording shows had stood there when it was made, at least, in milliseconds.
const STOOD: i64 = 2_000;

/// What was made of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The state; none where no agent was found.
    pub state: Option<State>,
    pub confidence: Confidence,
    /// What text and Enter would do; none where the screen was not to be looked at.
    pub enter: Option<Enter>,
}

/// Reads a recording with some of its traces only.
pub fn measure(registry: &Registry, recording: &Recording, sources: Sources) -> Measured {
    let found = recording.agent_found(registry);
    let manifest = registry.get(found.as_ref().map_or(&recording.agent, |found| &found.agent));
    let screen = manifest
        .filter(|_| sources.include(Sources::Screen))
        .map(|manifest| read(manifest, &Screen::parse(&recording.screen), &recording.screen_context(registry)));
    let enter = screen.as_ref().map(|reading| reading.composer.enter);
    let (Some(found), Some(manifest)) = (found, manifest) else {
        return Measured { state: None, confidence: Confidence::Low, enter };
    };
    let mut stage = Stage::new(registry, &found);
    stage.play(&traces(recording, manifest, &found, sources, screen));
    let (state, confidence) = stage.verdict();
    Measured { state: Some(state), confidence, enter }
}

/// Something that was said, in the order in which the daemon would have heard it.
struct Trace {
    source: Source,
    /// Seconds since the epoch; what was so at the moment of the capture has none.
    at: Option<f64>,
    readings: Vec<Reading>,
}

fn traces(
    recording: &Recording,
    manifest: &Manifest,
    found: &Found,
    sources: Sources,
    screen: Option<ScreenReading>,
) -> Vec<Trace> {
    let mut traces = Vec::new();
    if sources.include(Sources::Hooks) {
        traces.extend(hooks(recording));
    }
    if sources.include(Sources::Stream) {
        traces.extend(stream(recording, manifest));
    }
    if sources.include(Sources::Vendor) {
        traces.extend(session_file(recording, found));
    }
    if let Some(reading) = screen {
        traces.push(Trace { source: Source::Screen, at: None, readings: reading.readings });
    }
    traces
}

fn hooks(recording: &Recording) -> impl Iterator<Item = Trace> {
    let mut translator = Translator::default();
    recording.hooks.iter().map(move |hook| {
        let translation = translator.hook(&recording.agent, hook.event.as_deref(), &hook.payload);
        let source = if hook.as_argument { Source::Notify } else { Source::Hook };
        Trace { source, at: Some(hook.at), readings: translation.readings }
    })
}

/// What the stream carried, and the title that stood at its end. The stream has no clock of its own; its signs stand
/// until the next one, so the last ones are those of the moment of the capture.
fn stream(recording: &Recording, manifest: &Manifest) -> Vec<Trace> {
    let mut detector = SignalDetector::new();
    let mut sightings = Vec::new();
    detector.feed(&recording.stream, &mut sightings);
    detector.flush(&mut sightings);
    let mut signs = Signs::default();
    let mut traces: Vec<Trace> = Vec::new();
    let mut say = |source: Source, readings: Vec<Reading>| {
        traces.extend((!readings.is_empty()).then_some(Trace { source, at: None, readings }));
    };
    for sighting in &sightings {
        match sighting {
            Sighting::Marker(statement) => say(Source::Marker, vec![statement.reading()]),
            Sighting::Osc777(statement) => say(Source::Osc, vec![statement.reading()]),
            Sighting::Title(title) => say(Source::Osc, signs.title(manifest, title)),
            Sighting::Notify { title, body } => {
                let text = [title.as_deref(), body.as_deref()].into_iter().flatten().collect::<Vec<_>>().join(" ");
                say(Source::Osc, signs.notice(manifest, &text));
            }
            Sighting::Program { state, kind, .. } => {
                say(Source::Osc, signs.program_status(state, kind.as_deref()));
            }
            _ => {}
        }
    }
    say(Source::Osc, signs.title(manifest, &recording.pane.title));
    traces
}

fn session_file(recording: &Recording, found: &Found) -> Option<Trace> {
    let record = claude_session_file(recording.session_file.as_ref()?)?;
    let is_its = record.pid == found.pid || recording.pane.processes.iter().any(|process| process.pid == record.pid);
    is_its.then_some(Trace { source: Source::VendorFile, at: None, readings: record.readings })
}

/// An engine with one pane and one agent in it.
struct Stage {
    engine: Engine,
    runtime: RuntimeId,
    boot: BootId,
    now: i64,
    seq: u64,
}

impl Stage {
    fn new(registry: &Registry, found: &Found) -> Self {
        let target = TargetName::local();
        let boot = BootId::new("recording");
        let server = ServerId::derive(&target, "recording", 1, 1);
        let pane = PaneKey { server: server.clone(), pane: PaneId(0) };
        let process = ProcessKey { pid: found.pid, start: found.start };
        let agent = AgentId::new(found.agent.clone());
        let runtime = RuntimeId::derive(&pane, &boot, process, &agent);
        let lifetimes: BTreeMap<_, _> = registry
            .list()
            .map(|entry| (AgentId::new(entry.manifest.id.clone()), entry.manifest.lifetimes()))
            .collect();
        let mut stage = Self { engine: Engine::new(), runtime: runtime.clone(), boot: boot.clone(), now: 0, seq: 0 };
        stage.apply(Fact::PolicySet { policy: Policy { lifetimes, ..Policy::default() } });
        stage.apply(Fact::TargetAdded { target: target.clone(), kind: TargetKind::Local, connection: None });
        stage.apply(Fact::ServerSeen { server, target, socket: "recording".to_owned(), pid: 1, start_time: 1 });
        stage.apply(Fact::RuntimeStarted { runtime: runtime.clone(), pane, agent, boot, process, why: String::new() });
        if matches!(found.state, 'T' | 't') {
            stage.apply(Fact::ProcessChanged { runtime, process: ProcessState::Stopped });
        }
        stage
    }

    fn play(&mut self, traces: &[Trace]) {
        let start = traces.iter().filter_map(|trace| trace.at).fold(f64::MAX, f64::min);
        for trace in traces {
            // The log counts in whole milliseconds, and what comes later must not seem to come earlier.
            #[expect(clippy::cast_possible_truncation, reason = "a step lasts seconds")]
            let at = trace.at.map_or(self.now + 1, |at| ((at - start) * 1_000.0) as i64);
            self.now = self.now.max(at);
            for reading in &trace.readings {
                self.hear(trace.source, reading);
            }
        }
        // A capture shows what stood there, and not what changed in that very moment.
        self.now += STOOD;
        self.apply(Fact::Tick);
    }

    fn hear(&mut self, source: Source, reading: &Reading) {
        let id = format!("{:08}", self.seq);
        let claim = Claim::of_runtime(TargetName::local(), self.runtime.clone());
        // A step lasts seconds; the number of events within a millisecond is far below a million.
        let ns = u64::try_from(self.now).unwrap_or_default() * 1_000_000 + self.seq;
        self.apply(Fact::Signal(Box::new(SignalEvent {
            event_id: EventId::new(id.clone()),
            source,
            source_event_id: None,
            dedupe_key: reading.key.clone().map_or(id.clone(), |key| format!("{key}#{id}")),
            source_seq: None,
            emitted: Stamp { boot: self.boot.clone(), ns },
            event_time: None,
            claim,
            signal: reading.signal.clone(),
            message: reading.message.clone(),
            payload: None,
        })));
    }

    fn apply(&mut self, fact: Fact) {
        self.seq += 1;
        self.engine.apply(&Event { v: FORMAT, seq: self.seq, at: Timestamp(self.now), fact });
    }

    fn verdict(&self) -> (State, Confidence) {
        let runtime = self.engine.state().topology.live(&self.runtime);
        runtime.map_or((State::Unknown, Confidence::Low), |runtime| (runtime.verdict.state, runtime.verdict.confidence))
    }
}
