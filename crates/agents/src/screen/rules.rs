//! Rules: what is to be seen, and what it means.

use std::fmt;

use agtmux_core::signal::{Blocking, Cause, InputKind, Outcome, Signal, Work};
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::condition::{Condition, Pattern};

/// The `[screen]` table of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScreenRules {
    /// What the first row of each message begins with, so that the last message can be told from those before.
    #[serde(default)]
    pub(super) message: Option<Condition>,
    /// What the first row of each prompt that was sent begins with.
    #[serde(default)]
    pub(super) sent: Option<Condition>,
    #[serde(default)]
    rules: Vec<Rule>,
}

/// One rule. Those of higher priority are tried first; of those that say what state the agent is in, the first that
/// matches counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The name it is known by in `agents test` and in a file that overrides it.
    pub id: String,
    pub priority: u32,
    /// Where it looks.
    pub region: Region,
    /// Each must hold in some row of the region.
    #[serde(default)]
    pub all: Vec<Condition>,
    /// One must hold, if there are any.
    #[serde(default)]
    pub any: Vec<Condition>,
    /// None may hold.
    #[serde(default)]
    pub not: Vec<Condition>,
    /// One must hold anywhere above the composer, if there are any.
    #[serde(default)]
    pub above: Vec<Condition>,
    /// Only on a screen without colours, where no paint can tell.
    #[serde(default)]
    pub uncoloured: bool,
    /// What it says.
    pub means: Meaning,
    /// Why, for errors and retries.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// What it is about: the group `subject` of the first of these that is found in the region's rows, or in the
    /// dialog's if it looks at the answers, joined by line ends.
    #[serde(default)]
    pub subject: Vec<Pattern>,
}

/// A part of the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Region {
    /// Everything.
    Screen,
    /// The last so many rows that are not blank.
    Bottom(usize),
    /// The pane's title, as one row.
    Title,
    /// What is above the composer.
    Above,
    /// The last row above the composer that is neither blank nor a notice at the right edge.
    LastLine,
    /// The last message above the composer.
    LastMessage,
    /// What stands above the composer since the last prompt that was sent, if that is on the screen.
    LastTurn,
    /// The composer's text, prompt included.
    Prompt,
    /// The composer with the borders around it.
    Frame,
    /// What is below the composer.
    Footer,
    /// The dialog.
    Dialog,
    /// The answers that the dialog offers, a row for each.
    Options,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    Running,
    Retrying,
    Compacting,
    Idle,
    Interrupted,
    Error,
    WaitingApproval,
    WaitingInput,
    Dialog,
    /// Tasks run beside the conversation. Says nothing about the turn.
    Background,
    /// What is seen must not be taken for any state.
    Unknown,
}

impl ScreenRules {
    /// The rules in the order in which they are tried.
    pub fn in_order(&self) -> Vec<&Rule> {
        let mut rules: Vec<&Rule> = self.rules.iter().collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.priority));
        rules
    }

    /// These rules with those of another table in the place of the ones that have the same id, and the rest added.
    pub(crate) fn overlaid_by(mut self, other: Self) -> Self {
        self.rules.retain(|rule| other.rules.iter().all(|newer| newer.id != rule.id));
        self.rules.extend(other.rules);
        Self { message: other.message.or(self.message), sent: other.sent.or(self.sent), rules: self.rules }
    }
}

impl Meaning {
    /// The name used in manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Retrying => "retrying",
            Self::Compacting => "compacting",
            Self::Idle => "idle",
            Self::Interrupted => "interrupted",
            Self::Error => "error",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingInput => "waiting_input",
            Self::Dialog => "dialog",
            Self::Background => "background",
            Self::Unknown => "unknown",
        }
    }

    /// Whether it is a statement about the turn.
    pub(super) fn is_state(self) -> bool {
        self != Self::Background
    }

    /// The signals that say it.
    pub(super) fn signals(self, cause: Option<Cause>, subject: Option<&str>, prompt_hash: Option<&str>) -> Vec<Signal> {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let cause = cause.unwrap_or(Cause::Other);
        let blocked = |on| vec![Signal::Blocked { on }];
        match self {
            Self::Running if subject.is_some() => {
                vec![Signal::TurnStarted, Signal::Working { with: Work::Thinking }]
            }
            Self::Running => vec![Signal::TurnStarted],
            Self::Retrying => {
                vec![Signal::TurnStarted, Signal::Working { with: Work::Retrying { cause } }]
            }
            Self::Compacting => vec![Signal::TurnStarted, Signal::Working { with: Work::Compacting }],
            Self::Idle => vec![Signal::Idle],
            Self::Interrupted => vec![Signal::TurnEnded { outcome: Outcome::Interrupted }],
            Self::Error => vec![Signal::TurnEnded { outcome: Outcome::Failed { cause } }],
            Self::WaitingApproval => {
                blocked(Blocking::Approval { subject: owned(subject), prompt_hash: owned(prompt_hash) })
            }
            Self::WaitingInput => blocked(Blocking::Input { kind: InputKind::Question }),
            Self::Dialog => blocked(Blocking::Dialog { name: owned(subject) }),
            Self::Background => {
                let count = subject.and_then(|subject| subject.parse().ok()).unwrap_or(1);
                vec![Signal::Background { count }]
            }
            Self::Unknown => Vec::new(),
        }
    }
}

impl Region {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "screen" => Self::Screen,
            "title" => Self::Title,
            "above" => Self::Above,
            "last_line" => Self::LastLine,
            "last_message" => Self::LastMessage,
            "last_turn" => Self::LastTurn,
            "prompt" => Self::Prompt,
            "frame" => Self::Frame,
            "footer" => Self::Footer,
            "dialog" => Self::Dialog,
            "options" => Self::Options,
            _ => Self::Bottom(name.strip_prefix("bottom ")?.parse().ok()?),
        })
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Screen => "screen",
            Self::Bottom(rows) => return write!(f, "bottom {rows}"),
            Self::Title => "title",
            Self::Above => "above",
            Self::LastLine => "last_line",
            Self::LastMessage => "last_message",
            Self::LastTurn => "last_turn",
            Self::Prompt => "prompt",
            Self::Frame => "frame",
            Self::Footer => "footer",
            Self::Dialog => "dialog",
            Self::Options => "options",
        })
    }
}

impl<'de> Deserialize<'de> for Region {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| {
            de::Error::custom(format!(
                "unknown region {name:?}, expected screen, \"bottom N\", title, above, last_line, last_message, \
                 last_turn, prompt, frame, footer, dialog or options"
            ))
        })
    }
}
