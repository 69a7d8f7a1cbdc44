//! `GET /v1/inbox` and `GET /v1/whoami`: what an agent was written, and for whom the daemon takes who asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::busy::BusyItem;
use crate::mail::{Message, MessageParty};

/// Whose inbox is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxQuery {
    /// Which agent's, by a reference; that of the one that asks, if not given. An agent may see its own.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// What an agent was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inbox {
    /// Version of this document.
    pub schema_version: u32,
    /// Whose it is.
    pub agent: MessageParty,
    /// What it says it has to do.
    pub busy: Option<BusyItem>,
    /// What waits for it, the next one first.
    pub waiting: Vec<InboxItem>,
    /// What it was given, the latest first, the last 20 of them.
    pub given: Vec<InboxItem>,
}

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InboxItem {
    /// The message and what became of it.
    pub message: Message,
    /// Its text; none when it has come to an end, since texts are kept no longer than that.
    pub text: Option<String>,
}

/// For whom the daemon takes who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Whoami {
    /// Version of this document.
    pub schema_version: u32,
    /// `agent` or `person`.
    pub kind: String,
    /// Who it is.
    pub party: MessageParty,
}
