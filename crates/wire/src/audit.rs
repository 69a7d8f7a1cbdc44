//! The audit chain: who did what to which agent, and whether the record of it is whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::Snapshot;

/// `GET /v1/audit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditList {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The newest actions, the latest last.
    pub items: Vec<AuditItem>,
}

/// An action, from the wish to its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditItem {
    /// Its id.
    pub action_id: String,
    /// When it was wished, RFC 3339.
    pub at: String,
    /// Who wished it.
    pub actor: AuditActor,
    /// What was to be done; null if the row that says so is not kept any more.
    pub verb: Option<String>,
    /// To whom, as it was written.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// If what is so.
    pub guard: Option<AuditGuard>,
    /// What it was decided on; null if it was refused before that.
    pub snapshot: Option<Snapshot>,
    /// The last step: `prepared` and never acted on, `permitted`, `started` and nobody knows what came of it, `done`,
    /// `failed`, so that something may have been done, or `refused`, so that nothing was.
    pub outcome: String,
    /// The error code of what failed or was refused.
    pub code: Option<String>,
    /// What exactly was to be done, for people: of messages, which, and who wrote each.
    #[serde(default)]
    pub detail: Option<String>,
    /// What came of it, or why it was not done, for people.
    pub text: Option<String>,
    /// When the last step was taken, RFC 3339.
    pub ended_at: String,
    /// The number of the last step's row in the chain.
    pub n: u64,
    /// The hash of that row.
    pub hash: String,
}

/// Who wished an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditActor {
    /// The user.
    pub uid: u32,
    /// The process.
    pub pid: Option<u32>,
    /// The program's name.
    pub program: Option<String>,
    /// The runtime of the agent that it belongs to; null for a person.
    pub runtime_id: Option<String>,
    /// How that is known: `ancestors`, `capability` or `environment`.
    pub known_by: Option<String>,
}

/// What had to be so, besides what the verb takes for granted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditGuard {
    /// The runtime.
    pub if_runtime: Option<String>,
    /// The state.
    pub if_state: Option<String>,
    /// How long ago the state changed at most, in milliseconds.
    pub if_updated_within_ms: Option<u64>,
    /// The prompt.
    pub if_prompt: Option<String>,
    /// The state did not matter.
    pub force_stale: bool,
}

/// `GET /v1/audit/verify`: whether the chain is whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditVerdict {
    /// Whether nothing is wrong: no link is broken, and the kept hash, if one was given, is in the chain.
    pub whole: bool,
    /// How many rows there are.
    pub rows: u64,
    /// The number of the first; rows before it were let go of for their age.
    pub first: Option<u64>,
    /// The last row: keep its hash elsewhere.
    pub head: Option<AuditHead>,
    /// The first thing that is wrong, for people.
    pub broken: Option<String>,
    /// Of a kept hash, the row that has it.
    pub kept: Option<u64>,
}

/// The end of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditHead {
    /// The number of the row.
    pub n: u64,
    /// Its hash.
    pub hash: String,
}
