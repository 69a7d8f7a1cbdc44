//! The stories themselves, without an agent: each can be read, and there are enough of each.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use agtmux_lab::agent::Agent;
use agtmux_lab::stories;
use agtmux_lab::story::{Step, Verb};

#[test]
fn every_story_can_be_read_and_expects_something() {
    for story in stories::all().unwrap() {
        let starts = |step: &Step| matches!(step.verb, Verb::Start(_) | Verb::Spawn { .. } | Verb::Shell(_));
        assert!(story.steps.iter().any(starts), "{story} does not start its agent");
        assert!(story.steps.iter().any(|step| matches!(step.verb, Verb::Expect(_))), "{story} expects nothing");
    }
}

#[test]
fn every_agent_has_its_stories() {
    let stories = stories::all().unwrap();
    let wanted =
        [(Agent::Claude, 12), (Agent::Codex, 8), (Agent::Gemini, 8), (Agent::Opencode, 6), (Agent::Copilot, 6)];
    for (agent, wanted) in wanted {
        let count = stories.iter().filter(|story| story.agent == agent).count();
        assert!(count >= wanted, "{agent} has {count} stories of {wanted}");
    }
}
