//! Sending text to an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Aim;

/// Asks for a text to be typed at an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// The text: 1 byte to 256 KiB, without control characters but line feeds and tabs. Line feeds at its end are left out.
    pub text: String,
    /// Whether it is submitted. Otherwise it is left in the composer.
    #[serde(default = "yes")]
    pub enter: bool,
    /// Whether it is sent though the agent would run it, or pick from a menu, instead of reading it as a prompt.
    #[serde(default)]
    pub raw: bool,
}

const fn yes() -> bool {
    true
}

/// What became of a text that was typed at an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sent {
    /// Version of this document.
    pub schema_version: u32,
    /// The id of the action in the audit log.
    pub action_id: String,
    /// The pane's id, `%3`.
    pub pane_id: String,
    /// The agent's runtime.
    pub runtime_id: String,
    /// The program kind.
    pub agent: String,
    /// How far it got.
    pub status: SendStatus,
    /// What the agent does with a text that is submitted in the state it was in.
    pub effect: Option<SendEffect>,
    /// What shows that it got so far, strongest first.
    pub evidence: Vec<SendEvidence>,
    /// The way it took.
    pub channel: SendChannel,
    /// Why it took that way.
    pub channel_reason: String,
    /// How many bytes were typed.
    pub bytes: u64,
    /// How often Enter was pressed.
    pub enters: u32,
    /// All this in a sentence, for people.
    pub detail: String,
}

/// How far a text got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendStatus {
    /// The agent took it.
    Submitted,
    /// It is in the composer, and was not to be submitted.
    Typed,
    /// It was typed, and nothing shows that the agent took it.
    Unconfirmed,
}

/// What an agent does with a text that is submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendEffect {
    /// It starts a turn.
    Starts,
    /// It waits for the turn under way to end.
    Queued,
    /// It goes into the turn under way.
    Steers,
}

/// What shows how far a text got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendEvidence {
    /// The agent said that it was given a prompt.
    Hook,
    /// A turn began.
    TurnStarted,
    /// The agent shows it among the prompts that wait.
    Queued,
    /// It left the composer.
    LeftComposer,
    /// The composer showed it.
    InComposer,
}

/// The way a text took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendChannel {
    /// Pasted by tmux, under a guard.
    Tmux,
    /// Typed by the wrapper that the agent runs in.
    Wrapper,
}

impl SendStatus {
    /// The name in the JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submitted => "submitted",
            Self::Typed => "typed",
            Self::Unconfirmed => "unconfirmed",
        }
    }
}

impl SendEvidence {
    /// The name in the JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::TurnStarted => "turn_started",
            Self::Queued => "queued",
            Self::LeftComposer => "left_composer",
            Self::InComposer => "in_composer",
        }
    }
}
