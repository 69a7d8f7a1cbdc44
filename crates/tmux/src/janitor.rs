//! Tidies up after a process that was killed.
//!
//! What a process put into a tmux server outlives it. A janitor is a small process that waits at the end of a pipe: told
//! that it is not needed, it goes; if the pipe closes without a word, whoever held it is dead, and it runs the commands
//! it was given. It has a session of its own, so that nothing aimed at the process it watches hits it too.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};

use crate::command::{CommandError, Script};

/// What a janitor is told when it is not needed.
const DISMISSED: u8 = b'.';

/// How long after the first round the second one is made.
const SECOND_ROUND: Duration = Duration::from_millis(500);

/// Why there is no janitor.
#[derive(Debug, thiserror::Error)]
pub enum JanitorError {
    /// Its process could not be started or told what to do.
    #[error("cannot start a janitor: {0}")]
    Io(#[from] io::Error),
    /// The commands cannot be written.
    #[error(transparent)]
    Invalid(#[from] CommandError),
}

/// A janitor that waits.
#[derive(Debug)]
pub struct Janitor {
    child: Child,
    stdin: ChildStdin,
}

impl Janitor {
    /// Starts one. `helper` is a command line that must call [`serve`]; `script` is what to run on the server behind the
    /// socket when this process is gone.
    pub async fn start(helper: &[OsString], tmux: &Path, socket: &Path, script: &Script) -> Result<Self, JanitorError> {
        let [program, arguments @ ..] = helper else {
            return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
        };
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut stdin = child.stdin.take().ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
        for part in [tmux.as_os_str().as_bytes(), socket.as_os_str().as_bytes(), script.line()?] {
            stdin.write_all(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes()).await?;
            stdin.write_all(part).await?;
        }
        stdin.flush().await?;
        Ok(Self { child, stdin })
    }

    /// Sends it away: everything is tidy.
    pub async fn dismiss(mut self) {
        self.stdin.write_all(&[DISMISSED]).await.ok();
        drop(self.stdin);
        self.child.wait().await.ok();
    }
}

/// What the process of a janitor does, with its standard input.
pub fn serve(mut input: impl Read) -> io::Result<()> {
    // It leads no group yet, so this cannot fail; and if it did, it would serve all the same.
    rustix::process::setsid().ok();
    let (tmux, socket, script) = (part(&mut input)?, part(&mut input)?, part(&mut input)?);
    let mut word = [0];
    if input.read(&mut word).is_ok_and(|count| count == 1 && word[0] == DISMISSED) {
        return Ok(());
    }
    tidy(&tmux, &socket, &script)?;
    // A client that the dead process had just started may still be putting things there.
    std::thread::sleep(SECOND_ROUND);
    tidy(&tmux, &socket, &script)
}

fn tidy(tmux: &[u8], socket: &[u8], script: &[u8]) -> io::Result<()> {
    let mut child = Process::new(OsStr::from_bytes(tmux))
        .args(["-N", "-u", "-S"])
        .arg(OsStr::from_bytes(socket))
        .args(["source-file", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(script)?;
        stdin.write_all(b"\n")?;
    }
    child.wait()?;
    Ok(())
}

fn part(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let mut bytes = Vec::new();
    input.take(u32::from_le_bytes(length).into()).read_to_end(&mut bytes)?;
    Ok(bytes)
}
