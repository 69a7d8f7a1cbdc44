//! `[mail]`: who may write to whom, how messages are delivered, and how long one may wait unnoticed.

use std::time::Duration;

use agtmux_core::mail::{Limits, MailPolicy, Pattern, Rule};
use agtmux_core::time::Span;
use serde::Deserialize;

/// `[mail]`. A key that nobody knows is an error here: if it was meant to be `agents_write`, agents would be allowed more than
/// somebody wanted.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MailConfig {
    /// Whether every agent may write to every agent.
    pub agents_write: bool,
    /// What some agents may besides.
    pub allow: Vec<AllowConfig>,
    /// Seconds after which a message that waits is told of; 0 is never.
    pub alarm_seconds: u32,
    /// Seconds between two looks at a person's text that is in the way of a message.
    pub input_poll_interval: u32,
    /// Seconds for which that text has to be the same before it is put aside.
    pub input_stale_timeout: u32,
    /// Seconds after which a message is not delivered any more unless it says so itself; 0 for never.
    pub default_timeout: u32,
    /// How many messages are delivered at once.
    pub max_batch_size: u32,
    /// Seconds for which mail that is not urgent waits for the next prompt of a person who has interrupted an agent; 0 is not at all.
    pub quiet_after_interrupt: u32,
    /// How many messages one agent may write to one other in ten minutes; 0 is any number.
    pub pair_limit: u32,
    /// How many messages one agent may write to all others in a minute; 0 is any number.
    pub sender_limit: u32,
    /// How many messages agents may write in one thread in ten minutes, unless a person writes in it; 0 is any number.
    pub thread_limit: u32,
    /// Whether whoever sees a pane in which a text was put aside and came back is told, in the status line of tmux.
    pub tell_restored: bool,
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
        Self {
            agents_write: true,
            allow: Vec::new(),
            alarm_seconds: 600,
            input_poll_interval: 5,
            input_stale_timeout: 120,
            default_timeout: 0,
            max_batch_size: 10,
            quiet_after_interrupt: 600,
            pair_limit: count(Limits::default().pair),
            sender_limit: count(Limits::default().sender),
            thread_limit: count(Limits::default().thread),
            tell_restored: true,
        }
    }
}

impl MailConfig {
    /// Between two looks.
    pub fn poll(&self) -> Span {
        Span::seconds(i64::from(self.input_poll_interval.max(1)))
    }

    /// When a text is stale.
    pub fn stale(&self) -> Span {
        Span::seconds(i64::from(self.input_stale_timeout))
    }

    /// The timeout of a message that has none.
    pub fn timeout(&self) -> Option<Span> {
        (self.default_timeout > 0).then(|| Span::seconds(i64::from(self.default_timeout)))
    }

    /// How many go together.
    pub fn batch(&self) -> usize {
        number(self.max_batch_size.max(1))
    }

    /// Between two tries to put a text back.
    pub fn pause(&self) -> Duration {
        Duration::from_secs(u64::from(self.input_poll_interval.max(1)))
    }

    /// What is to be decided by.
    pub fn policy(&self) -> MailPolicy {
        let rules = self.allow.iter().map(|allow| Rule {
            from: Pattern::parse(&allow.from),
            to: Pattern::parse(&allow.to),
            urgent: allow.urgent,
        });
        let limits = Limits {
            pair: number(self.pair_limit),
            sender: number(self.sender_limit),
            thread: number(self.thread_limit),
        };
        MailPolicy { all_may: self.agents_write, rules: rules.collect(), limits }
    }

    /// How long mail waits for the next prompt of a person who has interrupted an agent.
    pub fn after_interrupt(&self) -> Span {
        Span::seconds(i64::from(self.quiet_after_interrupt))
    }

    /// After how long a message that waits is told of.
    pub fn alarm(&self) -> Span {
        Span::seconds(i64::from(self.alarm_seconds))
    }
}

fn number(configured: u32) -> usize {
    usize::try_from(configured).unwrap_or(usize::MAX)
}

fn count(default: usize) -> u32 {
    u32::try_from(default).unwrap_or(u32::MAX)
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
            ("[mail]\nagent_write = false", "unknown field `agent_write`"),
            ("[mail]\npair_limit = -1", "pair_limit"),
            ("[[mail.allow]]\nfrom = \"lead\"", "missing field `to`"),
            ("[[mail.allow]]\nfrom = \"lead\"\nto = \"*\"\nurgnet = true", "unknown field `urgnet`"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected) && error.contains("line "), "{error}");
        }
    }
}
