//! The raw output of a pane, by a passed file descriptor.
//!
//! `pipe-pane` starts a command with one end of a socket pair as its standard input. The command is a helper that
//! lives for a millisecond: it passes that end to us over a unix socket and exits. From then on every byte the pane
//! writes arrives here, unchanged, without a process per pane, without an attached client and without the power to
//! slow the pane down.
//!
//! A pane has only one pipe. It is taken only when free, which tmux itself checks in the same moment; when somebody
//! else takes it later, the stream ends. Our death closes the descriptor; [`Freed`] says when tmux drops the pipe then.
//!
//! With `-I` the other direction of the socket pair types into the pane. [`PipeStream`] can therefore only be read.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage};
use tokio::io::{AsyncRead, Interest, ReadBuf};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::client::ClientError;
use crate::command::{Command, Script, escape_time_format};
use crate::id::PaneId;
use crate::nonce::nonce;
use crate::platform;
use crate::transport::Transport;

/// How long a helper may take between connecting and passing the descriptor.
const HELPER_DEADLINE: Duration = Duration::from_secs(2);

/// How many pipes may be asked for and not have come; beyond that the oldest is given up.
const MAX_EXPECTED: usize = 4096;

/// How a pane's pipe becomes free when its reader is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freed {
    /// tmux watches for the end of the reader (`-IO`) and frees the pipe at once. It polls one more descriptor for each pane
    /// at each event: with 500 panes that nearly doubles what a line of output costs it.
    ByTmux,
    /// By the commands of [`free`], which a [janitor](crate::janitor) runs; without them, at the pane's next output.
    ByCommand,
}

/// Why a pane's pipe was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ArmError {
    /// The pane is piped to somebody else.
    #[error("the pane is piped already")]
    Taken,
    /// The pane is gone, or its process is not the expected one or has ended.
    #[error("the pane is gone or runs another process")]
    Changed,
    /// The path of the helper or of the socket cannot be passed on: it is not UTF-8.
    #[error("the helper's command line is not valid UTF-8")]
    Unrepresentable,
    /// No random token could be made.
    #[error("cannot make a token: {0}")]
    Token(io::Error),
    /// tmux did not answer, or refused.
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Ties a descriptor that arrives to the pane it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PipeToken(String);

impl PipeToken {
    /// The token as the helper gets it on its command line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Receives the descriptors that helpers pass.
#[derive(Debug)]
pub struct PipeReceiver {
    listener: UnixListener,
    path: PathBuf,
    freed: Freed,
    expected: Mutex<BTreeMap<PipeToken, (PaneId, u32)>>,
}

impl PipeReceiver {
    /// Listens on a socket for this user only. A directory that is missing is made, for this user only; a dead socket
    /// of the same name is replaced.
    pub fn bind(path: &Path, freed: Freed) -> io::Result<Self> {
        if let Some(directory) = path.parent() {
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        if path.exists() && !crate::server::is_alive(path) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Self { listener, path: path.to_owned(), freed, expected: Mutex::default() })
    }

    /// Pipes a pane to us, if the pane still runs `pane_pid` and has no pipe. The descriptor then comes through
    /// [`PipeReceiver::receive`] with the same token.
    ///
    /// `helper` is a command line to which the path of the socket and the token are added; what it runs must call
    /// [`helper::send_stdin`] with them.
    pub async fn arm(
        &self,
        client: &impl Transport,
        pane: PaneId,
        pane_pid: u32,
        helper: &[OsString],
        deadline: Duration,
    ) -> Result<PipeToken, ArmError> {
        let token = PipeToken(nonce().map_err(ArmError::Token)?);
        let guarded = self.arm_command(pane, pane_pid, helper, &token)?;
        self.expect(&token, pane, pane_pid);
        let result = match client.run(&guarded, deadline).await {
            Ok(reply) => self.settle(&token, &reply.text()),
            Err(error) => {
                self.expected().remove(&token);
                Err(error.into())
            }
        };
        result.map(|()| token)
    }

