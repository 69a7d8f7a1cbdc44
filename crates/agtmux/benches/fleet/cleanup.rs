//! What has to go when the program ends, however it ends.
//!
//! Everything that is started registers here and takes itself off when it is gone in order. On Ctrl-C or SIGTERM what
//! is left is killed by its process id and the directories are removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, process, thread};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};

static LEFT: Mutex<Left> = Mutex::new(Left { pids: BTreeSet::new(), dirs: BTreeSet::new() });

struct Left {
    pids: BTreeSet<u32>,
    dirs: BTreeSet<PathBuf>,
}

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn register_process(pid: u32) {
    left().pids.insert(pid);
}

pub(crate) fn register_directory(dir: &Path) {
    left().dirs.insert(dir.to_owned());
}

/// Kills a process that was registered.
pub(crate) fn kill(pid: u32) {
    if left().pids.remove(&pid) {
        send(pid, Signal::KILL);
    }
}

/// A process that was registered has ended by itself.
pub(crate) fn gone(pid: u32) {
    left().pids.remove(&pid);
}

/// Removes a directory that was registered.
pub(crate) fn remove(dir: &Path) {
    if left().dirs.remove(dir) {
        fs::remove_dir_all(dir).ok();
    }
}

/// Sends a signal to a process of ours; one that has ended meanwhile is no error.
pub(crate) fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        kill_process(pid, signal).ok();
    }
}

/// Cleans up and ends the program when a signal asks for it.
pub(crate) fn on_signals() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async {
            let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
            if let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
                everything();
                process::exit(130);
            }
        });
    });
    Ok(())
}

fn everything() {
    let mut left = left();
    for pid in std::mem::take(&mut left.pids) {
        send(pid, Signal::KILL);
    }
    for dir in std::mem::take(&mut left.dirs) {
        fs::remove_dir_all(dir).ok();
    }
}
