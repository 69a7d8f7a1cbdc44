//! The hidden session that carries our two control clients.
//!
//! A control client attached to a user's session counts as a focused terminal there: applications get focus reports,
//! bells are not flagged, the session counts as attached. Ours are attached to a session of their own with one silent
//! window. It lives exactly as long as a client is attached: the process that holds a [`HiddenSession`] owns the
//! standard input of both tmux clients, so its death, of whatever kind, ends them, and tmux removes the session.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::{Child, Command as Process};
use tokio::sync::mpsc;

use crate::client::{Client, ClientError};
use crate::command::Command;
use crate::id::SessionId;
use crate::notification::Notification;
use crate::server;

/// The name of the first hidden session; further ones get a number.
const NAME: &str = "_agtmux";

/// How many observers can share a server.
const SLOTS: u8 = 10;

/// What the one window of the session runs. It is given as an argument vector, so that no shell of the user's starts.
const QUIET_PROCESS: [&str; 2] = ["sleep", "2147483647"];

/// Which of the possible observers of a server this one is; names everything of ours inside tmux.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot(u8);

impl Slot {
    /// All slots, the usual one first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SLOTS).map(Self)
    }

    /// The number of the slot, zero for the usual one.
    pub fn number(self) -> u8 {
        self.0
    }

    /// The name of the hidden session in this slot.
    pub fn session_name(self) -> String {
        match self.0 {
            0 => NAME.to_owned(),
            number => format!("{NAME}-{number}"),
        }
    }
}

/// Whether a session of this name is a hidden one, not to be shown to users.
pub fn hidden(session_name: &[u8]) -> bool {
    Slot::all().any(|slot| slot.session_name().as_bytes() == session_name)
}

/// Whether these are the names of hidden sessions only.
///
/// The server of a user who closed the last session would have exited; it is ours that keep it alive, so the caller
/// then closes its own with [`HiddenSession::close`].
pub fn only_hidden<'a>(session_names: impl IntoIterator<Item = &'a [u8]>) -> bool {
    session_names.into_iter().all(hidden)
}

