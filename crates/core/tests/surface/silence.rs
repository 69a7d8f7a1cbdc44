//! Which runtimes a model may be asked about, and since when nobody speaks for them.

use agtmux_core::engine::Engine;
use agtmux_core::event::{Ending, Fact, Health, ProcessState};
use agtmux_core::id::{RuntimeId, TargetName};
use agtmux_core::signal::{Composer, Signal, Source, from_state_name};
use agtmux_core::silence::{Silence, silences};
use agtmux_core::time::{Span, Timestamp};

use crate::world::{World, signal};

/// When the agent of these tests is found: the fourth event, one a second.
const FOUND: Timestamp = Timestamp(3_000);

struct Quiet {
    world: World,
    runtime: RuntimeId,
    said: u64,
}

impl Quiet {
    fn new() -> Self {
        let mut world = World::default();
        let pane = world.pane("local", "main", (0, "api"), 1);
        let runtime = world.silent_agent(&pane, "claude");
        Self { world, runtime, said: 100 }
    }

    fn say(&mut self, seconds: i64, source: Source, what: Signal) {
        self.said += 1;
        let mut event = signal(TargetName::local(), Some(self.runtime.clone()), self.said, what);
        event.source = source;
        self.apply(seconds, Fact::Signal(Box::new(event)));
    }

    fn apply(&mut self, seconds: i64, fact: Fact) {
        self.world.apply_at(at(seconds), fact);
    }

    fn silence(&self) -> Option<Silence> {
        silences(&self.world.engine).map(|(_, silence)| silence).next()
    }
}

fn at(seconds: i64) -> Timestamp {
    Timestamp(seconds * 1_000)
}

fn state(name: &str) -> Signal {
    from_state_name(name).unwrap()
}

#[test]
fn an_agent_that_never_spoke_is_silent_since_it_was_found() {
    let silence = Quiet::new().silence().unwrap();
    assert_eq!(silence, Silence { since: FOUND, guessed_at: None, is_guessed: false, is_known: false });
    assert!(!silence.lasts(Span::minutes(5), at(302)));
    assert!(silence.lasts(Span::minutes(5), at(303)));
}

#[test]
fn who_speaks_is_silent_since_the_last_word_stale_or_not() {
    let mut quiet = Quiet::new();
    quiet.say(10, Source::Marker, state("running"));
    assert_eq!(quiet.silence(), Some(Silence { since: at(10), guessed_at: None, is_guessed: false, is_known: true }));
    quiet.apply(10 + 2 * 60, Fact::Tick);
    assert_eq!(quiet.silence(), Some(Silence { since: at(10), guessed_at: None, is_guessed: false, is_known: false }));
    quiet.say(200, Source::StatusFile, state("completed"));
    assert_eq!(quiet.silence().unwrap().since, at(200), "any other word ends the silence");
}

#[test]
fn any_source_ends_the_silence_even_by_taking_something_back() {
    for source in
        Source::ALL.into_iter().filter(|source| !matches!(source, Source::Llm | Source::Scrollback | Source::Screen))
    {
        let mut quiet = Quiet::new();
        quiet.say(50, source, Signal::Withdrawn);
        assert_eq!(quiet.silence().unwrap().since, at(50), "{source:?}");
    }
}

#[test]
fn a_screen_counts_by_what_it_says_and_not_by_being_read() {
    let mut quiet = Quiet::new();
    quiet.say(50, Source::Screen, Signal::Composer { is: Composer::Hidden });
    quiet.say(51, Source::Screen, Signal::Unsupported { what: "?".to_owned() });
    assert_eq!(quiet.silence().unwrap().since, FOUND);
    quiet.say(60, Source::Screen, state("running"));
    assert_eq!(quiet.silence(), None, "the screen is conclusive");
    quiet.apply(60 + 2 * 60, Fact::Tick);
    assert_eq!(quiet.silence().unwrap().since, at(60));
}

#[test]
fn a_guess_leaves_the_silence_as_it_is() {
    let mut quiet = Quiet::new();
    quiet.say(400, Source::Llm, state("waiting_input"));
    let silence = quiet.silence().unwrap();
    assert_eq!(silence, Silence { since: FOUND, guessed_at: Some(at(400)), is_guessed: true, is_known: false });
    assert!(silence.has_been_guessed());
    // A renewal is not another guess.
    quiet.say(500, Source::Llm, Signal::StillSo);
    assert_eq!(quiet.silence().unwrap(), silence);
    quiet.apply(500 + 5 * 60, Fact::Tick);
    assert_eq!(quiet.silence().unwrap(), Silence { is_guessed: false, ..silence });
}

#[test]
fn a_guess_from_before_a_signal_says_nothing_about_the_silence_after_it() {
    let mut quiet = Quiet::new();
    quiet.say(400, Source::Llm, state("running"));
    quiet.say(450, Source::Hook, Signal::Withdrawn);
    let silence = quiet.silence().unwrap();
    assert_eq!(silence.since, at(450));
    assert!(!silence.has_been_guessed());
}

#[test]
fn nobody_is_asked_about_what_cannot_be_seen_or_does_not_run() {
    let mut ended = Quiet::new();
    let runtime = ended.runtime.clone();
    ended.apply(20, Fact::RuntimeEnded { runtime, how: Ending::Exited });
    assert_eq!(ended.silence(), None);

    let mut suspended = Quiet::new();
    let runtime = suspended.runtime.clone();
    suspended.apply(20, Fact::ProcessChanged { runtime, process: ProcessState::Stopped });
    assert_eq!(suspended.silence(), None);

    let mut unreachable = Quiet::new();
    unreachable.apply(20, Fact::TargetHealth { target: TargetName::local(), health: Health::Down, detail: None });
    assert_eq!(unreachable.silence(), None);
}

#[test]
fn a_restart_changes_nothing() {
    let mut quiet = Quiet::new();
    quiet.say(10, Source::StatusFile, Signal::Withdrawn);
    quiet.say(400, Source::Llm, state("idle"));
    let before = quiet.silence();
    let stored = serde_json::to_string(quiet.world.engine.state()).unwrap();
    quiet.world.engine = Engine::restore(serde_json::from_str(&stored).unwrap());
    assert_eq!(quiet.silence(), before);
    assert_eq!(before.unwrap().since, at(10));
}
