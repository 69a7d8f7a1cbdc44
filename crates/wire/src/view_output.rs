//! `POST /v1/actions/view-output`: what an agent printed, bounded, without secrets and without anything a terminal obeys.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Aim, Snapshot};

/// Whose output, and how much of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ViewOutputRequest {
    /// Whose, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// The last so many lines: 100 unless said otherwise, 10,000 at most.
    #[serde(default)]
    pub lines: Option<u32>,
    /// Keep colours, as "select graphic rendition" sequences.
    #[serde(default)]
    pub ansi: bool,
    /// Keep the markers by which agents signal. They are left out otherwise.
    #[serde(default)]
    pub raw: bool,
    /// Look again where an action of before looked, by its id, for as long as the same agent is there. It is the same action, and
    /// `ref` is not needed.
    #[serde(default)]
    pub continues: Option<String>,
}

impl ViewOutputRequest {
    /// The same lines again, of the same look.
    #[must_use]
    pub fn going_on(self, shown: &Output) -> Self {
        Self { aim: Aim::default(), continues: Some(shown.snapshot.snapshot_id.clone()), ..self }
    }
}

/// What an agent printed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// Where the lines are from.
    pub source: OutputSource,
    /// The lines, oldest first.
    pub lines: Vec<String>,
    /// Whether there is more above them.
    pub truncated: bool,
    /// Whether something was taken out because it looks like a secret.
    pub redacted: bool,
}

/// Where lines are from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputSource {
    /// The pane's screen and what scrolled out of it.
    Scrollback,
    /// The pane's screen alone: the program has all of it, and leaves nothing above.
    Screen,
    /// The agent's own record of the conversation, because its screen shows only the end of it.
    Transcript,
}

impl OutputSource {
    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scrollback => "scrollback",
            Self::Screen => "screen",
            Self::Transcript => "transcript",
        }
    }
}
