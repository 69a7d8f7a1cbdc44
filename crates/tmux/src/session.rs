//! The hidden session that carries our two control clients.
//!
//! A control client attached to a user's session counts as a focused terminal there: applications get focus reports,
//! bells are not flagged, the session counts as attached. Ours are attached to a session of their own with one silent
//! window. The process that holds a [`HiddenSession`] owns the standard input of both tmux clients, so its death, of
//! whatever kind, ends them, and a hook inside tmux then removes the session and itself.
//!
//! The option `destroy-unattached` would be the obvious way to tie the session to its clients, and is deadly: tmux 3.3a
//! removes the session when the last client *begins* to exit, and crashes when a client that still points to it is gone
//! for good. Two clients that lose their input at the same moment are enough. It is therefore off for our session, even
//! when it is on globally.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use tokio::net::unix::pipe;
use tokio::process::{Child, Command as Process};
use tokio::sync::mpsc;

use crate::client::{Client, ClientError};
use crate::command::{Command, Script};
use crate::id::{SessionId, decimal};
use crate::notification::{Notification, word};
use crate::server;

/// The name of the first hidden session; further ones get a number.
const NAME: &str = "_agtmux";

/// How many observers can share a server.
const SLOTS: u8 = 10;

/// What the one window of the session runs. It is given as an argument vector, so that no shell of the user's starts.
const QUIET_PROCESS: [&str; 2] = ["sleep", "2147483647"];

/// What a tmux client needs of our environment.
const KEPT_ENVIRONMENT: [&str; 3] = ["HOME", "PATH", "TERM"];

/// How much of its output a client can have on the way.
#[cfg(target_os = "linux")]
const ANSWER_ROOM: usize = 1 << 20;

/// How long to wait before trying again to get our turn to connect.
const TURN_POLL: Duration = Duration::from_millis(5);

/// How long to wait before asking again whether a client is attached.
const ATTACH_POLL: Duration = Duration::from_millis(1);

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

    /// Runs commands unless a client is attached to the hidden session, for hooks that watch clients go.
    ///
    /// Whatever has to vanish with the session must be removed by such a hook of its own: commands of a hook, as the
    /// one that kills the session, run no further hooks.
    pub(crate) fn unless_held(self, commands: &Script) -> Command {
        let name = self.session_name();
        let is_held = format!("#{{&&:#{{==:#{{session_name}},{name}}},#{{!=:#{{session_attached}},0}}}}");
        Command::new("if-shell").flag("-F").target(format!("={name}:")).arg(is_held).arg("").commands(commands)
    }

    /// The hook that removes the session when its clients are gone.
    fn detach_hook(self) -> String {
        format!("client-detached[{}]", DETACH_HOOK_INDEX + u32::from(self.0))
    }
}

