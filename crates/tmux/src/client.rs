//! Asynchronous control client over any pair of byte streams.
//!
//! Commands are pipelined: each is written at once, and replies are matched to them in order. The order is the only
//! thing that ties a reply to its command, so every command keeps its place until its reply has come, even when the
//! caller gave up waiting, and replies to other people's commands (hooks, the attach itself) take no place.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use crate::command::{Command, CommandError, Script};
use crate::nonce::nonce;
use crate::notification::Notification;
use crate::protocol::{Decoder, Item, Limits, Reply};

/// The longest control line this client writes. Larger texts belong in a file for `load-buffer`.
pub const MAX_LINE: usize = 8 << 20;

/// How many commands may wait for their replies before further ones are turned away.
const MAX_PENDING: usize = 4096;

/// How many notifications may wait for their receiver.
const NOTIFICATIONS: usize = 1024;

/// Why a command has no reply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The reply did not come in time. The command may still run.
    #[error("tmux did not answer in time")]
    Timeout,
    /// The connection to the server is gone.
    #[error("connection to tmux closed: {reason}")]
    Closed {
        /// Why, as far as it is known.
        reason: String,
    },
    /// tmux answered with an error.
    #[error("tmux refused: {0}")]
    Refused(String),
    /// The command or its output is larger than the limits.
    #[error("tmux command or output too long")]
    TooLong,
    /// Too many commands wait for their replies already.
    #[error("too many commands wait for tmux")]
    Overloaded,
    /// The command cannot be written.
    #[error(transparent)]
    Invalid(#[from] CommandError),
}

/// A connection to a tmux server in control mode. Clones share the connection.
///
/// It is closed, and the tmux client told to exit, when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Client {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
    closed: watch::Receiver<Option<String>>,
}

impl Client {
    /// Starts a client on the two ends of a control stream, within a tokio runtime.
    ///
    /// Notifications that the receiver is too slow for are dropped and replaced by [`Notification::Missed`]; a slow or
    /// dropped receiver never holds up replies.
    pub fn start<R, W>(reader: R, writer: W) -> (Self, mpsc::Receiver<Notification>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::start_with(reader, writer, Limits::default())
    }

    /// As [`Client::start`], with other bounds on the size of replies.
    pub fn start_with<R, W>(reader: R, writer: W, limits: Limits) -> (Self, mpsc::Receiver<Notification>)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (lines, lines_to_write) = mpsc::unbounded_channel();
        let (notifications, notification_receiver) = mpsc::channel(NOTIFICATIONS);
        let (closing, closed) = watch::channel(None);
        let shared = Arc::new(Shared::default());
        let reading =
            ReadTask { shared: Arc::clone(&shared), notifications, closing, decoder: Decoder::with_limits(limits) };
        tokio::spawn(reading.run(reader));
        tokio::spawn(write_lines(lines_to_write, writer));
        (Self { lines, shared, closed }, notification_receiver)
    }

    /// Runs one command and waits for its reply until the deadline.
    pub async fn run(&self, command: &Command, deadline: Duration) -> Result<Reply, ClientError> {
        let deadline = Instant::now() + deadline;
        let mut replies = if command.answers_once() {
            self.submit(command.line()?.to_vec(), None)?
        } else {
            self.stream(&Script::from(command))?
        };
        let mut answer: Option<Reply> = None;
        while let Some(reply) = replies.next_until(deadline).await? {
            let reply = accept(reply)?;
            match &mut answer {
                Some(answer) => answer.lines.extend(reply.lines),
                None => answer = Some(reply),
            }
        }
        answer.ok_or(ClientError::Closed { reason: "no reply".into() })
    }

    /// Runs a script and waits for all its replies until the deadline. The first failure is the result.
    pub async fn run_script(&self, script: &Script, deadline: Duration) -> Result<Vec<Reply>, ClientError> {
        let deadline = Instant::now() + deadline;
        let mut replies = self.stream(script)?;
        let mut all = Vec::new();
        while let Some(reply) = replies.next_until(deadline).await? {
            all.push(accept(reply)?);
        }
        Ok(all)
    }

    /// Runs a script whose replies are wanted one by one as they come, for instance because it waits in the middle.
    ///
    /// How many replies a script gives cannot be known before: failures drop the rest of the line and guards choose
    /// between branches. A command that answers with a secret word is sent on the next line to mark the end.
    pub fn stream(&self, script: &Script) -> Result<Replies, ClientError> {
        let end = nonce().map_err(|error| ClientError::Closed { reason: error.to_string() })?;
        let mark = Command::new("display-message").flag("-p").arg(&end);
        let line = [script.line()?, mark.line()?].join(&b'\n');
        self.submit(line, Some(end.into_bytes()))
    }

    /// Whether the connection is gone.
    pub fn is_closed(&self) -> bool {
        self.closed.borrow().is_some()
    }

    /// Waits until the connection is gone and says why.
    pub async fn closed(&self) -> String {
        let mut closed = self.closed.clone();
        match closed.wait_for(Option::is_some).await {
            Ok(reason) => reason.clone().unwrap_or_default(),
            Err(_) => "reader stopped".into(),
        }
    }

    fn submit(&self, mut line: Vec<u8>, end: Option<Vec<u8>>) -> Result<Replies, ClientError> {
        if line.len() > MAX_LINE {
            return Err(ClientError::TooLong);
        }
        line.push(b'\n');
        let (sender, replies) = mpsc::unbounded_channel();
        // The lock is held over both, so that places are in the order of the lines.
        let mut queue = self.shared.queue();
        if let Some(reason) = &queue.closed {
            return Err(ClientError::Closed { reason: reason.clone() });
        }
        if queue.pending.len() >= MAX_PENDING {
            return Err(ClientError::Overloaded);
        }
        if self.lines.send(line).is_err() {
            return Err(ClientError::Closed { reason: "tmux reads no more commands".into() });
        }
        queue.pending.push_back(Pending { sender, end });
        Ok(Replies { replies, finished: false, closed: self.closed.clone() })
    }
}

