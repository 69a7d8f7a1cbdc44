//! Agents that are known: what can be known of each, and how that works out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `GET /v1/agents`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentList {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The agents, by id.
    pub items: Vec<AgentItem>,
}

/// An agent that is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentItem {
    /// Its id, `claude` for instance.
    pub agent: String,
    /// Its name.
    pub name: String,
    /// The version of the contract that its manifest follows.
    pub contract: u32,
    /// The versions of the agent that its manifest was tested with.
    pub recorded: Vec<String>,
    /// What can be known of it.
    pub capabilities: Capabilities,
    /// The worst health among its runtimes; `unused` without any.
    pub health: String,
    /// How many runtimes it has.
    pub runtimes: u64,
}

/// What an adapter can tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// The agent reports what happens to it.
    pub event_driven: bool,
    /// No source tells every change of its state, so its screen has to be read too.
    pub polling_required: bool,
    /// It can be known that it waits for a permission.
    pub supports_waiting_approval: bool,
    /// It can be known that it waits for an answer.
    pub supports_waiting_input: bool,
    /// It can be known that a turn was finished.
    pub supports_completed: bool,
}

/// The adapter of one runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AdapterItem {
    /// What can be known of the agent.
    pub capabilities: Capabilities,
    /// `ok`; `degraded` if the agent could report and only its screen tells; `unsupported` if what it reports is not
    /// understood; `silent` if nothing was heard of it yet.
    pub health: String,
}
