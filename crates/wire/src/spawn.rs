//! Starting agents: what is wanted, and what exists afterwards.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorDetail;
use crate::send::Sent;
use crate::worktree::{MadeWorktree, NewWorktree};

/// Asks for an agent to be started in a window of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SpawnRequest {
    /// The agent, or a model that it runs, such as `claude-opus`. Empty: with arguments, those are a command to run;
    /// without, the agent of the configuration.
    pub agent: String,
    /// A name for it, unique among the agents that live.
    pub name: Option<String>,
    /// The directory that it works in, absolute.
    pub workspace: Option<String>,
    /// A git worktree that is made for it to work in.
    pub worktree: Option<NewWorktree>,
    /// The session in which its window is opened; made if it is not there.
    pub session: Option<String>,
    /// A pane, `%3`, in whose session its window is opened.
    pub beside: Option<String>,
    /// Further arguments for the agent's program.
    pub arguments: Vec<String>,
    /// Further variables for it.
    pub variables: BTreeMap<String, String>,
    /// Where programs are found, as in the variable `PATH`; the daemon's own unless given.
    pub path: Option<String>,
    /// Whether the workspace is taught to signal; as configured unless given.
    pub provision: Option<bool>,
    /// How long to wait for the agent to be ready, in milliseconds.
    pub wait_ms: Option<u64>,
    /// Whether it runs in the wrapper; as configured unless given.
    pub wrap: Option<bool>,
    /// Its first prompt, sent once it takes prompts; a text as for `send`.
    pub prompt: Option<String>,
}

/// Where an agent stands that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SpawnStatus {
    /// It takes prompts.
    Ready,
    /// It shows a dialog that a person has to answer: whether to trust the folder, or to log in.
    WaitingInput,
    /// It runs, and it is not known whether it takes prompts yet.
    Starting,
    /// It runs, and nothing in its pane is known as an agent.
    Unrecognised,
    /// It ended.
    Ended,
}

/// An agent that was started, as far as it got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Spawned {
    /// Version of this document.
    pub schema_version: u32,
    /// The id of the action in the log.
    pub action_id: String,
    /// Where it stands.
    pub status: SpawnStatus,
    /// The program kind.
    pub agent: String,
    /// The model it was told to use.
    pub model: Option<String>,
    /// Its runtime, once it was found.
    pub runtime_id: Option<String>,
    /// Its name, once it has it.
    pub name: Option<String>,
    /// Its state.
    pub state: Option<String>,
    /// Why it is in that state.
    pub reason_code: Option<String>,
    /// The conversation that it goes on with.
    pub conversation: Option<String>,
    /// The target.
    pub target: String,
    /// The socket of its tmux server.
    pub tmux_socket: String,
    /// The name of its session.
    pub session_name: String,
    /// The id of its session, `$1`.
    pub session_id: String,
    /// The id of its window, `@2`.
    pub window_id: String,
    /// The id of its pane, `%3`.
    pub pane_id: String,
    /// The directory that it works in.
    pub workspace: String,
    /// The worktree that was made for it.
    pub worktree: Option<MadeWorktree>,
    /// The program that was run, with its arguments.
    pub command: Vec<String>,
    /// Whether it runs in the wrapper.
    pub wrapped: bool,
    /// What became of its first prompt, if it was typed.
    pub prompt: Option<Sent>,
    /// What is worth knowing besides.
    pub notes: Vec<String>,
    /// What of the request was not done, and what to do about it.
    pub problem: Option<ErrorDetail>,
}
