//! How the process of an agent ended. Only its parent is told, so it is known of those alone whose wrapper leaves word of it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_agents::Process;
use agtmux_core::ending::Exit;
use agtmux_core::id::{PaneId, ProcessKey};
use agtmux_shim::farewell::{self, Farewell};
use tokio::time::{Instant, sleep};

use crate::platform;

/// How long a wrapper may take to leave word. It does so before anything else.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// That an agent has ended.
pub(super) struct Parting {
    /// Its pane.
    pub(super) pane: PaneId,
    /// Its process.
    pub(super) process: ProcessKey,
    /// How it ended, if anybody could tell.
    pub(super) exit: Option<Exit>,
}

/// The wrapper that an agent runs in.
pub(super) struct Wrapper {
    process: ProcessKey,
    note: PathBuf,
}

impl Wrapper {
    /// The wrapper around a process: the nearest of its ancestors that has a socket where wrappers have theirs.
    pub(super) fn around(shims: &Path, processes: &[Process], pid: u32) -> Option<Self> {
        let mut pid = pid;
        // No longer than there are processes: a table that was read while pids came back could go in circles.
        for _ in processes {
            let process = processes.iter().find(|process| process.pid == pid)?;
            if shims.join(format!("{pid}.sock")).exists() {
                let note = farewell::place(shims, pid);
                return Some(Self { process: ProcessKey { pid, start: process.start }, note });
            }
            pid = process.ppid;
        }
        None
    }

    /// How the agent ended, now that it has. Nothing if the wrapper was killed too, or runs on: then what ended was not what
    /// it runs.
    pub(super) async fn farewell(&self) -> Option<Exit> {
        let until = Instant::now() + PATIENCE;
        loop {
            // Asked first: a wrapper that is gone has left what it leaves.
            let can_come = platform::is_running(self.process.pid, self.process.start) && Instant::now() < until;
            match farewell::take(&self.note) {
                Some(Farewell::Exited(status)) => return Some(Exit::Status(status)),
                Some(Farewell::Killed(signal)) => return Some(Exit::Signal(signal)),
                None if can_come => sleep(LOOK_EVERY).await,
                None => return None,
            }
        }
    }
}
