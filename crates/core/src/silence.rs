//! For which agents a model may be asked, and since when nothing was said of them.
//!
//! A guess is the last resort. It is worth its price where every better source has been silent for a while and the screen
//! tells nothing, whether or not what was said before still counts. All of that is read off the state, never off what a
//! process happens to remember, so that it is the same after a restart.

use crate::engine::Engine;
use crate::event::{Health, ProcessState};
use crate::facts::SourceRecord;
use crate::runtime::Runtime;
use crate::signal::Source;
use crate::state::State;
use crate::time::{Span, Timestamp};

/// Since when nothing was said of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When it was last heard of; when it was found, if it never was.
    pub since: Timestamp,
    /// When a model last guessed something about it that is remembered.
    pub guessed_at: Option<Timestamp>,
    /// Whether what is shown of it is a guess.
    pub is_guessed: bool,
    /// Whether what is shown of it was said by somebody who knows.
    pub is_known: bool,
}

impl Silence {
    /// Whether it has lasted long enough.
    pub fn lasts(&self, after: Span, now: Timestamp) -> bool {
        self.since + after <= now
    }

    /// Whether the last guess is one about this silence, and not about one that a signal has ended since.
    pub fn has_been_guessed(&self) -> bool {
        self.guessed_at.is_some_and(|at| at >= self.since)
    }
}

/// Every living runtime that can be looked at, unless its screen tells how it stands.
pub fn silences(engine: &Engine) -> impl Iterator<Item = (&Runtime, Silence)> {
    let topology = &engine.state().topology;
    let reachable = |runtime: &&Runtime| runtime.is_live() && topology.health(&runtime.target).0 != Health::Down;
    let runtimes = topology.runtimes.values().filter(reachable);
    let open = runtimes.filter(|runtime| runtime.process_state.0 == ProcessState::Alive && !is_seen(engine, runtime));
    open.map(|runtime| (runtime, silence(runtime)))
}

fn is_seen(engine: &Engine, runtime: &Runtime) -> bool {
    engine.fresh(runtime).iter().any(|fact| fact.source == Source::Screen && fact.held.value.bears_state())
}

fn silence(runtime: &Runtime) -> Silence {
    let heard = runtime.sources.iter().filter_map(|(source, record)| heard(*source, record)).max();
    let guesses = runtime.sources.get(&Source::Llm);
    let is_guessed = runtime.verdict.source == Some(Source::Llm);
    Silence {
        since: heard.unwrap_or_default().max(runtime.started_at),
        guessed_at: guesses.and_then(last_said),
        is_guessed,
        is_known: runtime.verdict.state != State::Unknown && !is_guessed,
    }
}

/// When a source last broke the silence. A screen is read whenever its pane changes, so that it was read is no sign of
/// anything; what it was seen to say is.
fn heard(source: Source, record: &SourceRecord) -> Option<Timestamp> {
    match source {
        Source::Llm | Source::Scrollback => None,
        Source::Screen => last_said(record),
        Source::Hook
        | Source::Notify
        | Source::Wrapper
        | Source::AppServer
        | Source::Signal
        | Source::Api
        | Source::StatusFile
        | Source::EventsFile
        | Source::VendorFile
        | Source::Marker
        | Source::Osc => record.heard_at,
    }
}

/// When a source last said something that bears a state.
fn last_said(record: &SourceRecord) -> Option<Timestamp> {
    record.facts().iter().filter(|held| held.value.bears_state()).map(|held| held.last.at).max()
}