/// Why there is no hidden session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// Nothing listens on the socket. A server is never started.
    #[error("no tmux server on {}", .0.display())]
    NoServer(PathBuf),
    /// Every slot is held by a live observer.
    #[error("all hidden sessions of this server are in use")]
    NoFreeSlot,
    /// The tmux client could not be started.
    #[error("cannot run {}: {source}", tmux.display())]
    Spawn {
        /// The program.
        tmux: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// tmux did not do what it was told.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Two control clients on a session of their own.
#[derive(Debug)]
pub struct HiddenSession {
    slot: Slot,
    id: SessionId,
    control: ClientProcess,
    waiter: ClientProcess,
}

impl HiddenSession {
    /// Opens a hidden session on a live server, in the first slot that no other live observer holds.
    ///
    /// Returns the notifications of the first client, those of [`HiddenSession::control`].
    pub async fn open(
        tmux: &Path,
        socket: &Path,
        deadline: Duration,
    ) -> Result<(Self, mpsc::Receiver<Notification>), SessionError> {
        if !server::is_alive(socket) {
            return Err(SessionError::NoServer(socket.to_owned()));
        }
        for slot in Slot::all() {
            let name = slot.session_name();
            let (control, notifications) =
                ClientProcess::spawn(tmux, socket, &create_arguments(&name))?;
            match own_session(&control.client, deadline).await {
                Ok((id, own_name)) if own_name == name.as_bytes() => {
                    let attach = attach_arguments(id);
                    let (waiter, _) = ClientProcess::spawn(tmux, socket, &attach)?;
                    own_session(&waiter.client, deadline).await?;
                    return Ok((
                        Self {
                            slot,
                            id,
                            control,
                            waiter,
                        },
                        notifications,
                    ));
                }
                // The name was taken: tmux refused to create the session and the client has gone.
                Ok(_) | Err(ClientError::Closed { .. }) if server::is_alive(socket) => {}
                Ok(_) | Err(ClientError::Closed { .. }) => {
                    return Err(SessionError::NoServer(socket.to_owned()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(SessionError::NoFreeSlot)
    }

    /// The client for commands. The first to use, and the one that hears of changes of structure.
    pub fn control(&self) -> &Client {
        &self.control.client
    }

    /// The client that may be blocked in `wait-for`.
    pub fn waiter(&self) -> &Client {
        &self.waiter.client
    }

    /// The slot this session took.
    pub fn slot(&self) -> Slot {
        self.slot
    }

    /// The id of the session.
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// The process ids of the two tmux clients.
    pub fn client_pids(&self) -> [Option<u32>; 2] {
        [self.control.child.id(), self.waiter.child.id()]
    }

    /// Ends the session and both clients, and waits until they are gone.
    pub async fn close(mut self, deadline: Duration) {
        let kill = Command::new("kill-session").target(self.id);
        // The reply races with the end of the client; the session is gone in either case.
        self.control.client.run(&kill, deadline).await.ok();
        for process in [&mut self.control, &mut self.waiter] {
            if tokio::time::timeout(deadline, process.child.wait())
                .await
                .is_err()
            {
                process.child.kill().await.ok();
            }
        }
    }
}

/// A tmux client whose standard streams are ours.
#[derive(Debug)]
struct ClientProcess {
    client: Client,
    child: Child,
}

impl ClientProcess {
    fn spawn(
        tmux: &Path,
        socket: &Path,
        arguments: &[OsString],
    ) -> Result<(Self, mpsc::Receiver<Notification>), SessionError> {
        let spawn_error = |source| SessionError::Spawn {
            tmux: tmux.to_owned(),
            source,
        };
        let mut child = Process::new(tmux)
            // -N: never start a server. -u: without it tmux writes `_` for every character beyond ASCII when our
            // own locale is not UTF-8, as that of a daemon often is.
            .args(["-N", "-u", "-C", "-S"])
            .arg(socket)
            .args(arguments)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // An interrupt typed at our terminal must not end the clients before we had a chance to tidy up.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(spawn_error)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(spawn_error(std::io::ErrorKind::BrokenPipe.into()));
        };
        let (client, notifications) = Client::start(stdout, stdin);
        Ok((Self { client, child }, notifications))
    }
}

/// Creates the session attached, in one command list with the options that tie its life to its clients: there is no
/// moment in which a user's global `destroy-unattached` could remove it or our death could leave it behind.
fn create_arguments(name: &str) -> Vec<OsString> {
    let is_leftover =
        format!("#{{&&:#{{==:#{{session_name}},{name}}},#{{==:#{{session_attached}},0}}}}");
    let (target, kill) = (format!("={name}:"), format!("kill-session -t ={name}"));
    // A session of this name that nobody is attached to is not held by a live observer.
    let mut arguments = vec!["if-shell", "-F", "-t", &target, &is_leftover, &kill, ";"];
    arguments.extend([
        "new-session",
        "-E",
        "-f",
        "no-output",
        "-s",
        name,
        "-n",
        name,
        "-x",
        "80",
        "-y",
        "24",
    ]);
    arguments.extend(QUIET_PROCESS);
    arguments.extend([";", "set-option", "destroy-unattached", "on"]);
    // With this off, tmux would move our clients to a session of the user's when ours is killed.
    arguments.extend([";", "set-option", "detach-on-destroy", "on"]);
    arguments.into_iter().map(OsString::from).collect()
}

fn attach_arguments(id: SessionId) -> Vec<OsString> {
    ["attach-session", "-E", "-f", "no-output", "-t"]
        .into_iter()
        .map(OsString::from)
        .chain([id.to_string().into()])
        .collect()
}

async fn own_session(
    client: &Client,
    deadline: Duration,
) -> Result<(SessionId, Vec<u8>), ClientError> {
    let ask = Command::new("display-message")
        .flag("-p")
        .arg("#{session_id} #{session_name}");
    let reply = client.run(&ask, deadline).await?;
    let text = reply.text();
    let (id, name) = crate::notification::word(&text);
    let id = SessionId::parse(id).ok_or_else(|| ClientError::Closed {
        reason: "client has no session".into(),
    })?;
    Ok((id, name.to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_hidden() {
        for name in ["_agtmux", "_agtmux-1", "_agtmux-9"] {
            assert!(hidden(name.as_bytes()), "{name}");
        }
        for name in [
            "agtmux",
            "_agtmux-",
            "_agtmux-0",
            "_agtmux-10",
            "_agtmux2",
            "_agtmux-x",
            "",
        ] {
            assert!(!hidden(name.as_bytes()), "{name}");
        }
        assert!(only_hidden([b"_agtmux".as_slice(), b"_agtmux-3"]));
        assert!(!only_hidden([b"_agtmux".as_slice(), b"work"]));
    }
}
