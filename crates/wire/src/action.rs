//! Actions on agents: to whom, if what is so, and what came of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// To whom, and if what is so. A part of every action's request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Aim {
    /// A reference: `runtime:<id>`, `pane:<target>/<session>/<window>/<pane>`, `%<pane>`, a name.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// The id that the action is to have, `act_` and 8 to 60 small letters and digits, so that it can be found out what became of it
    /// should the answer be lost: `GET /v1/actions/{id}`. An id is used once. A snapshot has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_id: Option<String>,
    /// A snapshot that was made before, instead of a reference. It can be acted on once.
    pub snapshot_id: Option<String>,
    /// Only if this runtime is there, by its id or a beginning of it.
    pub if_runtime: Option<String>,
    /// Only if it is in this state.
    pub if_state: Option<String>,
    /// Only if its state changed no longer ago than so many milliseconds.
    pub if_updated_within_ms: Option<u64>,
    /// Only if it asks about this prompt, by its hash or a beginning of it.
    pub if_prompt: Option<String>,
    /// Act though its state is not what it was. Never sets aside whom the action is aimed at.
    pub force_stale: bool,
}

/// Asks for a snapshot, so that a person can be shown what an action would do before it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SnapshotRequest {
    /// What is to be done: `attach`, `send`, `view-output`, `kill`, `approve` or `deny`.
    pub verb: String,
    /// To whom, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
}

/// What an action was decided on. All of it must still be so when it acts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Its id, and the id of the action in the audit log.
    pub snapshot_id: String,
    /// What is to be done.
    pub verb: String,
    /// The target.
    pub target: String,
    /// The socket of the pane's tmux server.
    pub tmux_socket: String,
    /// The pane's id, `%3`.
    pub pane_id: String,
    /// The agent's runtime.
    pub runtime_id: Option<String>,
    /// The program kind.
    pub agent: Option<String>,
    /// The agent's process.
    pub pid: Option<u32>,
    /// Its state.
    pub state: Option<String>,
    /// The version of that.
    pub state_version: Option<u64>,
    /// What it asks permission for.
    pub prompt: Option<PromptItem>,
    /// When all this was so, RFC 3339.
    pub observed_at: String,
    /// From then on it may not be acted on, RFC 3339.
    pub expires_at: String,
}

/// What an agent asks permission for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PromptItem {
    /// Tells prompts apart; an answer is bound to it.
    pub hash: String,
    /// The tool or command, as shown.
    pub subject: Option<String>,
}
