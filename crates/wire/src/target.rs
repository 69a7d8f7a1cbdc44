//! Targets: the places where commands run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetList {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The targets, by name.
    pub items: Vec<TargetItem>,
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
