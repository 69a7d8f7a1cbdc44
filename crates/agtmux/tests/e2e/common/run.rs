//! Commands that are run to their end, or in the background.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use super::wait::{DEADLINE, wait_within};

/// What a command gave.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its exit code; -1 when a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        Background::start(command).finish()
    }

    /// Insists on success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "the command failed: {self:#?}");
        self
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON ({error}): {self:#?}"))
    }

    /// The error that `--json` makes of a failure. What the command waited for can stand above it.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        let last = self.stderr.trim_end().lines().next_back().unwrap_or_default();
        let document: Value =
            serde_json::from_str(last).unwrap_or_else(|error| panic!("not JSON ({error}): {self:#?}"));
        document["error"].clone()
    }
}

/// A command that runs while the test goes on. Ended when dropped.
pub(crate) struct Background {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Background {
    #[track_caller]
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
        let stdout = chunks(child.stdout.take().unwrap());
        let stderr = chunks(child.stderr.take().unwrap());
        Self { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What came on standard output since the last call.
    pub(crate) fn new_output(&self) -> String {
        self.stdout.try_iter().collect()
    }

    /// What came on standard error since the last call.
    pub(crate) fn new_errors(&self) -> String {
        self.stderr.try_iter().collect()
    }

    /// Waits for the end.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Run {
        let status = wait_within(2 * DEADLINE, "a command to end", || {
            self.child.try_wait().unwrap().ok_or_else(|| format!("{:?} still runs", self.child))
        });
        // A daemon that the command started has other pipes, so these end with the command.
        let patience = Duration::from_secs(5);
        let rest = |chunks: &Receiver<String>| {
            let mut text = String::new();
            while let Ok(chunk) = chunks.recv_timeout(patience) {
                text.push_str(&chunk);
            }
            text
        };
        Run { code: status.code().unwrap_or(-1), stdout: rest(&self.stdout), stderr: rest(&self.stderr) }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Reads a pipe on a thread, so that a full one never blocks the command.
fn chunks(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut pending = Vec::new();
        let mut buffer = [0; 8 * 1024];
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            pending.extend_from_slice(&buffer[..count]);
            // A character may be split between two reads.
            let whole = pending.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
            let rest = pending.split_off(whole);
            let text = String::from_utf8_lossy(&std::mem::replace(&mut pending, rest)).into_owned();
            if sender.send(text).is_err() {
                return;
            }
        }
        sender.send(String::from_utf8_lossy(&pending).into_owned()).ok();
    });
    receiver
}
