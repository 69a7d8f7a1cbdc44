//! `POST /v1/busy` and `POST /v1/ready`: an agent has something to do between its turns, and has done it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mail::MessageParty;

/// Says that an agent has something to do: messages that can wait wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BusyRequest {
    /// Which agent, by a reference; the one that asks, if not given.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    /// With what, for people.
    pub reason: Option<String>,
    /// For so many seconds at most; 3,600 unless given.
    pub for_seconds: Option<u64>,
}

/// Says that an agent has done what it had to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ReadyRequest {
    /// Which agent, by a reference; the one that asks, if not given.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
}

/// Whether an agent says that it has something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    /// Version of this document.
    pub schema_version: u32,
    /// Which agent.
    pub agent: MessageParty,
    /// What it has to do; none if it is ready.
    pub busy: Option<BusyItem>,
}

/// What an agent has to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BusyItem {
    /// In words.
    pub reason: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// Until then at the latest, RFC 3339.
    pub until: String,
}