    /// Pipes several panes to us, as [`PipeReceiver::arm`] does, by one script. Gives what became of each.
    ///
    /// When the script fails as a whole, some of the panes may have been piped; their descriptors come all the same.
    pub async fn arm_many(
        &self,
        client: &impl Transport,
        panes: &[(PaneId, u32)],
        helper: &[OsString],
        deadline: Duration,
    ) -> Result<Vec<Result<(), ArmError>>, ArmError> {
        let mut script = Script::new();
        let mut tokens = Vec::with_capacity(panes.len());
        for (pane, pane_pid) in panes {
            let token = PipeToken(nonce().map_err(ArmError::Token)?);
            script = script.then(&self.arm_command(*pane, *pane_pid, helper, &token)?);
            self.expect(&token, *pane, *pane_pid);
            tokens.push(token);
        }
        let output = client.run_script(&script, deadline).await?;
        Ok(tokens.iter().map(|token| self.settle(token, &output)).collect())
    }

    fn settle(&self, token: &PipeToken, output: &[u8]) -> Result<(), ArmError> {
        let result = read_answer(token.as_str(), output);
        if result.is_err() {
            self.expected().remove(token);
        }
        result
    }

    /// Waits for the next pane whose output begins to flow. Safe to cancel.
    ///
    /// Connections of other users, without a descriptor or with a token nobody waits for are dropped in silence.
    pub async fn receive(&self) -> io::Result<Piped> {
        loop {
            let (connection, _) = self.listener.accept().await?;
            if connection.peer_cred()?.uid() != rustix::process::getuid().as_raw() {
                continue;
            }
            let Ok(Ok((token, descriptor))) = timeout(HELPER_DEADLINE, receive_descriptor(&connection)).await else {
                continue;
            };
            let Some((pane, pane_pid)) = self.expected().remove(&token) else {
                continue;
            };
            if let Ok(stream) = PipeStream::new(descriptor) {
                return Ok(Piped { token, pane, pane_pid, stream });
            }
        }
    }

    /// Takes the pipe or says why not, in one step inside tmux.
    fn arm_command(
        &self,
        pane: PaneId,
        pane_pid: u32,
        helper: &[OsString],
        token: &PipeToken,
    ) -> Result<Command, ArmError> {
        let shell_command = self.shell_command(helper, token)?;
        let is_same = is_same(pane, pane_pid);
        let is_free = format!("#{{&&:{is_same},#{{&&:#{{==:#{{pane_dead}},0}},#{{==:#{{pane_pipe}},0}}}}}}");
        let say = |text: &str| Command::new("display-message").flag("-p").arg(format!("{} {text}", token.as_str()));
        let direction = match self.freed {
            Freed::ByTmux => "-IO",
            Freed::ByCommand => "-O",
        };
        let take = Command::new("pipe-pane").flag(direction).target(pane).arg(shell_command);
        let taken = Script::new().then(&take).then(&say("armed"));
        // What is not free and is the same is taken; both answers are fixed words, so that no format is needed here.
        let refused = if_shell(pane, &format!("#{{&&:{is_same},#{{pane_pipe}}}}"), &Script::from(&say("taken")))
            .commands(&Script::from(&say("changed")));
        Ok(if_shell(pane, &is_free, &taken).commands(&Script::from(&refused)))
    }

    /// The line that tmux gives to `/bin/sh -c`, after expanding it as a format.
    fn shell_command(&self, helper: &[OsString], token: &PipeToken) -> Result<String, ArmError> {
        let mut words = Vec::new();
        for word in helper.iter().map(|word| word.as_os_str()).chain([self.path.as_os_str()]) {
            words.push(word.to_str().ok_or(ArmError::Unrepresentable)?);
        }
        words.push(token.as_str());
        let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
        Ok(escape_time_format(&format!("exec {}", quoted.join(" "))))
    }

    fn expect(&self, token: &PipeToken, pane: PaneId, pane_pid: u32) {
        let mut expected = self.expected();
        if expected.len() >= MAX_EXPECTED {
            expected.pop_first();
        }
        expected.insert(token.clone(), (pane, pane_pid));
    }

