//! Commands by ordinary tmux clients, one process each.
//!
//! Dearer than a control client by a few milliseconds a command, and without its danger: as long as *any* control client
//! is connected, `tmux new-session … \; new-window … \; kill-session …` crashes a server up to 3.6, at least, and so may whatever
//! happens in the moment in which one connects. A process that watches somebody else's agents must not bring that risk.
//!
//! The text of the commands goes to `source-file -`, so that they are read by the same parser, with the same quoting, as
//! the lines of a control client.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command as Process};

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::protocol::Reply;
use crate::server;
use crate::transport::Transport;

/// The most output that one command may give.
const OUTPUT_LIMIT: u64 = 64 * 1024 * 1024;

/// What a pipe takes without anybody reading, so that writing to it never waits.
const PIPE_CAPACITY: usize = 60_000;

/// What a client says whose server ended.
const GONE: [&str; 4] = ["server exited", "lost server", "no server running", "error connecting to"];

/// Ordinary clients of one server. Never starts one.
#[derive(Debug, Clone)]
pub struct Plain {
    tmux: PathBuf,
    socket: PathBuf,
    directory: Option<PathBuf>,
}

impl Plain {
    /// Clients of the server behind a socket.
    pub fn new(tmux: &Path, socket: &Path) -> Self {
        Self { tmux: tmux.to_owned(), socket: socket.to_owned(), directory: None }
    }

    /// The same clients, run in a directory: that is where the windows they open are.
    #[must_use]
    pub fn at(&self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_owned()), ..self.clone() }
    }

    /// The directory that the clients run in, if not our own.
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The tmux program.
    pub fn tmux(&self) -> &Path {
        &self.tmux
    }

    /// The socket of the server.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Runs a script whose output is wanted line by line as it comes, for instance because it waits in the middle.
    pub fn follow(&self, script: &Script) -> Result<Following, ClientError> {
        let mut child = self.spawn(script)?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(closed("the client has no output"));
        };
        Ok(Following { child, lines: BufReader::new(stdout).lines(), stderr })
    }

    async fn execute(&self, script: &Script) -> Result<Vec<u8>, ClientError> {
        let mut child = self.spawn(script)?;
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(closed("the client has no output"));
        };
        let mut output = Vec::new();
        let mut complaints = Vec::new();
        let mut limited = stdout.take(OUTPUT_LIMIT);
        let (read, complained) = tokio::join!(limited.read_to_end(&mut output), stderr.read_to_end(&mut complaints));
        read.and(complained).map_err(|error| closed(&error.to_string()))?;
        if limited.limit() == 0 {
            return Err(ClientError::TooLong);
        }
        let status = child.wait().await.map_err(|error| closed(&error.to_string()))?;
        self.judge(status, &complaints)?;
        Ok(output)
    }

    /// The beginning of a client's command line.
    pub(crate) fn process(&self) -> Process {
        let mut process = Process::new(&self.tmux);
        if let Some(directory) = &self.directory {
            // tmux prefers what PWD says, if that is the same place by another name.
            process.current_dir(directory).env_remove("PWD");
        }
        process
            // -N: never start a server. -u: without it tmux writes `_` for every character beyond ASCII when our own
            // locale is not UTF-8, as that of a daemon often is.
            .args(["-N", "-u", "-S"])
            .arg(&self.socket)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            // An interrupt typed at our terminal is not meant for it.
            .process_group(0)
            .kill_on_drop(true);
        process
    }

    /// A client that complains was refused, unless it is the server that is gone.
    pub(crate) fn judge(&self, status: ExitStatus, complaints: &[u8]) -> Result<(), ClientError> {
        if status.success() && complaints.is_empty() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(complaints).trim_end().to_owned();
        // Another server may answer there by now.
        let is_gone = GONE.iter().any(|word| text.contains(word)) || !server::is_alive(&self.socket);
        if is_gone { Err(closed(&text)) } else { Err(ClientError::Refused(text)) }
    }

    /// Starts a client and hands it the script, in one step that cannot be cancelled in the middle: a script that ran for
    /// a client nobody listens to would have taken events away.
    fn spawn(&self, script: &Script) -> Result<Child, ClientError> {
        let line = script.line()?;
        let mut child = self
            .process()
            .args(["source-file", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| closed(&format!("cannot run {}: {error}", self.tmux.display())))?;
        let stdin = child.stdin.take().and_then(|stdin| stdin.into_owned_fd().ok()).map(std::fs::File::from);
        if let Some(mut stdin) = stdin {
            if line.len() >= PIPE_CAPACITY {
                return Err(ClientError::TooLong);
            }
            // A client that ended before it read has something to say about that.
            stdin.write_all(&[line, b"\n"].concat()).ok();
        }
        Ok(child)
    }
}

impl Transport for Plain {
    async fn run(&self, command: &Command, deadline: Duration) -> Result<Reply, ClientError> {
        let output = tokio::time::timeout(deadline, self.execute(&Script::from(command))).await;
        Ok(reply(&output.unwrap_or(Err(ClientError::Timeout))?))
    }

    async fn run_script(&self, script: &Script, deadline: Duration) -> Result<Vec<u8>, ClientError> {
        let output = tokio::time::timeout(deadline, self.execute(script)).await;
        output.unwrap_or(Err(ClientError::Timeout))
    }
}

/// A script that runs, and its output.
#[derive(Debug)]
pub struct Following {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    stderr: ChildStderr,
}

impl Following {
    /// Waits for a line. `None` when the script has come to its end. Safe to cancel.
    pub async fn next_line(&mut self) -> Result<Option<String>, ClientError> {
        self.lines.next_line().await.map_err(|error| closed(&error.to_string()))
    }

    /// Waits for the client to exit and says how it went.
    pub async fn finish(mut self, plain: &Plain) -> Result<(), ClientError> {
        let mut complaints = Vec::new();
        self.stderr.read_to_end(&mut complaints).await.map_err(|error| closed(&error.to_string()))?;
        let status = self.child.wait().await.map_err(|error| closed(&error.to_string()))?;
        plain.judge(status, &complaints)
    }
}

fn reply(output: &[u8]) -> Reply {
    let output = output.strip_suffix(b"\n").unwrap_or(output);
    let lines =
        if output.is_empty() { Vec::new() } else { output.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect() };
    Reply { time: 0, number: 0, flags: 1, ok: true, truncated: false, lines }
}

pub(crate) fn closed(reason: &str) -> ClientError {
    ClientError::Closed { reason: reason.to_owned() }
}
