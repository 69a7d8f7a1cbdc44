//! `GET /v1/next` and `POST /v1/acks`: who waits for a person, and that a person knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::PaneItem;

/// Who waits for a person, the one to go to first in front.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// Those who wait.
    pub items: Vec<QueueItem>,
}

/// One that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QueueItem {
    /// For what: `error`, `approval`, `input`, `mail_waiting` (messages do not reach it) or `completion`.
    pub kind: String,
    /// Since when, RFC 3339.
    pub waiting_since: String,
    /// Who.
    pub pane: PaneItem,
}

/// Says that a person knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AckRequest {
    /// Of this one, by a reference.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// Of all that wait now.
    pub all: bool,
}

/// Of whom a person knows now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledged {
    /// One entry each.
    pub items: Vec<AckItem>,
}

/// One that a person knows of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AckItem {
    /// The runtime.
    pub runtime_id: String,
    /// The program kind.
    pub agent: String,
    /// The pane's id.
    pub pane_id: String,
    /// The last of its calls.
    pub nudge_seq: u64,
}
