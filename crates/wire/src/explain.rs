//! `explain`: the chain of evidence behind a state, and what would change it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::PaneItem;
use crate::mail::Message;

/// Why a runtime is shown as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The pane as `list panes` shows it.
    pub pane: PaneItem,
    /// Why the process in the pane counts as this agent.
    pub identified_by: Option<String>,
    /// The facts, the deciding one first.
    pub chain: Vec<ExplainStep>,
    /// What each source said last.
    pub sources: Vec<ExplainSource>,
    /// What would change the state.
    pub would_change: Vec<String>,
    /// What the daemon cannot see of it, and what it reads instead.
    #[serde(default)]
    pub limits: Vec<String>,
    /// The message that it was given last, or may have been: who wrote it, by which way it went and on what evidence.
    #[serde(default)]
    pub last_message: Option<Message>,
}

/// A fact and what part it plays.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainStep {
    /// deciding, agrees, outranked, retired or expired.
    pub status: String,
    /// The kind of fact.
    pub fact: String,
    /// What it says.
    pub value: String,
    /// Who said it.
    pub source: String,
    /// How far that is to be trusted.
    pub evidence: String,
    /// The event it comes from.
    pub seq: u64,
    /// When it was taken in, RFC 3339.
    pub at: String,
    /// When it stops to count, RFC 3339.
    pub expires_at: Option<String>,
    /// More on the status, such as what retired it.
    pub note: Option<String>,
}

/// What is known of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainSource {
    /// The source.
    pub source: String,
    /// Its cursor.
    pub last_source_seq: Option<u64>,
    /// When it was last heard, RFC 3339.
    pub last_heard: Option<String>,
    /// Things it said that nobody understands.
    pub near_misses: u64,
    /// The last of them.
    pub last_near_miss: Option<String>,
}
