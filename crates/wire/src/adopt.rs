//! Naming agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Aim;

/// Asks for a name to be given to an agent, or taken from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AdoptRequest {
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// The name; none takes it away.
    pub name: Option<String>,
}

/// An agent that was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Adopted {
    /// Version of this document.
    pub schema_version: u32,
    /// The id of the action in the log.
    pub action_id: String,
    /// Its runtime.
    pub runtime_id: String,
    /// The program kind.
    pub agent: String,
    /// The id of its pane, `%3`.
    pub pane_id: String,
    /// Its name now.
    pub name: Option<String>,
}
