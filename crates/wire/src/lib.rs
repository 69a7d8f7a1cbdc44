//! Every type that crosses a process line of agtmux: requests, answers, stream frames and errors.
//!
//! Serialized means promised: scripts, the dashboard and remote daemons rely on these names. A value that is not
//! known is `null`, never missing. Fields may be added; none is removed or given another meaning without raising
//! [`SCHEMA_VERSION`]. This crate depends on nothing else of the workspace, so that the domain can change without
//! breaking a script, and on no I/O.
#![warn(missing_docs)]

pub mod action;
pub mod adopt;
pub mod agent;
pub mod approve;
pub mod attach;
pub mod audit;
pub mod busy;
pub mod clear_draft;
pub mod daemon;
pub mod error;
pub mod event;
pub mod explain;
pub mod hook;
pub mod inbox;
pub mod kill;
pub mod list;
pub mod mail;
pub mod next;
pub mod plugin;
pub mod resume;
pub mod send;
pub mod spawn;
pub mod stream;
pub mod target;
pub mod view_output;
pub mod worktree;

/// Version of every JSON document that this build writes.
pub const SCHEMA_VERSION: u32 = 1;

/// Header in which a client names the tmux server (socket path) it was started in or was told to look at. The daemon
/// begins to watch that server if it does not yet.
pub const TMUX_SOCKET_HEADER: &str = "x-agtmux-tmux-socket";

/// Header of every answer of the daemon: its version, followed by [`PROGRAM_REPLACED`] if the program that it runs is no
/// longer the one on the disk.
pub const DAEMON_HEADER: &str = "x-agtmux-daemon";

/// The second word of [`DAEMON_HEADER`] when the daemon's program has been replaced.
pub const PROGRAM_REPLACED: &str = "replaced";
