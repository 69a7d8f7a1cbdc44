//! One owner per state directory (I13).
//!
//! The lock file keeps a second daemon out. The epoch in the database keeps a *former* owner out: one whose lock file
//! was deleted or restored from a backup does not learn of it, but its next write does.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::error::StoreError;

/// Held for as long as the store is open. The kernel lets go of the lock when the process dies, however it dies.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

/// Takes the lock of a state directory, or says who has it.
pub(super) fn acquire(dir: &Path) -> Result<Lock, StoreError> {
    let path = dir.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&path)
        .map_err(|error| StoreError::io(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { file }),
        Err(TryLockError::WouldBlock) => Err(StoreError::Owned { path: dir.to_owned(), pid: pid_in(&mut file) }),
        Err(TryLockError::Error(error)) => Err(StoreError::io(&path, &error)),
    }
}

impl Lock {
    /// Notes who owns the directory, for people and for the message of a second opener. The note grants nothing, so
    /// a disk too full to hold it does not stop the daemon.
    pub(super) fn sign(&mut self, boot_id: &str, epoch: u64) -> std::io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        writeln!(self.file, "pid={} boot={boot_id} epoch={epoch}", std::process::id())
    }
}

impl Drop for Lock {
    /// Closing the file is not enough: a child that was forked but has not yet become another program holds the same
    /// lock for a moment, and whoever opens the directory next would be told that it is owned.
    fn drop(&mut self) {
        self.file.unlock().ok();
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut note = String::new();
    file.take(256).read_to_string(&mut note).ok()?;
    note.split_whitespace().find_map(|word| word.strip_prefix("pid=")?.parse().ok())
}