/// The replies to a script, as they come.
#[derive(Debug)]
pub struct Replies {
    replies: mpsc::UnboundedReceiver<Result<Reply, End>>,
    finished: bool,
    closed: watch::Receiver<Option<String>>,
}

impl Replies {
    /// Waits for the next reply, failures included; `None` after the last one. Safe to cancel.
    pub async fn next(&mut self) -> Result<Option<Reply>, ClientError> {
        match self.replies.recv().await {
            Some(Ok(reply)) => Ok(Some(reply)),
            Some(Err(End)) => {
                self.finished = true;
                Ok(None)
            }
            None if self.finished => Ok(None),
            None => Err(ClientError::Closed { reason: self.closed.borrow().clone().unwrap_or_default() }),
        }
    }

    async fn next_until(&mut self, deadline: Instant) -> Result<Option<Reply>, ClientError> {
        timeout_at(deadline, self.next()).await.unwrap_or(Err(ClientError::Timeout))
    }
}

/// Marks the last reply to a command or script.
#[derive(Debug)]
struct End;

/// The place of a command in the order of replies.
#[derive(Debug)]
struct Pending {
    sender: mpsc::UnboundedSender<Result<Reply, End>>,
    /// The output that marks the end of a script; a single command ends with its one reply.
    end: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
struct Queue {
    pending: VecDeque<Pending>,
    closed: Option<String>,
}

#[derive(Debug, Default)]
struct Shared(Mutex<Queue>);

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while the lock is held, and a queue is consistent between any two of its operations.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct ReadTask {
    shared: Arc<Shared>,
    notifications: mpsc::Sender<Notification>,
    closing: watch::Sender<Option<String>>,
    decoder: Decoder,
}

impl ReadTask {
    async fn run(mut self, mut reader: impl AsyncRead + Unpin) {
        let reason = self.read(&mut reader).await;
        let pending = {
            let mut queue = self.shared.queue();
            queue.closed = Some(reason.clone());
            std::mem::take(&mut queue.pending)
        };
        // The reason must be readable before the waiting callers learn that there is no reply.
        self.closing.send_replace(Some(reason));
        drop(pending);
    }

    /// Reads until the stream ends and returns why it ended.
    async fn read(&mut self, reader: &mut (impl AsyncRead + Unpin)) -> String {
        let mut buffer = vec![0; 64 << 10];
        let mut synchronized = false;
        loop {
            match reader.read(&mut buffer).await {
                Ok(0) => return "end of stream".into(),
                Ok(count) => self.decoder.feed(&buffer[..count]),
                Err(error) => return error.to_string(),
            }
            while let Some(item) = self.decoder.next() {
                match item {
                    Item::Reply(reply) if reply.is_own() => self.reply(reply),
                    Item::Reply(_) => {}
                    Item::Notification(notification) => self.notify(notification),
                    Item::Exit { reason } if reason.is_empty() => return "detached".into(),
                    Item::Exit { reason } => return String::from_utf8_lossy(&reason).into_owned(),
                    // A login shell at the far end of an ssh connection may greet before tmux speaks. Later, stray
                    // text means that replies may no longer fit their commands, and no reply beats a wrong one.
                    Item::Malformed(_) if !synchronized => continue,
                    Item::Malformed(_) => return "control stream out of step".into(),
                }
                synchronized = true;
            }
        }
    }

    fn reply(&self, reply: Reply) {
        let mut queue = self.shared.queue();
        let Some(front) = queue.pending.front() else {
            return;
        };
        // A caller that gave up has dropped its receiver; its place is kept all the same, and sends go nowhere.
        let last = match &front.end {
            Some(end) if reply.lines.len() == 1 && reply.lines[0] == *end => true,
            Some(_) => {
                front.sender.send(Ok(reply)).ok();
                false
            }
            None => {
                front.sender.send(Ok(reply)).ok();
                true
            }
        };
        if last {
            front.sender.send(Err(End)).ok();
            queue.pending.pop_front();
        }
    }

    /// Hands on a notification without ever waiting; the last free place is kept for the word that some were missed.
    fn notify(&self, notification: Notification) {
        let notification = match self.notifications.capacity() {
            0 => return,
            1 => Notification::Missed,
            _ => notification,
        };
        self.notifications.try_send(notification).ok();
    }
}

async fn write_lines(mut lines: mpsc::UnboundedReceiver<Vec<u8>>, mut writer: impl AsyncWrite + Unpin) {
    while let Some(line) = lines.recv().await {
        if writer.write_all(&line).await.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
    // Both ends may be halves of one stream that stays open for reading; tmux exits at the end of its input.
    writer.shutdown().await.ok();
}

fn accept(reply: Reply) -> Result<Reply, ClientError> {
    if !reply.ok {
        return Err(ClientError::Refused(String::from_utf8_lossy(&reply.text()).into_owned()));
    }
    if reply.truncated {
        return Err(ClientError::TooLong);
    }
    Ok(reply)
}
