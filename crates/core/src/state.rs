//! The canonical state: one word per runtime, with its reason, its confidence and its evidence.

use serde::{Deserialize, Serialize};

use crate::signal::{Evidence, Source};
use crate::time::Timestamp;

/// What an agent is doing, as shown to people. Declared in order of precedence, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The last turn failed.
    Error,
    /// It asks for permission.
    WaitingApproval,
    /// It asks a question.
    WaitingInput,
    /// A turn is under way.
    Running,
    /// The last turn ended a moment ago.
    Completed,
    /// It sits at its composer.
    Idle,
    /// Nothing trustworthy is known; the reason says why.
    Unknown,
}

impl State {
    /// All states, in order of precedence.
    pub const ALL: [Self; 7] = [
        Self::Error,
        Self::WaitingApproval,
        Self::WaitingInput,
        Self::Running,
        Self::Completed,
        Self::Idle,
        Self::Unknown,
    ];

    /// The name used in the log, the API and the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::WaitingApproval => "waiting_approval",
            Self::WaitingInput => "waiting_input",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Idle => "idle",
            Self::Unknown => "unknown",
        }
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Every reason code that this state comes with.
    pub const fn reasons(self) -> &'static [&'static str] {
        match self {
            Self::Error => {
                &["rate_limit", "usage_limit", "auth", "network", "crashed", "tool", "refused", "reported", "other"]
            }
            Self::WaitingApproval => &["approval"],
            Self::WaitingInput => &["question", "needs_testing", "dialog"],
            Self::Running => &["turn_active", "compacting", "retrying"],
            Self::Completed => &["turn_done", "background_work"],
            Self::Idle => &["at_composer", "completed_aged", "interrupted", "background_work"],
            Self::Unknown => &["no_signal", "stale_signal", "unsupported_signal", "suspended", "target_unreachable"],
        }
    }

    /// Whether a person has to do something before the agent can go on.
    pub const fn needs_action(self) -> bool {
        matches!(self, Self::Error | Self::WaitingApproval | Self::WaitingInput)
    }
}

/// How sure the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess, or no knowledge at all.
    Low,
    /// Seen, not told.
    Medium,
    /// Told by the agent or its records.
    High,
}

impl Confidence {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// A resolved state and the facts it rests on. A pure function of a runtime's fresh facts and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The state.
    pub state: State,
    /// Why, as a stable code: one of [`State::reasons`].
    pub reason: String,
    /// How sure.
    pub confidence: Confidence,
    /// Trust class of the fact that decided; none when nothing is known.
    pub evidence: Option<Evidence>,
    /// The source of the fact that decided.
    pub source: Option<Source>,
    /// Since when the runtime has been so, on the daemon's wall clock.
    pub since: Timestamp,
    /// Text for the person.
    pub message: Option<String>,
}
