//! Targets: the places where commands run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::TargetError;

/// All targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetList {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The filters that were in force. There are none for targets yet.
    #[serde(default)]
    pub filters: TargetFilters,
    /// Counts over the targets.
    #[serde(default)]
    pub summary: TargetSummary,
    /// The targets, by name.
    pub items: Vec<TargetItem>,
    /// Targets that could not answer.
    #[serde(default)]
    pub errors: Vec<TargetError>,
}

/// What a list of targets was narrowed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetFilters {}

/// Counts over targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetSummary {
    /// How many targets.
    pub total: u64,
    /// By health; every health is present.
    pub by_health: BTreeMap<String, u64>,
    /// How many runtimes on all of them.
    pub runtimes: u64,
}

/// A target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetItem {
    /// What names it.
    pub identity: TargetIdentity,
    /// How it is reached.
    pub kind: TargetKind,
    /// The ssh alias; no secret is ever kept.
    pub connection_ref: Option<String>,
    /// ok, degraded or down.
    pub health: String,
    /// What is wrong.
    pub detail: Option<String>,
    /// The one that is meant where none is named.
    pub is_default: bool,
    /// How many runtimes it has.
    pub runtimes: u64,
    /// How many tmux servers run on it.
    #[serde(default)]
    pub servers: u64,
    /// How many panes it has.
    #[serde(default)]
    pub panes: u64,
    /// When its health was last learned, RFC 3339.
    pub updated_at: Option<String>,
}

/// What names a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct TargetIdentity {
    /// Its name.
    pub target: String,
}

/// How a target is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// This host.
    Local,
    /// Another host, by OpenSSH.
    Ssh,
}

/// `POST /v1/targets`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AddTarget {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub kind: TargetKind,
    /// The host as in `ssh HOST`.
    #[serde(default)]
    pub ssh_target: Option<String>,
}
