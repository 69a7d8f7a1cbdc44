//! Starts the daemon on first need.
//!
//! The child takes a session of its own (a daemon that shares the terminal's would die with it, F94), says `ready`
//! or its error on its standard output, and closes it. Two callers may race: the loser's daemon finds the state
//! directory owned and the loser then simply connects to the winner's.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use agtmux_wire::error::{ErrorCode, ErrorDetail};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::unreachable;
use crate::error::CommandError;

/// What a daemon that has taken its socket says to whoever started it.
pub const READY: &str = "ready";

/// How long a start may take; opening a large database is the slow part.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// How long the winner of a race may take to answer.
const RACE_DEADLINE: Duration = Duration::from_secs(5);

/// Starts a daemon and connects to it.
pub async fn start(socket: &Path, tmux_socket: Option<&Path>) -> Result<UnixStream, CommandError> {
    match timeout(START_DEADLINE, launch(tmux_socket)).await {
        Err(_elapsed) => Err(CommandError::new(ErrorCode::Timeout, "the daemon did not get ready in time")
            .hint("`agtmux daemon run` starts it in the foreground and shows what it does")),
        Ok(Err(error)) if error.code == ErrorCode::StoreOwned => connect_to_winner(socket, error).await,
        Ok(Err(error)) => Err(error),
        Ok(Ok(())) => UnixStream::connect(socket).await.map_err(|error| unreachable(socket, &error.to_string())),
    }
}

async fn launch(tmux_socket: Option<&Path>) -> Result<(), CommandError> {
    let program = std::env::current_exe().map_err(CommandError::internal)?;
    let mut command = tokio::process::Command::new(program);
    command.args(["daemon", "run", "--detached"]).current_dir("/");
    if let Some(path) = tmux_socket {
        command.env("AGTMUX_TMUX_SOCKET", path);
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(|error| {
            CommandError::new(ErrorCode::DaemonUnreachable, format!("cannot start the daemon: {error}"))
        })?;
    let mut answer = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut answer).await.map_err(CommandError::internal)?;
    }
    match answer.trim_end() {
        READY => Ok(()),
        text => Err(serde_json::from_str::<ErrorDetail>(text).map_or_else(
            |_| {
                CommandError::new(ErrorCode::DaemonUnreachable, "the daemon ended before it was ready")
                    .hint("`agtmux daemon run` starts it in the foreground and shows what it does")
            },
            CommandError::from,
        )),
    }
}

async fn connect_to_winner(socket: &Path, owned: CommandError) -> Result<UnixStream, CommandError> {
    let deadline = Instant::now() + RACE_DEADLINE;
    while Instant::now() < deadline {
        if let Ok(stream) = UnixStream::connect(socket).await {
            return Ok(stream);
        }
        sleep(Duration::from_millis(20)).await;
    }
    Err(owned)
}
