//! Every recording without its paint: under `NO_COLOR`, and where nothing but text is left.

use agtmux_agents::Registry;
use agtmux_agents::screen::{Screen, ScreenReading, read};
use agtmux_core::signal::{Blocking, Outcome, Signal};

use crate::edits::{without_colours, without_paint};
use crate::recordings::all;

/// How many of a hundred have to be read right by shapes alone.
const RIGHT: usize = 97;

#[test]
fn without_colours_the_shapes_tell() {
    check(without_colours);
}

#[test]
fn without_any_paint_the_shapes_tell() {
    check(without_paint);
}

fn check(edit: fn(&[u8]) -> Vec<u8>) {
    let registry = Registry::builtin();
    let recordings = all();
    let mut missed = Vec::new();
    for recording in &recordings {
        let manifest = registry.get(&recording.agent).expect("a built-in agent");
        let reading = read(manifest, &Screen::parse(&edit(&recording.capture)), &recording.context);
        let (state, enter) = (state(&reading), reading.composer.enter);
        assert!(!enter.is_safe() || enter.name() == recording.enter, "{recording:?}: {}", enter.name());
        let right = if recording.states.is_empty() {
            state == "unknown"
        } else {
            recording.states.iter().any(|right| right == state || right == "completed" && state == "idle")
        };
        if !right {
            missed.push(format!("{recording:?}: {state} for {:?}", recording.states));
        }
    }
    let right = recordings.len() - missed.len();
    assert!(right * 100 >= recordings.len() * RIGHT, "{right} of {}:\n{}", recordings.len(), missed.join("\n"));
}

/// The state that a reading alone means.
fn state(reading: &ScreenReading) -> &'static str {
    let states = reading.readings.iter().filter_map(|reading| match &reading.signal {
        Signal::TurnStarted => Some("running"),
        Signal::TurnEnded { outcome: Outcome::Failed { .. } } => Some("error"),
        Signal::TurnEnded { .. } | Signal::Idle => Some("idle"),
        Signal::Blocked { on: Blocking::Approval { .. } } => Some("waiting_approval"),
        Signal::Blocked { .. } => Some("waiting_input"),
        _ => None,
    });
    states.into_iter().next().unwrap_or("unknown")
}
