//! Going on with conversations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spawn::SpawnRequest;

/// Asks for an agent to be started that goes on with a conversation. The answer is that of a start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ResumeRequest {
    /// Which: a runtime that ended, by its id or the name it had, or the agent's own id of the conversation.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The directory to work in where it is not known in which one the agent was.
    pub here: Option<String>,
    /// How it is started. Agent, name, directory and session are those of before unless given.
    #[serde(flatten)]
    pub start: SpawnRequest,
}
