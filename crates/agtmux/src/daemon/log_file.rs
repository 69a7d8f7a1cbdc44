//! The daemon's log file, bounded: at start a file that grew large is kept once as `.old`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const LARGE: u64 = 8 * 1024 * 1024;

/// Opens the log for appending, readable by this user alone.
///
/// # Errors
/// Fails when the file cannot be written.
pub fn open(path: &Path) -> io::Result<File> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() > LARGE) {
        fs::rename(path, path.with_extension("log.old"))?;
    }
    OpenOptions::new().create(true).append(true).mode(0o600).open(path)
}
