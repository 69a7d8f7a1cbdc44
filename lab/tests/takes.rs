//! The takes themselves, without an agent: each can be read, and there are enough of each.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeSet;

use agtmux_lab::agent::Agent;
use agtmux_lab::record::{VARIANTS, takes};

#[test]
fn every_take_has_a_name_of_its_own() {
    let sessions = takes().unwrap();
    for agent in Agent::ALL {
        let cases: Vec<_> =
            sessions.iter().filter(|session| session.agent == agent).flat_map(|session| session.cases()).collect();
        let distinct: BTreeSet<_> = cases.iter().collect();
        assert_eq!(cases.len(), distinct.len(), "two takes of {agent} have one name: {cases:?}");
        assert!(cases.len() >= 25, "{agent} has {} takes", cases.len());
    }
}

#[test]
fn every_variant_has_takes_of_its_agents() {
    let sessions = takes().unwrap();
    for variant in VARIANTS {
        for agent in Agent::ALL.into_iter().filter(|agent| variant.is_for(*agent)) {
            let mut of_agent = sessions.iter().filter(|session| session.agent == agent);
            assert!(of_agent.any(|session| session.is_in(variant.name)), "{agent} has no take in {}", variant.name);
        }
    }
}
