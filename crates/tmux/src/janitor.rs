//! Tidies up after a process that was killed.
//!
//! What a process put into a tmux server outlives it. A janitor is a small process that waits at the end of a pipe: told
//! that it is not needed, it goes; if the pipe closes without a word, whoever held it is dead, and it runs the commands
//! it was given. It has a session of its own, so that nothing aimed at the process it watches hits it too.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::command::{CommandError, Script};
use crate::id::PaneId;
use crate::pipe;

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
    notes: mpsc::UnboundedSender<Note>,
    /// Holds the pipe to the janitor, and closes it when this is dropped.
    _writer: JoinSet<()>,
}

/// What a janitor is told while it waits. Written as a letter and little-endian numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Note {
    /// A pane's pipe leads to the process that is watched.
    Piped { stream: u32, pane: PaneId, pane_pid: u32 },
    /// It no longer does: the pane is gone, or somebody else took its pipe.
    Ended { stream: u32 },
    /// Nothing but pipes is left to free.
    Dismissed,
}

impl Note {
    fn bytes(self) -> Vec<u8> {
        let (letter, numbers) = match self {
            Self::Piped { stream, pane, pane_pid } => (b'+', vec![stream, pane.0, pane_pid]),
            Self::Ended { stream } => (b'-', vec![stream]),
            Self::Dismissed => (b'.', vec![]),
        };
        std::iter::once(letter).chain(numbers.into_iter().flat_map(u32::to_le_bytes)).collect()
    }

    /// The next note; `None` if the pipe closed or holds anything else.
    fn read(input: &mut impl Read) -> Option<Self> {
        let mut letter = [0];
        input.read_exact(&mut letter).ok()?;
        let mut number = || number(input).ok();
        match letter[0] {
            b'+' => Some(Self::Piped { stream: number()?, pane: PaneId(number()?), pane_pid: number()? }),
            b'-' => Some(Self::Ended { stream: number()? }),
            b'.' => Some(Self::Dismissed),
            _ => None,
        }
    }
}

/// Tells a janitor which panes' pipes lead to this process.
#[derive(Debug, Clone)]
pub struct PipeNotes(mpsc::UnboundedSender<Note>);

impl PipeNotes {
    /// A stream of a pane begins. Each stream has a number of its own.
    pub fn begins(&self, stream: u32, pane: PaneId, pane_pid: u32) {
        self.0.send(Note::Piped { stream, pane, pane_pid }).ok();
    }

    /// A stream ended.
    pub fn ends(&self, stream: u32) {
        self.0.send(Note::Ended { stream }).ok();
    }
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
        let (notes, written) = mpsc::unbounded_channel();
        let mut writer = JoinSet::new();
        writer.spawn(write_notes(stdin, written));
        Ok(Self { child, notes, _writer: writer })
    }

    /// Where it is told whose pipes to free.
    pub fn pipe_notes(&self) -> PipeNotes {
        PipeNotes(self.notes.clone())
    }

    /// Has it free the pipes it knows of, and sends it away: everything else is tidy.
    pub async fn dismiss(mut self) {
        self.notes.send(Note::Dismissed).ok();
        self.child.wait().await.ok();
    }
}

async fn write_notes(mut stdin: ChildStdin, mut notes: mpsc::UnboundedReceiver<Note>) {
    while let Some(note) = notes.recv().await {
        if stdin.write_all(&note.bytes()).await.is_err() || note == Note::Dismissed {
            return;
        }
    }
}

/// What the process of a janitor does, with its standard input.
pub fn serve(mut input: impl Read) -> io::Result<()> {
    // It leads no group yet, so this cannot fail; and if it did, it would serve all the same.
    rustix::process::setsid().ok();
    let (tmux, socket, script) = (part(&mut input)?, part(&mut input)?, part(&mut input)?);
    let mut streams = BTreeMap::new();
    let is_dismissed = loop {
        match Note::read(&mut input) {
            Some(Note::Piped { stream, pane, pane_pid }) => {
                streams.insert(stream, (pane, pane_pid));
            }
            Some(Note::Ended { stream }) => {
                streams.remove(&stream);
            }
            Some(Note::Dismissed) => break true,
            None => break false,
        }
    };
    let free_pipes = pipe::free(streams.values().copied());
    if is_dismissed {
        return if streams.is_empty() { Ok(()) } else { tidy(&tmux, &socket, &free_pipes) };
    }
    tidy(&tmux, &socket, &[script.as_slice(), b"\n", &free_pipes].concat())?;
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
    let length = number(input)?;
    let mut bytes = Vec::new();
    input.take(length.into()).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn number(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}
