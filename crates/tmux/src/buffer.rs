//! Text on its way into a pane: laid into a paste buffer, and pasted from there.
//!
//! Text never stands on a command line: tmux takes a `;` at its end for a separator, and a line has a length. A client of its
//! own reads the text from its standard input into a buffer, and a later script pastes that buffer and deletes it in the
//! same breath. The buffers of a process have names that others can tell, so that a [`crate::janitor`] finds what a process
//! left behind that was killed in between.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::ClientError;
use crate::command::{Command, Script};
use crate::id::PaneId;
use crate::plain::{Plain, closed};

/// So many texts of one process can be on their way into panes of one server.
pub const SLOTS: u32 = 4;

/// A paste buffer of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer(String);

impl Buffer {
    /// One of the buffers of this process. The slot is below [`SLOTS`], and nobody else uses it meanwhile.
    pub fn of_this_process(slot: u32) -> Self {
        Self::of(std::process::id(), slot)
    }

    fn of(owner: u32, slot: u32) -> Self {
        Self(format!("agtmux-{owner}-{slot}"))
    }

    /// Lays a text into the buffer, byte for byte.
    ///
    /// # Errors
    /// Fails when the server is gone or does not answer in time.
    pub async fn load(&self, plain: &Plain, text: &[u8], deadline: Duration) -> Result<(), ClientError> {
        let load = async {
            let mut child = plain
                .process()
                .args(["load-buffer", "-b", &self.0, "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .map_err(|error| closed(&format!("cannot run {}: {error}", plain.tmux().display())))?;
            let (Some(mut stdin), Some(mut stderr)) = (child.stdin.take(), child.stderr.take()) else {
                return Err(closed("the client has no input"));
            };
            // A client that ends before it has read everything has something to say about that.
            stdin.write_all(text).await.ok();
            stdin.shutdown().await.ok();
            drop(stdin);
            let mut complaints = Vec::new();
            stderr.read_to_end(&mut complaints).await.map_err(|error| closed(&error.to_string()))?;
            let status = child.wait().await.map_err(|error| closed(&error.to_string()))?;
            plain.judge(status, &complaints)
        };
        tokio::time::timeout(deadline, load).await.unwrap_or(Err(ClientError::Timeout))
    }

    /// Pastes the text into a pane as it is, line ends included, and deletes the buffer. `bracketed` tells the program that
    /// it is a paste, if the program has asked to be told.
    pub fn paste(&self, pane: PaneId, bracketed: bool) -> Command {
        let paste = Command::new("paste-buffer").flag("-r").flag("-d");
        let paste = if bracketed { paste.flag("-p") } else { paste };
        paste.opt("-b", &self.0).target(pane)
    }

    /// Deletes the buffer, whether or not there is one.
    pub fn clear(&self) -> Script {
        // Deleting fails where there is nothing, and a command that fails drops the rest of its line.
        let set = Command::new("set-buffer").opt("-b", &self.0).arg("-");
        Script::new().then(&set).then(&Command::new("delete-buffer").opt("-b", &self.0))
    }

    /// Deletes all buffers of a process.
    pub(crate) fn clear_all_of(owner: u32) -> Script {
        (0..SLOTS).fold(Script::new(), |script, slot| script.join(&Self::of(owner, slot).clear()))
    }
}
