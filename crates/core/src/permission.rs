//! Who may do what to agents.
//!
//! A person may do everything. An agent may look, say what it is doing itself, and write messages, which wait for their time;
//! whatever else reaches into another agent's pane, its own included, needs a person, or a person who has granted it in the
//! configuration. Which of the two somebody is was found out from the kernel before ([`Actor::agent`]); here it is only decided.

use std::collections::BTreeSet;

use crate::action::{Actor, Verb};
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::id::AgentId;

/// What agents may do besides looking and writing. Nothing, unless granted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// What every agent may do.
    pub agents_may: BTreeSet<Verb>,
    /// What some agents may do.
    pub grants: Vec<Grant>,
}

/// What some agents may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Only agents of this kind.
    pub agent: Option<AgentId>,
    /// Only the agent of this name.
    pub name: Option<String>,
    /// What they may do.
    pub may: BTreeSet<Verb>,
}

/// An agent that wants something done, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker<'a> {
    /// Which agent it is; not known of one that is over.
    pub agent: Option<&'a AgentId>,
    /// Its name.
    pub name: Option<&'a str>,
}

impl Permissions {
    /// Whether somebody may do something; nobody in particular is a person.
    pub fn allow(&self, asker: Option<Asker<'_>>, verb: Verb) -> bool {
        let Some(asker) = asker else {
            return true;
        };
        verb.disturbs_nobody()
            || self.agents_may.contains(&verb)
            || self.grants.iter().any(|grant| grant.is_for(asker) && grant.may.contains(&verb))
    }
}

impl Grant {
    /// A grant that is for nobody in particular is for nobody.
    fn is_for(&self, asker: Asker<'_>) -> bool {
        let kind = self.agent.as_ref().is_none_or(|agent| asker.agent == Some(agent));
        let name = self.name.as_deref().is_none_or(|name| asker.name == Some(name));
        (self.agent.is_some() || self.name.is_some()) && kind && name
    }
}

impl Verb {
    /// Whether it only looks, or waits for its turn.
    const fn disturbs_nobody(self) -> bool {
        matches!(self, Self::ViewOutput | Self::Message)
    }
}

impl Engine {
    /// Whether somebody may do something.
    ///
    /// # Errors
    /// Refused if it is an agent that was not granted this.
    pub fn permit(&self, permissions: &Permissions, actor: &Actor, verb: Verb) -> Result<(), Refusal> {
        let Some(id) = &actor.agent else {
            return Ok(());
        };
        let runtime = self.state().topology.live(id);
        let asker = Asker {
            agent: runtime.map(|runtime| &runtime.agent),
            name: runtime.and_then(|runtime| runtime.name.as_deref()),
        };
        if permissions.allow(Some(asker), verb) {
            return Ok(());
        }
        let verb = verb.name();
        let who = match runtime {
            Some(runtime) => format!("{} ({})", runtime.name.as_deref().unwrap_or(id.as_str()), runtime.agent),
            None => id.to_string(),
        };
        Err(refuse(RefusalCode::NotAllowed, format!("{who} is an agent, and agents may not {verb}")).hint(format!(
            "a person may; or grant it in config.toml: agents_may = [\"{verb}\"] under [policy], or a [[policy.grant]]"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [Option<&str>; 3] = [Some("claude"), Some("codex"), None];
    const NAMES: [Option<&str>; 3] = [Some("lead"), Some("reviewer"), None];

    fn grant(agent: Option<&str>, name: Option<&str>, may: &[Verb]) -> Grant {
        Grant { agent: agent.map(AgentId::new), name: name.map(str::to_owned), may: may.iter().copied().collect() }
    }

    /// Every verb by a person and by agents of every kind and name, under every way to grant one verb: 9 verbs, 10 askers,
    /// 1 + 9 × 10 configurations.
    #[test]
    fn nobody_may_what_was_not_granted_to_them() {
        let mut configurations = vec![(Permissions::default(), None)];
        for granted in Verb::ALL {
            let all = Permissions { agents_may: BTreeSet::from([granted]), grants: Vec::new() };
            configurations.push((all, Some((granted, None, None, true))));
            for agent in KINDS {
                for name in NAMES {
                    let some =
                        Permissions { agents_may: BTreeSet::new(), grants: vec![grant(agent, name, &[granted])] };
                    let counts = agent.is_some() || name.is_some();
                    configurations.push((some, Some((granted, agent, name, counts))));
                }
            }
        }
        let mut cases = 0;
        for (permissions, granted) in &configurations {
            for verb in Verb::ALL {
                assert!(permissions.allow(None, verb), "a person may {verb:?}");
                cases += 1;
                for kind in KINDS {
                    for name in NAMES {
                        let id = kind.map(AgentId::new);
                        let may = permissions.allow(Some(Asker { agent: id.as_ref(), name }), verb);
                        let expected = matches!(verb, Verb::ViewOutput | Verb::Message)
                            || granted.is_some_and(|(granted, to_kind, to_name, counts)| {
                                let meant = |to: Option<&str>, is: Option<&str>| to.is_none() || to == is;
                                counts && granted == verb && meant(to_kind, kind) && meant(to_name, name)
                            });
                        assert_eq!(may, expected, "{verb:?} by {kind:?} {name:?} under {granted:?}");
                        cases += 1;
                    }
                }
            }
        }
        assert_eq!(cases, 9 * 10 * 91);
    }

    #[test]
    fn grants_add_up_and_never_take_away() {
        let claude = AgentId::new("claude");
        let lead = Asker { agent: Some(&claude), name: Some("lead") };
        let permissions = Permissions {
            agents_may: BTreeSet::from([Verb::Send]),
            grants: vec![
                grant(Some("claude"), None, &[Verb::Approve]),
                grant(None, Some("lead"), &[Verb::Kill, Verb::Spawn]),
                grant(Some("codex"), Some("lead"), &[Verb::Deny]),
            ],
        };
        let may: Vec<_> = Verb::ALL.into_iter().filter(|verb| permissions.allow(Some(lead), *verb)).collect();
        assert_eq!(may, [Verb::Send, Verb::ViewOutput, Verb::Kill, Verb::Approve, Verb::Spawn, Verb::Message]);
    }
}
