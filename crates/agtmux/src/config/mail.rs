//! `[mail]`: who may write to whom, and how long a message may wait unnoticed.

use agtmux_core::mail::{MailPolicy, Pattern, Rule};
use agtmux_core::time::Span;
use serde::Deserialize;

/// `[mail]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MailConfig {
    /// Whether every agent may write to every agent.
    pub agents_write: bool,
    /// What some agents may besides.
    pub allow: Vec<AllowConfig>,
    /// Seconds after which a message that waits is told of; 0 is never.
    pub alarm_seconds: u32,
}

/// `[[mail.allow]]`. A key that nobody knows is an error here, as in a grant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AllowConfig {
    from: String,
    to: String,
    #[serde(default)]
    urgent: bool,
}

impl Default for MailConfig {
    fn default() -> Self {
        Self { agents_write: true, allow: Vec::new(), alarm_seconds: 600 }
    }
}

impl MailConfig {
    /// What is to be decided by.
    pub fn policy(&self) -> MailPolicy {
        let rules = self.allow.iter().map(|allow| Rule {
            from: Pattern::parse(&allow.from),
            to: Pattern::parse(&allow.to),
            urgent: allow.urgent,
        });
        MailPolicy { all_may: self.agents_write, rules: rules.collect() }
    }

    /// After how long a message that waits is told of.
    pub fn alarm(&self) -> Span {
        Span::seconds(i64::from(self.alarm_seconds))
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;

    #[test]
    fn rules_are_read_and_mistakes_in_them_are_errors() {
        let text = "[mail]\nagents_write = false\n[[mail.allow]]\nfrom = \"lead\"\nto = \"agent:codex\"\nurgent = true";
        let policy = parse(text).unwrap().config.mail.policy();
        assert!(!policy.all_may && policy.rules.len() == 1 && policy.rules[0].urgent, "{policy:?}");
        for (text, expected) in [
            ("[[mail.allow]]\nfrom = \"lead\"", "missing field `to`"),
            ("[[mail.allow]]\nfrom = \"lead\"\nto = \"*\"\nurgnet = true", "unknown field `urgnet`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("line "), "{error}");
        }
    }
}
