//! `[policy]`: what agents may do to agents.

use std::collections::BTreeSet;

use agtmux_core::action::Verb;
use agtmux_core::id::AgentId;
use agtmux_core::permission::{Grant, Permissions};
use serde::Deserialize;

/// `[policy]`. A key that nobody knows is an error here, as in a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// What every agent may do.
    pub agents_may: BTreeSet<Verb>,
    /// What some agents may do.
    pub grant: Vec<GrantConfig>,
}

/// `[[policy.grant]]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "RawGrant")]
pub struct GrantConfig {
    agent: Option<String>,
    name: Option<String>,
    may: BTreeSet<Verb>,
}

/// A grant as it is written. A key that nobody knows is an error here: without the condition that it was meant to be, the
/// grant would be for more agents than somebody wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGrant {
    agent: Option<String>,
    name: Option<String>,
    may: BTreeSet<Verb>,
}

impl TryFrom<RawGrant> for GrantConfig {
    type Error = &'static str;

    fn try_from(RawGrant { agent, name, may }: RawGrant) -> Result<Self, Self::Error> {
        if agent.is_none() && name.is_none() {
            return Err("a grant says whom it is for: `agent`, `name` or both; `agents_may` is for all");
        }
        Ok(Self { agent, name, may })
    }
}

impl PolicyConfig {
    /// What is to be decided by.
    pub fn permissions(&self) -> Permissions {
        let grants = self.grant.iter().map(|grant| Grant {
            agent: grant.agent.clone().map(AgentId::new),
            name: grant.name.clone(),
            may: grant.may.clone(),
        });
        Permissions { agents_may: self.agents_may.clone(), grants: grants.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn verbs_that_nobody_knows_and_grants_for_nobody_are_errors() {
        for (text, expected) in [
            ("[policy]\nagents_may = [\"sned\"]", "unknown variant `sned`"),
            ("[policy]\nagent_may = [\"send\"]", "unknown field `agent_may`"),
            ("[[policy.grant]]\nmay = [\"send\"]", "whom it is for"),
            ("[[policy.grant]]\nagent = \"claude\"\nnmae = \"lead\"\nmay = [\"send\"]", "unknown field `nmae`"),
            ("[[policy.grant]]\nagent = \"claude\"", "missing field `may`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("line "), "{error}");
        }
    }

    #[test]
    fn grants_are_read() {
        let text = "[policy]\nagents_may = [\"view-output\"]\n[[policy.grant]]\nname = \"lead\"\nmay = [\"send\", \"approve\"]";
        let permissions = parse(text).unwrap().config.policy.permissions();
        assert_eq!((permissions.agents_may.len(), permissions.grants[0].may.len()), (1, 2));
        assert_eq!(permissions.grants[0].name.as_deref(), Some("lead"));
    }
}
