//! Who may write to whom.
//!
//! People may write to everybody. Agents may too, unless the configuration says otherwise; what is urgent, and interrupts whoever
//! gets it, only where a rule says so. Rules add up and never take away.

use super::letter::{Letter, Mode};
use super::limits::Limits;
use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::id::{AgentId, RuntimeId};

/// Whom agents may write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MailPolicy {
    /// Every agent may write to every agent.
    pub all_may: bool,
    /// What some agents may besides.
    pub rules: Vec<Rule>,
    /// How much they may write.
    pub limits: Limits,
}

/// Some agents may write to some agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Who may write.
    pub from: Pattern,
    /// To whom.
    pub to: Pattern,
    /// What is urgent too.
    pub urgent: bool,
}

/// Which agents are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Those of a name; each `*` in it stands for any text, and alone also for those without a name.
    Name(String),
    /// Those of a kind.
    Agent(AgentId),
}

/// An agent that writes or is written to, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correspondent<'a> {
    /// Which agent it is; not known of one that is over.
    pub agent: Option<&'a AgentId>,
    /// Its name.
    pub name: Option<&'a str>,
}

impl Default for MailPolicy {
    fn default() -> Self {
        Self { all_may: true, rules: Vec::new(), limits: Limits::default() }
    }
}

impl MailPolicy {
    /// Whether an agent may write to another one.
    pub fn allows(&self, from: Correspondent<'_>, to: Correspondent<'_>, mode: Mode) -> bool {
        let is_urgent = mode > Mode::Important;
        let suits = |rule: &&Rule| rule.from.means(from) && rule.to.means(to);
        (self.all_may && !is_urgent) || self.rules.iter().filter(suits).any(|rule| rule.urgent || !is_urgent)
    }
}

impl Pattern {
    /// The pattern that a text is: `agent:KIND`, or a name in which `*` stands for any text.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix("agent:") {
            Some(kind) => Self::Agent(AgentId::new(kind)),
            None => Self::Name(text.to_owned()),
        }
    }

    fn means(&self, who: Correspondent<'_>) -> bool {
        match self {
            Self::Agent(kind) => who.agent == Some(kind),
            Self::Name(pattern) => pattern == "*" || who.name.is_some_and(|name| is_like(name, pattern)),
        }
    }
}

/// Whether a name is what a pattern says. The first piece begins it, the last one ends it, and those between come in their order.
fn is_like(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(name) = name.strip_prefix(first) else { return false };
    let (between, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(mut name) = name.strip_suffix(last) else { return false };
    for piece in between.split('*').filter(|piece| !piece.is_empty()) {
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    true
}

impl Engine {
    /// Whether a message may be sent by who sends it to whom it is for. An agent may always remind itself.
    ///
    /// # Errors
    /// Refused if it is an agent that may not write to that one, or not so urgently.
    pub fn may_correspond(&self, policy: &MailPolicy, letter: &Letter) -> Result<(), Refusal> {
        let Some(from) = letter.writer_to_another() else { return Ok(()) };
        if policy.allows(self.correspondent(from), self.correspondent(&letter.to), letter.mode) {
            return Ok(());
        }
        let (from, to) = (letter.from.name(), &letter.to_name);
        let (how, key) = if letter.mode > Mode::Important { (" urgently", ", urgent = true") } else { ("", "") };
        Err(refuse(RefusalCode::NotAllowed, format!("{from} is an agent, and may not write to {to}{how}")).hint(
            format!(
                "a person may; or allow it in config.toml: [[mail.allow]] with from = \"{from}\", to = \"{to}\"{key}"
            ),
        ))
    }

    fn correspondent(&self, id: &RuntimeId) -> Correspondent<'_> {
        let runtime = self.state().topology.live(id);
        Correspondent {
            agent: runtime.map(|runtime| &runtime.agent),
            name: runtime.and_then(|runtime| runtime.name.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(from: &str, to: &str, urgent: bool) -> Rule {
        Rule { from: Pattern::parse(from), to: Pattern::parse(to), urgent }
    }

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, expected) in [
            ("worker-*", "worker-1", true),
            ("worker-*", "worker-", true),
            ("worker-*", "a-worker-1", false),
            ("*-api", "blue-api", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a*a", "a", false),
            ("lead", "lead", true),
            ("lead", "leader", false),
        ] {
            assert_eq!(is_like(name, pattern), expected, "{pattern} {name}");
        }
    }

    /// Every writer and reader under every policy: nobody may what no rule says, and what may be urgent may be patient.
    #[test]
    fn nobody_writes_to_whom_they_may_not() {
        let claude = AgentId::new("claude");
        let codex = AgentId::new("codex");
        let who = [
            Correspondent { agent: Some(&claude), name: Some("lead") },
            Correspondent { agent: Some(&codex), name: Some("worker-1") },
            Correspondent { agent: Some(&codex), name: None },
            Correspondent { agent: None, name: None },
        ];
        let patterns = ["lead", "worker-*", "*", "agent:codex", "agent:gemini"];
        // Which of them each pattern means.
        let meant = [
            [true, false, false, false],
            [false, true, false, false],
            [true; 4],
            [false, true, true, false],
            [false; 4],
        ];
        let mut cases = 0;
        for all_may in [false, true] {
            for (from, means_from) in patterns.iter().zip(meant) {
                for (to, means_to) in patterns.iter().zip(meant) {
                    for urgent in [false, true] {
                        let policy =
                            MailPolicy { all_may, rules: vec![rule(from, to, urgent)], ..MailPolicy::default() };
                        for (writer, is_writer) in who.iter().zip(means_from) {
                            for (reader, is_reader) in who.iter().zip(means_to) {
                                let ruled = is_writer && is_reader;
                                for mode in Mode::ALL {
                                    let is_urgent = mode > Mode::Important;
                                    let expected = if is_urgent { ruled && urgent } else { all_may || ruled };
                                    assert_eq!(policy.allows(*writer, *reader, mode), expected, "{policy:?} {mode:?}");
                                    cases += 1;
                                }
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(cases, 2 * 25 * 2 * 16 * Mode::ALL.len());
    }
}
