//! tmux as a backbone: observe and command a tmux server that belongs to somebody else.
//!
//! The crate speaks tmux's control mode and nothing else. It must not know what an agent is, keep no state about
//! panes, read no configuration and choose no policy: it turns bytes into typed replies and notifications, typed
//! commands into bytes, and gives the few mechanisms on which a cheap and harmless observer can be built.
//!
//! | module | what it gives |
//! |---|---|
//! | [`protocol`] | sans-I/O decoder of the control stream |
//! | [`command`] | commands whose arguments arrive exactly, whatever bytes they hold |
//! | [`client`] | asynchronous client over any pair of byte streams |
//! | [`server`] | which servers exist, their sockets, versions and identities |
//! | [`plain`] | commands by ordinary clients, one process each: dearer, and without danger for the server |
//! | [`transport`] | what the two have in common |
//! | [`session`] | the hidden session that carries our two control clients |
//! | [`janitor`] | tidies up inside tmux after a process that was killed |
//! | [`hook_queue`] | titles, bells, splits and exits of all sessions, pushed without a fork |
//! | [`pipe`] | the raw output of a pane, by a passed file descriptor |
//! | [`attach`] | who looks at the server, and how a terminal comes to a pane |
//! | [`output`] | what a pane printed |
//! | [`open`] | new windows for programs, opened in the background |
//! | [`list`] | panes and clients as rows that hostile names cannot forge |
//!
//! # What it promises to the owner of the server
//!
//! * It never starts a server unless asked to open a window where there is none, never resizes a window, never takes a pane's pipe that is in use.
//! * No client of ours receives `%output`. A client that does, and then stalls or is killed, freezes the pane it
//!   listens to on every tmux release; ours are attached with `no-output` to a session of their own.
//! * When the process that holds a [`session::HiddenSession`] dies, however it dies, the session, the hooks and the
//!   hidden variable vanish inside tmux, and panes go on as if nothing had been there.
//! * Text is bytes. Nothing that a pane, a title or a directory name says is ever parsed as a command or a format.
//!
//! tmux 3.2 is the oldest version that has all that is needed; see [`server::Version::supported`].

#![warn(missing_docs)]

pub mod act;
pub mod attach;
pub mod buffer;
pub mod capture;
pub mod client;
pub mod command;
pub mod hook_queue;
pub mod id;
pub mod janitor;
pub mod list;
pub mod open;
pub mod output;
pub mod pipe;
pub mod plain;
pub mod protocol;
pub mod server;
pub mod session;
pub mod shown;
pub mod transport;

mod nonce;
mod notification;
mod platform;
mod record;

pub use client::{Client, ClientError};
pub use command::{Command, Script};
pub use id::{PaneId, SessionId, WindowId};
pub use notification::Notification;
pub use plain::Plain;
pub use protocol::Reply;
pub use transport::Transport;