    fn expected(&self) -> MutexGuard<'_, BTreeMap<PipeToken, (PaneId, u32)>> {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PipeReceiver {
    fn drop(&mut self) {
        std::fs::remove_file(&self.path).ok();
    }
}

/// A pane whose output flows to us.
#[derive(Debug)]
pub struct Piped {
    /// The token that [`PipeReceiver::arm`] gave.
    pub token: PipeToken,
    /// The pane.
    pub pane: PaneId,
    /// The first process of the pane.
    pub pane_pid: u32,
    /// Its output.
    pub stream: PipeStream,
}

/// The output of a pane. Ends when the pane closes or somebody else takes its pipe.
///
/// It must be read without pause: tmux keeps without bound what is not read.
#[derive(Debug)]
pub struct PipeStream(UnixStream);

impl PipeStream {
    fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let stream = std::os::unix::net::UnixStream::from(descriptor);
        stream.set_nonblocking(true)?;
        UnixStream::from_std(stream).map(Self)
    }

    /// Waits until there is something to read, or the end. Needs no buffer meanwhile, as many quiet panes do not.
    pub async fn readable(&self) -> io::Result<()> {
        self.0.readable().await
    }

    /// Reads what is there. An error of kind `WouldBlock` means that nothing is.
    pub fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl AsyncRead for PipeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

/// What the helper process does.
pub mod helper {
    use std::io::{self, IoSlice};
    use std::mem::MaybeUninit;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

    /// Passes standard input to the [`PipeReceiver`](super::PipeReceiver) behind the socket. The process is to exit
    /// right after, whatever the result: a pipe that did not arrive must not stay taken.
    pub fn send_stdin(socket: &Path, token: &str) -> io::Result<()> {
        let connection = UnixStream::connect(socket)?;
        let stdin = io::stdin();
        let descriptors = [stdin.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&descriptors));
        rustix::net::sendmsg(&connection, &[IoSlice::new(token.as_bytes())], &mut control, SendFlags::empty())?;
        Ok(())
    }
}

/// The commands, a line each, that free the pipes of these panes, if they still run these processes.
pub fn free(panes: impl IntoIterator<Item = (PaneId, u32)>) -> Vec<u8> {
    let mut lines = Vec::new();
    for (pane, pane_pid) in panes {
        let close = Script::from(&Command::new("pipe-pane").target(pane));
        let guarded = if_shell(pane, &format!("#{{&&:{},#{{pane_pipe}}}}", is_same(pane, pane_pid)), &close);
        if let Ok(line) = guarded.line() {
            lines.extend_from_slice(line);
            lines.push(b'\n');
        }
    }
    lines
}

fn if_shell(pane: PaneId, condition: &str, then: &Script) -> Command {
    Command::new("if-shell").flag("-F").target(pane).arg(condition).commands(then)
}

/// Whether the pane is there and runs this process. A pane that is gone makes tmux look at another one instead.
fn is_same(pane: PaneId, pane_pid: u32) -> String {
    format!("#{{&&:#{{==:#{{pane_id}},{pane}}},#{{==:#{{pane_pid}},{pane_pid}}}}}")
}

/// Finds the answer to one token in the output of a script.
fn read_answer(token: &str, output: &[u8]) -> Result<(), ArmError> {
    let answer =
        output.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(token.as_bytes())?.strip_prefix(b" "));
    match answer {
        Some(b"armed") => Ok(()),
        Some(b"taken") => Err(ArmError::Taken),
        Some(b"changed") => Err(ArmError::Changed),
        _ => Err(ClientError::Refused("tmux did not say whether the pane is piped".into()).into()),
    }
}

async fn receive_descriptor(connection: &UnixStream) -> io::Result<(PipeToken, OwnedFd)> {
    connection
        .async_io(Interest::READABLE, || {
            let mut text = [0; 64];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut parts = [IoSliceMut::new(&mut text)];
            let received = rustix::net::recvmsg(connection, &mut parts, &mut control, platform::RECEIVE_DESCRIPTOR)?;
            let descriptors = control.drain().filter_map(|message| match message {
                RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
                _ => None,
            });
            let descriptor = descriptors.flatten().next().ok_or(io::ErrorKind::InvalidData)?;
            platform::close_on_exec(&descriptor)?;
            let token = std::str::from_utf8(&text[..received.bytes]).map_err(io::Error::other)?;
            Ok((PipeToken(token.to_owned()), descriptor))
        })
        .await
}