/// The first array index of the hook that removes a hidden session, far from those that people write by hand.
const DETACH_HOOK_INDEX: u32 = 9090;

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
        let _turn = connecting_turn(socket, deadline).await;
        for slot in Slot::all() {
            let name = slot.session_name();
            let (control, notifications) = ClientProcess::spawn(tmux, socket, &create_arguments(slot))?;
            match own_session(&control, deadline).await {
                Ok((id, own_name)) if own_name == name.as_bytes() => {
                    let attach = attach_arguments(id);
                    let (waiter, _) = ClientProcess::spawn(tmux, socket, &attach)?;
                    own_session(&waiter, deadline).await?;
                    return Ok((Self { slot, id, control, waiter }, notifications));
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

    /// Ends the session and both clients, and waits until they are gone.
    pub async fn close(mut self, deadline: Duration) {
        let unhook = Command::new("set-hook").flag("-gu").arg(self.slot.detach_hook());
        let kill = Command::new("kill-session").target(self.id);
        let script = Script::new().then(&unhook).then(&kill);
        // The reply races with the end of the client; the session is gone in either case.
        self.control.client.run_script(&script, deadline).await.ok();
        for process in [&mut self.control, &mut self.waiter] {
            if tokio::time::timeout(deadline, process.child.wait()).await.is_err() {
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
        let spawn_error = |source| SessionError::Spawn { tmux: tmux.to_owned(), source };
        let (output, outlet, own_outlet) = output_pipe().map_err(spawn_error)?;
        let mut child = Process::new(tmux)
            // -N: never start a server. -u: without it tmux writes `_` for every character beyond ASCII when our
            // own locale is not UTF-8, as that of a daemon often is.
            .args(["-N", "-u", "-C", "-S"])
            .arg(socket)
            .args(arguments)
            // A client sends its environment while it connects, and tmux 3.3a crashes if it has to notify a control
            // client that has not finished: the less there is to send, the shorter that moment.
            .env_clear()
            .envs(KEPT_ENVIRONMENT.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .stdin(Stdio::piped())
            .stdout(outlet)
            .stderr(own_outlet)
            // An interrupt typed at our terminal must not end the clients before we had a chance to tidy up.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(spawn_error)?;
        let Some(stdin) = child.stdin.take() else {
            return Err(spawn_error(std::io::ErrorKind::BrokenPipe.into()));
        };
        let (client, notifications) = Client::start(output, stdin);
        Ok((Self { client, child }, notifications))
    }
}

/// The pipe for the output of a client: our end, the client's, and our end once more, for the client to hold too.
///
/// A control client does not exit before everything that was written for it is gone. When we are killed in the middle of
/// an answer nobody would read the rest, tmux 3.3a would try to write it for ever, and client, session and hooks would
/// stay. As long as the client itself could read its pipe, the rest finds room there.
fn output_pipe() -> std::io::Result<(pipe::Receiver, Stdio, Stdio)> {
    let (reader, writer) = std::io::pipe()?;
    #[cfg(target_os = "linux")]
    // The longest answer is a list of panes. A kernel that grants no more room leaves us with what is usual.
    rustix::pipe::fcntl_setpipe_size(&reader, ANSWER_ROOM).ok();
    let held_by_client = Stdio::from(reader.try_clone()?);
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    Ok((output, writer.into(), held_by_client))
}

/// Creates the session attached, in one command list with what ties its life to its clients: there is no moment in which
/// a user's global options could remove it or our death could leave it behind.
fn create_arguments(slot: Slot) -> Vec<OsString> {
    let name = slot.session_name();
    let target = format!("={name}:");
    let kill = format!("kill-session -t ={name}");
    let hook = slot.detach_hook();
    let is_leftover = format!("#{{&&:#{{==:#{{session_name}},{name}}},#{{==:#{{session_attached}},0}}}}");
    let unhook = Command::new("set-hook").flag("-gu").arg(&hook);
    let remove = Script::new().then(&unhook).then(&Command::new("kill-session").target(format!("={name}")));
    let when_detached = slot.unless_held(&remove);
    let when_detached = String::from_utf8_lossy(when_detached.line().unwrap_or_default()).into_owned();

    // A session of this name that nobody is attached to is not held by a live observer.
    let mut arguments = vec!["if-shell", "-F", "-t", &target, &is_leftover, &kill, ";"];
    arguments.extend(["new-session", "-E", "-f", "no-output", "-s", &name, "-n", &name, "-x", "80", "-y", "24"]);
    arguments.extend(QUIET_PROCESS);
    // The target is named although it is the current one: should tmux ever see another session as current, it would
    // be the user's that is changed.
    arguments.extend([";", "set-option", "-t", &target, "destroy-unattached", "off"]);
    // With this off, tmux would move our clients to a session of the user's when ours is killed.
    arguments.extend([";", "set-option", "-t", &target, "detach-on-destroy", "on"]);
    arguments.extend([";", "set-hook", "-g", &hook, &when_detached]);
    arguments.into_iter().map(OsString::from).collect()
}

fn attach_arguments(id: SessionId) -> Vec<OsString> {
    ["attach-session", "-E", "-f", "no-output", "-t"]
        .into_iter()
        .map(OsString::from)
        .chain([id.to_string().into()])
        .collect()
}

/// Waits for other observers that are just connecting to the same server.
///
/// tmux 3.3a crashes when a session comes or goes between the first and the last message of a control client that
/// connects. That is far less than a millisecond, but two observers that start together hit it. A lock on the directory
/// of the socket keeps them apart and leaves no file behind; where it cannot be had we go on without.
pub(crate) async fn connecting_turn(socket: &Path, deadline: Duration) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = rustix::fs::open(socket.parent()?, flags, Mode::empty()).ok()?;
    let deadline = tokio::time::Instant::now() + deadline;
    loop {
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Some(directory),
            Err(Errno::WOULDBLOCK) if tokio::time::Instant::now() < deadline => tokio::time::sleep(TURN_POLL).await,
            Err(_) => return None,
        }
    }
}

/// Waits until the client is attached and returns its session.
///
/// tmux reads our first line as soon as the client connects, which may be before it runs the command that attaches
/// the client. Until then the client has no session, and formats tell of some other client and its session.
async fn own_session(process: &ClientProcess, deadline: Duration) -> Result<(SessionId, Vec<u8>), ClientError> {
    let ask = Command::new("display-message").flag("-p").arg("#{client_pid} #{session_id} #{client_session}");
    let attached = async {
        loop {
            let text = process.client.run(&ask, deadline).await?.text();
            let (pid, rest) = word(&text);
            let (id, name) = word(rest);
            match SessionId::parse(id) {
                Some(id) if decimal(pid) == process.child.id() => return Ok((id, name.to_vec())),
                _ => tokio::time::sleep(ATTACH_POLL).await,
            }
        }
    };
    tokio::time::timeout(deadline, attached).await.unwrap_or(Err(ClientError::Timeout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names_are_hidden() {
        for name in ["_agtmux", "_agtmux-1", "_agtmux-9"] {
            assert!(hidden(name.as_bytes()), "{name}");
        }
        for name in ["agtmux", "_agtmux-", "_agtmux-0", "_agtmux-10", "_agtmux2", "_agtmux-x", ""] {
            assert!(!hidden(name.as_bytes()), "{name}");
        }
        assert!(only_hidden([b"_agtmux".as_slice(), b"_agtmux-3"]));
        assert!(!only_hidden([b"_agtmux".as_slice(), b"work"]));
    }
}
