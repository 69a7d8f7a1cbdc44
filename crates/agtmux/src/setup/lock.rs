//! One setup at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use super::SetupError;
use crate::error::CommandError;
use crate::paths::private_dir;

/// Held while files are edited; the kernel gives it back, however the process ends.
#[derive(Debug)]
pub struct SetupLock {
    _file: File,
}

impl SetupLock {
    /// Takes the lock, in the state directory.
    ///
    /// # Errors
    /// Fails if another setup holds it, or the directory cannot be written.
    pub fn take(state_dir: &Path) -> Result<Self, CommandError> {
        private_dir(state_dir)?;
        let path = state_dir.join("setup.lock");
        let io = |what| {
            let path = path.clone();
            move |source| SetupError::Io { what, path, source }
        };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io("open"))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(SetupError::Busy.into()),
            Err(TryLockError::Error(source)) => Err(io("lock")(source).into()),
        }
    }
}
