//! The numbers the engine decides by. They are part of the log: a replay uses those that were in force.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::signal::{Evidence, Source};
use crate::time::Span;

/// How long things hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// A completed turn is shown as `completed` this long, then as `idle`.
    pub completed_for: Span,
    /// An event that belongs to no known runtime waits this long for one.
    pub bind_within: Span,
    /// Lifetimes that an agent's manifest gives, by agent, fact and source.
    pub lifetimes: BTreeMap<AgentId, Vec<Lifetime>>,
    /// A message that waits longer than this is told of; nothing and none is ever.
    #[serde(default = "ten_minutes", skip_serializing_if = "is_ten_minutes")]
    pub mail_alarm: Span,
    /// After a person has interrupted an agent's turn, mail that is not urgent waits this long for their next prompt; nothing is not
    /// at all.
    #[serde(default = "ten_minutes", skip_serializing_if = "is_ten_minutes")]
    pub after_interrupt: Span,
    /// A model's guess speaks where nothing else was said for this long.
    #[serde(default = "five_minutes", skip_serializing_if = "is_five_minutes")]
    pub guess_after: Span,
}

const fn five_minutes() -> Span {
    Span::minutes(5)
}

fn is_five_minutes(span: &Span) -> bool {
    *span == five_minutes()
}

const fn ten_minutes() -> Span {
    Span::minutes(10)
}

fn is_ten_minutes(span: &Span) -> bool {
    *span == ten_minutes()
}

/// How long one kind of fact from one source stays fresh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetime {
    /// The kind of fact.
    pub fact: FactKind,
    /// The source that told it.
    pub source: Source,
    /// How long it holds without being renewed.
    pub holds: Span,
}

/// The kinds of fact the engine keeps about a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FactKind {
    /// A turn is under way.
    TurnActive,
    /// The last turn is over.
    TurnEnded,
    /// The agent waits for the person.
    Blocking,
    /// What it is busy with.
    Work,
    /// Background tasks.
    Background,
    /// What is in its input box.
    Composer,
}

impl FactKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::TurnActive, Self::TurnEnded, Self::Blocking, Self::Work, Self::Background, Self::Composer];

    /// The name used in manifests and in `explain`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TurnActive => "turn_active",
            Self::TurnEnded => "turn_ended",
            Self::Blocking => "blocking",
            Self::Work => "work",
            Self::Background => "background",
            Self::Composer => "composer",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            completed_for: Span::seconds(120),
            bind_within: Span::seconds(10),
            lifetimes: BTreeMap::new(),
            mail_alarm: ten_minutes(),
            after_interrupt: ten_minutes(),
            guess_after: five_minutes(),
        }
    }
}

impl Policy {
    /// After how long a message that waits is told of.
    pub fn mail_alarm(&self) -> Option<Span> {
        Some(self.mail_alarm).filter(|alarm| alarm.0 > 0)
    }

    /// How long mail waits for the next prompt of a person who has interrupted an agent.
    pub fn after_interrupt(&self) -> Option<Span> {
        Some(self.after_interrupt).filter(|quiet| quiet.0 > 0)
    }

    /// How long a fact of this kind from this source holds for this agent.
    pub fn holds(&self, agent: &AgentId, fact: FactKind, source: Source) -> Span {
        self.lifetimes
            .get(agent)
            .and_then(|lifetimes| lifetimes.iter().find(|l| l.fact == fact && l.source == source))
            .map_or_else(|| default_lifetime(fact, source.evidence()), |l| l.holds)
    }
}

/// Lifetimes where a manifest is silent. Every fact expires, "idle" as well as "running" (F21); the weaker the
/// evidence, the sooner. A turn can be long and quiet, so "running" outlives a coffee break but not a lost hook.
const fn default_lifetime(fact: FactKind, evidence: Evidence) -> Span {
    match (evidence, fact) {
        (Evidence::Guessed, _) => Span::minutes(5),
        (Evidence::Observed, FactKind::TurnActive | FactKind::Work) => Span::minutes(2),
        (Evidence::Observed, _) => Span::minutes(30),
        (Evidence::Recorded | Evidence::Reported, FactKind::TurnActive) => Span::minutes(30),
        (Evidence::Recorded | Evidence::Reported, FactKind::Work | FactKind::Background) => Span::minutes(30),
        (Evidence::Recorded | Evidence::Reported, FactKind::Composer) => Span::minutes(10),
        (Evidence::Recorded | Evidence::Reported, FactKind::TurnEnded | FactKind::Blocking) => Span::hours(12),
    }
}
