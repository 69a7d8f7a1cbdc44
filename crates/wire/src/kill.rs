//! `POST /v1/actions/kill`: signals an agent, and tells what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Aim, Snapshot};

/// Which signal, to whom, and what else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KillRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// The signal.
    #[serde(default)]
    pub signal: KillSignal,
    /// Close the pane too, once the agent is gone and nothing else is in the pane's foreground.
    #[serde(default)]
    pub close_pane: bool,
    /// How long to wait for the agent to end, in milliseconds: 5,000 unless said otherwise, 60,000 at most.
    #[serde(default)]
    pub wait_ms: Option<u64>,
}

/// A signal that ends an agent, or what it is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum KillSignal {
    /// What Ctrl-C sends: an agent may end, or only stop what it is doing.
    #[default]
    Int,
    /// Asks it to end.
    Term,
    /// Ends it, whatever it is doing; it cannot clean up.
    Kill,
}

impl KillSignal {
    /// The name, as `kill` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Int => "INT",
            Self::Term => "TERM",
            Self::Kill => "KILL",
        }
    }
}

/// What came of a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Killed {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// The signal.
    pub signal: KillSignal,
    /// Whom the signal reached.
    pub reached: Reached,
    /// What came of it.
    pub outcome: KillOutcome,
    /// How the agent ended, if it did: `exited`, `crashed`, `pane_closed`, …
    pub ending: Option<String>,
    /// Its state before.
    pub state_before: Option<String>,
    /// Its state after, if it lives.
    pub state_after: Option<String>,
    /// How long that took, in milliseconds.
    pub took_ms: u64,
    /// What became of the pane, if it was to be closed.
    pub pane: Option<PaneClosing>,
}

/// Whom a signal reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reached {
    /// The agent's process group: the agent and what it runs in the pane.
    Group,
    /// The agent alone, because its group is also that of the pane's own shell.
    Process,
}

/// What came of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KillOutcome {
    /// The agent has ended.
    Ended,
    /// The agent lives, and does no longer what it did.
    Interrupted,
    /// The agent lives, and nothing is known to have changed.
    StillRunning,
}

/// What became of a pane that was to be closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaneClosing {
    /// Whether the pane is gone.
    pub closed: bool,
    /// Why not, or how.
    pub detail: String,
}
