//! Every hook that was recorded, and what it is taken to mean.

use std::collections::BTreeSet;

use agtmux_agents::translate::Translator;
use agtmux_core::signal::Signal;

use crate::{recording, render};

fn table(agent: &str) -> String {
    let mut table = String::new();
    for recording in recording::of(agent) {
        table += &format!("== {} ({})\n", recording.name, recording.right().join(" or "));
        let mut translator = Translator::default();
        for hook in &recording.hooks {
            table += &render::translation(&translator.hook(agent, hook.event.as_deref(), &hook.payload));
        }
    }
    table
}

#[test]
fn claude() {
    insta::assert_snapshot!(table("claude"));
}

#[test]
fn codex() {
    insta::assert_snapshot!(table("codex"));
}

#[test]
fn copilot() {
    insta::assert_snapshot!(table("copilot"));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(table("gemini"));
}

#[test]
fn opencode() {
    insta::assert_snapshot!(table("opencode"));
}

/// A name that no rule knows would be a near miss in every session.
#[test]
fn every_recorded_event_is_known() {
    let mut unknown = BTreeSet::new();
    let mut hooks = 0;
    for agent in ["claude", "codex", "copilot", "gemini", "opencode"] {
        for recording in recording::of(agent) {
            for hook in &recording.hooks {
                hooks += 1;
                let told = agtmux_agents::translate::hook(agent, hook.event.as_deref(), &hook.payload);
                let unsupported = told.readings.iter().any(|r| matches!(r.signal, Signal::Unsupported { .. }));
                if unsupported {
                    unknown.insert(format!("{agent} {}", told.event));
                }
            }
        }
    }
    assert!(hooks > 400, "only {hooks} hooks were found");
    assert_eq!(unknown, BTreeSet::new());
}
