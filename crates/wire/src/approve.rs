//! `approve` and `deny`: answers to what an agent asks permission for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Aim, PromptItem};

/// Says yes, this once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApproveRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
}

/// Says no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DenyRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// What the agent is told. Refused where the agent cannot be told.
    #[serde(default)]
    pub reason: Option<String>,
}

/// What came of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The action in the audit log.
    pub action_id: String,
    /// Whether the agent has the answer.
    pub outcome: AnswerOutcome,
    /// How it was given.
    pub way: AnswerWay,
    /// What was answered.
    pub prompt: PromptItem,
    /// Whom.
    pub runtime_id: String,
    /// The program kind.
    pub agent: String,
    /// Its pane.
    pub pane_id: String,
}

/// Whether the agent has the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// It was told yes.
    Approved,
    /// It was told no.
    Denied,
    /// The answer was given, and it still shows the same question.
    Unconfirmed,
}

/// How an answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerWay {
    /// By the agent's own hook, which had waited for it.
    Hook,
    /// By the agent's own server.
    Server,
    /// By a key that was pressed in its pane.
    Keys,
}

impl AnswerWay {
    /// How, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Hook => "by its hook",
            Self::Server => "by its server",
            Self::Keys => "by a key",
        }
    }
}
