//! Events: what goes in by `POST /v1/events`, and the log as it comes out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::stream::MessageEvent;

/// `POST /v1/events`: one signal with its envelope. `agtmux signal` sends the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostEvent {
    /// A state name: running, waiting_input, waiting_approval, completed, idle, error, unknown; or working,
    /// needs_input, needs_testing.
    pub state: String,
    /// Text for the person.
    #[serde(default)]
    pub message: Option<String>,
    /// Where the event comes from. `api` unless said otherwise; only `signal` and `api` may be said.
    #[serde(default)]
    pub source: Option<String>,
    /// What the source calls the event.
    #[serde(default)]
    pub source_event_id: Option<String>,
    /// Repeats of one event carry one key and change nothing. Made from `source_event_id` or at random if absent.
    #[serde(default)]
    pub dedupe_key: Option<String>,
    /// Order within one runtime and source.
    #[serde(default)]
    pub source_seq: Option<u64>,
    /// Nanoseconds on the host's boot clock when the event happened.
    #[serde(default)]
    pub boot_ns: Option<u64>,
    /// The boot that `boot_ns` belongs to.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// The source's wall clock, RFC 3339; for display only.
    #[serde(default)]
    pub event_time: Option<String>,
    /// The runtime it is about.
    #[serde(default)]
    pub runtime_id: Option<String>,
    /// The capability that the agent was started with, in place of `runtime_id`. It counts where the sender's ancestors do
    /// not say whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
    /// The target it comes from; the local one unless said otherwise.
    #[serde(default)]
    pub target: Option<String>,
    /// The socket of the tmux server of `pane_id`.
    #[serde(default)]
    pub tmux_socket: Option<String>,
    /// The pane it is about.
    #[serde(default)]
    pub pane_id: Option<String>,
    /// The agent's process.
    #[serde(default)]
    pub pid: Option<u32>,
    /// The raw payload behind the event; redacted before it is kept.
    #[serde(default)]
    pub payload: Option<serde_json::Value>,
}

/// `POST /v1/events/batch`: many signals in one request, for collectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostEvents {
    /// The signals, oldest first; 1,000 at most.
    pub events: Vec<PostEvent>,
}

/// What became of each event of a batch, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedEvents {
    /// One entry per event.
    pub items: Vec<PostOutcome>,
}

/// What became of one event of a batch: one of the two is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostOutcome {
    /// It was taken in.
    pub posted: Option<PostedEvent>,
    /// It was refused.
    pub error: Option<crate::error::ErrorDetail>,
}

/// What became of a posted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedEvent {
    /// The id it was given.
    pub event_id: String,
    /// Its place in the log.
    pub seq: u64,
    /// What was done with it.
    pub status: BindStatus,
    /// The runtime it was bound to.
    pub runtime_id: Option<String>,
    /// The state of that runtime after it.
    pub state: Option<String>,
    /// For people.
    pub detail: String,
}

/// What was done with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BindStatus {
    /// Bound to a runtime and applied.
    Bound,
    /// Kept for a while, in case an agent is found that it belongs to.
    PendingBind,
    /// Seen before; changed nothing.
    Duplicate,
    /// Older than what the source already said; changed nothing.
    OutOfOrder,
    /// Belongs to no runtime; dropped.
    DroppedUnbound,
}

/// A stretch of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventList {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The events, oldest first.
    pub items: Vec<EventItem>,
    /// Pass it as `after` to go on.
    pub next_after: u64,
    /// There is more after these.
    pub truncated: bool,
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventItem {
    /// Its place in the log.
    pub seq: u64,
    /// When the daemon took it in, RFC 3339.
    pub at: String,
    /// What kind of fact it is.
    #[serde(rename = "type")]
    pub kind: String,
    /// The runtime it is about.
    pub runtime_id: Option<String>,
    /// One line for people.
    pub text: String,
    /// The steps of messages that it led to, as far as they are remembered.
    #[serde(default)]
    pub messages: Vec<MessageEvent>,
    /// The fact itself, as in the log.
    pub fact: serde_json::Value,
}
