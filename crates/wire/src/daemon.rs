//! The daemon about itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `agtmux daemon status --json` and `GET /v1/daemon`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DaemonStatus {
    /// Its process.
    pub pid: u32,
    /// Its version.
    pub version: String,
    /// Its socket.
    pub socket: String,
    /// How long it has run, in seconds.
    pub uptime_s: u64,
    /// Where its database is.
    pub state_dir: String,
    /// Counts the starts of a daemon on this state directory.
    pub epoch: u64,
    /// The newest place in the log.
    pub seq: u64,
    /// The tmux servers it watches, running or not.
    pub tmux_servers: Vec<TmuxServer>,
    /// How the hooks of agents fare.
    pub hooks: HookFigures,
    /// What is not as it should be.
    pub problems: Vec<String>,
    /// The file of the program that it runs.
    #[serde(default)]
    pub program: Option<String>,
    /// That file has been replaced since it was started: it runs an older program than the one on the disk.
    #[serde(default)]
    pub program_replaced: bool,
}

/// The hooks of agents, counted since the daemon started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HookFigures {
    /// Hooks that are in the log.
    pub taken: u64,
    /// Hooks that had waited in the spool, whatever became of them.
    pub spooled: u64,
    /// Hooks of no agent in a pane: one-shot runs, agents that other agents run, programs outside of tmux, and servers that
    /// several agents share, where it is not certain whose the hook is.
    pub passed_over: u64,
    /// The agent and the reason of the last hook that was passed over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed_over_last: Option<String>,
    /// Hooks whose payload or spool file was garbage.
    pub unread: u64,
    /// Hooks that were lost because the spool was full or of another boot.
    pub dropped: u64,
}

/// A tmux server that the daemon watches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TmuxServer {
    /// Its socket.
    pub socket: String,
    /// connected, not_running, connecting or unsupported.
    pub status: String,
    /// Its process, when it runs.
    pub pid: Option<u32>,
    /// When it started, RFC 3339.
    pub started_at: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// How many panes it has.
    pub panes: u64,
    /// How many of them hold an agent.
    pub agents: u64,
    /// How many pane streams the daemon reads.
    pub streams: u64,
    /// How many panes with an agent have their output read by another program, so that the daemon reads their screens.
    #[serde(default)]
    pub taken: u64,
    /// Bytes read from pane streams since the daemon connected.
    pub stream_bytes: u64,
    /// How often the daemon had to connect anew.
    pub reconnects: u64,
}

/// `GET /v1/health`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// ok or degraded.
    pub status: String,
    /// What is wrong.
    pub problems: Vec<String>,
}
