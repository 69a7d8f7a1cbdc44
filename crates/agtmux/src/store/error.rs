//! Everything that can go wrong with the store, each with a stable code and a way out.

use std::path::{Path, PathBuf};

use rusqlite::ffi;

/// Why the store could not be opened, or refused a write.
///
/// The variants are values without a source chain, so that one failure can be handed to every caller that waited on
/// the same commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no room for the write. What was accepted before stays.
    #[error("no space left for {}", path.display())]
    Full { path: PathBuf },
    /// The file or its directory cannot be written.
    #[error("{} is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// Another process kept the database locked for longer than the timeout.
    #[error("{} is locked by another program", path.display())]
    Busy { path: PathBuf },
    /// The file is damaged, or is no database.
    #[error("{} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    /// Reading or writing failed.
    #[error("cannot use {}: {detail}", path.display())]
    Io { path: PathBuf, detail: String },
    /// A later release wrote the database.
    #[error("{} has format {found}, this build knows {known}", path.display())]
    Newer { path: PathBuf, found: i64, known: i64 },
    /// Another daemon owns the state directory.
    #[error("the state directory {} belongs to a running daemon (pid {})", path.display(), Pid(*pid))]
    Owned { path: PathBuf, pid: Option<u32> },
    /// Another daemon took the state directory over, or the database was replaced while it was open.
    #[error("this daemon has lost the state directory {}: {detail}", path.display())]
    Fenced { path: PathBuf, detail: String },
    /// The state directory belongs to another user.
    #[error("the state directory {} belongs to uid {uid}", path.display())]
    ForeignOwner { path: PathBuf, uid: u32 },
    /// Other users may write to the state directory.
    #[error("the state directory {} can be written by others (mode {mode:03o})", path.display())]
    Exposed { path: PathBuf, mode: u32 },
    /// Something else is where the state directory should be.
    #[error("{} is not a directory", path.display())]
    NotADirectory { path: PathBuf },
    /// A batch broke a rule of the schema, such as a `seq` that is already in the log. Nothing of it was written.
    #[error("the batch was refused: {detail}")]
    Rejected { detail: String },
    /// The SQLite library that this binary runs with is older than the one it was tested with.
    #[error("SQLite {found} is too old, {needed} is needed")]
    OldLibrary { found: i32, needed: i32 },
    /// The writer has been closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// What a person can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Full { .. } => {
                "free some space; nothing that was accepted is lost, and writing goes on by itself".into()
            }
            Self::ReadOnly { path } => {
                format!("make {} and its directory writable for you", path.display())
            }
            Self::Busy { path } => format!("close whatever holds {} open, such as a sqlite3 shell", path.display()),
            Self::Corrupt { path, .. } => {
                let path = path.display();
                format!(
                    "move it aside with `mv {path} {path}.damaged` (and {path}-wal, {path}-shm if present) and start again; history begins anew, live agents are found again"
                )
            }
            Self::Io { path, .. } => {
                format!("check the disk and the permissions of {}", path.display())
            }
            Self::Newer { path, .. } => {
                format!(
                    "run the newer release again, or choose another state directory; {} was not touched",
                    path.display()
                )
            }
            Self::Owned { .. } => "use the running daemon, or stop it first with `agtmux daemon stop`".into(),
            Self::Fenced { .. } => "restart this daemon; it writes nothing more".into(),
            Self::ForeignOwner { .. } => "choose a state directory of your own with XDG_STATE_HOME".into(),
            Self::Exposed { path, .. } => {
                format!("if you trust what is in it, run `chmod 700 {}`", path.display())
            }
            Self::NotADirectory { path } => format!("move {} aside", path.display()),
            Self::Rejected { .. } => "this is a bug; the log is unharmed".into(),
            Self::OldLibrary { .. } => "use the official build, which brings its own SQLite".into(),
            Self::Closed => "the daemon is stopping; try again when it runs".into(),
        }
    }

    /// Whether the connection may be at fault, so that the next write should begin with a fresh one.
    pub(super) fn taints_connection(&self) -> bool {
        matches!(self, Self::Full { .. } | Self::ReadOnly { .. } | Self::Corrupt { .. } | Self::Io { .. })
    }

    /// Sorts an error of SQLite into ours.
    pub(super) fn sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        let detail = error.to_string();
        // Everything else is about a value that does not fit its column, which only damage can bring about.
        let rusqlite::Error::SqliteFailure(failure, _) = error else {
            return Self::Corrupt { path, detail };
        };
        match failure.extended_code & 0xff {
            ffi::SQLITE_FULL => Self::Full { path },
            // The shared-memory index is grown before use, so this is a full disk by another name.
            ffi::SQLITE_IOERR if failure.extended_code == ffi::SQLITE_IOERR_SHMSIZE => Self::Full { path },
            ffi::SQLITE_READONLY => Self::ReadOnly { path },
            ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => Self::Busy { path },
            ffi::SQLITE_CORRUPT | ffi::SQLITE_NOTADB => Self::Corrupt { path, detail },
            ffi::SQLITE_CONSTRAINT | ffi::SQLITE_MISMATCH | ffi::SQLITE_TOOBIG => Self::Rejected { detail },
            _ => Self::Io { path, detail: format!("{detail} (SQLite {})", failure.extended_code) },
        }
    }

    /// Sorts an error of the file system into ours.
    pub(super) fn io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full { path },
            std::io::ErrorKind::ReadOnlyFilesystem | std::io::ErrorKind::PermissionDenied => Self::ReadOnly { path },
            std::io::ErrorKind::NotADirectory => Self::NotADirectory { path },
            _ => Self::Io { path, detail: error.to_string() },
        }
    }
}

/// A pid that may not be known yet: the winner of a race writes it a moment after it took the lock.
struct Pid(Option<u32>);

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "{pid}"),
            None => f.write_str("unknown"),
        }
    }
}
