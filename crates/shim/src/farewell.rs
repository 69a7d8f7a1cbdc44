//! The note that a shim leaves beside its socket: how its agent ended.
//!
//! Only a parent is told how a process ended, so nobody else could say whether the agent was killed. The note lies there under the
//! shim's pid before the shim ends, and is removed by whoever reads it. Nobody may read it; then the next shim sweeps it away.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What the names of notes end in.
const SUFFIX: &str = ".ended";
/// What the names of notes end in that are not written to their end.
const UNFINISHED: &str = ".ended-new";

/// For so long somebody may be about to read a note.
const FRESH: Duration = Duration::from_secs(60);

/// No note is longer.
const LIMIT: u64 = 1_024;

/// How an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Farewell {
    /// With a status.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}

/// The place of a shim's note.
pub fn place(dir: &Path, shim: u32) -> PathBuf {
    dir.join(format!("{shim}{SUFFIX}"))
}

/// Leaves a note. It is there as a whole or not at all.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn leave(place: &Path, farewell: Farewell) -> io::Result<()> {
    let unfinished = place.with_extension(&UNFINISHED[1..]);
    fs::remove_file(&unfinished).ok();
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    file.write_all(&serde_json::to_vec(&farewell)?)?;
    fs::rename(&unfinished, place)
}

/// Reads a note and removes it. Nothing if there is none, or none that is understood.
pub fn take(place: &Path) -> Option<Farewell> {
    let is_note = fs::symlink_metadata(place).is_ok_and(|about| about.is_file() && about.len() <= LIMIT);
    let bytes = if is_note { fs::read(place).ok()? } else { return None };
    fs::remove_file(place).ok();
    serde_json::from_slice(&bytes).ok()
}

/// The pid of the shim that a file of this name would be a note of.
pub(crate) fn writer(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX).or_else(|| name.strip_suffix(UNFINISHED))
}

/// Whether a note has lain there for so long that nobody will read it.
pub(crate) fn is_stale(note: &Path) -> bool {
    let written = fs::symlink_metadata(note).and_then(|about| about.modified());
    written.is_ok_and(|written| written.elapsed().is_ok_and(|age| age > FRESH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let note = place(dir.path(), 42);
        assert_eq!(take(&note), None);
        for farewell in [Farewell::Exited(0), Farewell::Exited(130), Farewell::Killed(9)] {
            // What a shim with this pid began before is in nobody's way.
            fs::write(note.with_extension("ended-new"), "{").unwrap();
            leave(&note, farewell).unwrap();
            assert_eq!((take(&note), take(&note)), (Some(farewell), None));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_no_note_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let note = place(dir.path(), 42);
        for odd in ["", "{", "9", "{\"exited\":\"x\"}", &" ".repeat(2_000)] {
            fs::write(&note, odd).unwrap();
            assert_eq!(take(&note), None, "{odd:?}");
        }
        fs::remove_file(&note).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &note).unwrap();
        assert_eq!(take(&note), None);
        assert!(leave(&dir.path().join("no/such/42.ended"), Farewell::Exited(0)).is_err());
    }
}
