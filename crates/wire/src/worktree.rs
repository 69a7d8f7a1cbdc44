//! Git worktrees for agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A worktree that is to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NewWorktree {
    /// The branch, made if it is not there.
    pub branch: String,
    /// A directory in the repository, absolute; the workspace unless given.
    pub repo: Option<String>,
}

/// A worktree that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MadeWorktree {
    /// Where it is.
    pub path: String,
    /// The branch that is checked out in it.
    pub branch: String,
    /// Whether the branch was made too.
    pub is_new_branch: bool,
}

/// Which repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WorktreeQuery {
    /// A directory in it, absolute.
    pub repo: String,
}

/// The worktrees of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeList {
    /// Version of this document.
    pub schema_version: u32,
    /// The worktrees, the repository's own first.
    pub items: Vec<WorktreeItem>,
}

/// A worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorktreeItem {
    /// Where it is.
    pub path: String,
    /// The branch that is checked out; none if it is a commit alone.
    pub branch: Option<String>,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// Whether it is the repository's own.
    pub is_main: bool,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
    /// Why it is not really there, if it is not.
    pub prunable: Option<String>,
    /// The agents that live in it: their names or runtime ids.
    pub agents: Vec<String>,
}

/// Asks for a worktree to be removed, if nothing would be lost by that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RemoveWorktree {
    /// A directory in the repository, absolute.
    pub repo: String,
    /// Its branch or its path.
    pub worktree: String,
    /// Whether files that git ignores may go with it.
    pub force: bool,
}
