//! The file of this program, and whether another one lies there now.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that a process was started from, as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    path: PathBuf,
    mark: Option<Mark>,
}

/// What tells a file from the one that takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl Program {
    /// This program. To be asked early: what replaced the file before that goes unnoticed.
    pub fn own() -> Option<Self> {
        std::env::current_exe().ok().map(Self::at)
    }

    fn at(path: PathBuf) -> Self {
        let mark = Mark::of(&path);
        Self { path, mark }
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether another file lies there now. A file that is gone was not replaced.
    pub fn is_replaced(&self) -> bool {
        Mark::of(&self.path).is_some_and(|now| self.mark.is_some_and(|then| then != now))
    }
}

impl Mark {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        let modified = (found.mtime(), found.mtime_nsec());
        Some(Self { device: found.dev(), inode: found.ino(), size: found.len(), modified })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_in_its_place_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, "old").unwrap();
        let program = Program::at(path.clone());
        assert!(!program.is_replaced());
        let next = dir.path().join("next");
        fs::write(&next, "new").unwrap();
        fs::rename(&next, &path).unwrap();
        assert!(program.is_replaced());
        fs::remove_file(&path).unwrap();
        assert!(!program.is_replaced(), "nothing took its place");
    }
}
