//! Making room in an agent's composer where that cannot be done by itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Aim;

/// Asks for the text in an agent's composer to be kept in a file and cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearDraftRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
}

/// A text that was kept and cleared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClearedDraft {
    /// Version of this document.
    pub schema_version: u32,
    /// The id of the action in the audit log.
    pub action_id: String,
    /// The pane's id, `%3`.
    pub pane_id: String,
    /// The agent's runtime.
    pub runtime_id: String,
    /// The text.
    pub text: String,
    /// Whether the wrapper has seen it being typed. Otherwise it is what the screen showed: lines may be broken where the agent broke them.
    pub exact: bool,
    /// The file that holds it. Nobody but you removes it.
    pub file: String,
}
