//! Files in directories that an agent may write to, opened so that nothing put there can mislead or hold up the daemon.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// The directory below which a workspace keeps the files of its agents.
const WORKSPACE_DIR: &str = ".schmux";

/// Where a file is: a directory that is taken as it is, and the way from there, which is followed without links.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Located {
    root: PathBuf,
    below: PathBuf,
}

/// A file that may be read.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    pub(super) stamp: FileStamp,
}

/// What tells one content of a file from another, as far as the file system knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) modified_ns: i128,
    pub(super) size: u64,
}

/// Why a file is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refused {
    #[error("there is none")]
    Missing,
    #[error("a link is on the way to it")]
    Link,
    #[error("it is no regular file")]
    Special,
    #[error("it belongs to somebody else")]
    Foreign,
    #[error("it has {size} bytes, and {limit} are read at most")]
    TooLarge { size: u64, limit: u64 },
    #[error("it cannot be opened: {0}")]
    Unreadable(io::Error),
}

impl Located {
    /// A file by its path. The person laid out the way to the workspace, links and all; what is below `.schmux` the
    /// agent made. None for a path that is not absolute and plain.
    pub(super) fn in_workspace(path: &Path) -> Option<Self> {
        let is_plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) || path.file_name().is_none() {
            return None;
        }
        let marked = path.ancestors().skip(1).find(|dir| dir.file_name().is_some_and(|name| name == WORKSPACE_DIR));
        let root = marked.and_then(Path::parent).or_else(|| path.parent())?;
        Some(Self { root: root.to_owned(), below: path.strip_prefix(root).ok()?.to_owned() })
    }

    /// A file below a directory of the person's.
    pub(super) fn below(root: &Path, below: impl Into<PathBuf>) -> Self {
        Self { root: root.to_owned(), below: below.into() }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.root.join(&self.below)
    }

    /// Opens it if it is a regular file of ours that no link leads to, and not larger than `limit`. Never waits: neither
    /// for a writer of a pipe, nor for a device.
    pub(super) fn open(&self, limit: u64) -> Result<Opened, Refused> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let root = openat(CWD, &self.root, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let opened = root.and_then(|root| open_beneath(&root, &self.below, flags));
        let file = File::from(opened.map_err(|error| match error {
            Errno::NOENT | Errno::NOTDIR => Refused::Missing,
            Errno::LOOP | Errno::XDEV => Refused::Link,
            Errno::NXIO => Refused::Special,
            other => Refused::Unreadable(other.into()),
        })?);
        let meta = file.metadata().map_err(Refused::Unreadable)?;
        if !meta.is_file() {
            return Err(Refused::Special);
        }
        if meta.uid() != rustix::process::geteuid().as_raw() {
            return Err(Refused::Foreign);
        }
        if meta.len() > limit {
            return Err(Refused::TooLarge { size: meta.len(), limit });
        }
        let stamp = FileStamp {
            device: meta.dev(),
            inode: meta.ino(),
            modified_ns: i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec()),
            size: meta.len(),
        };
        Ok(Opened { file, stamp })
    }
}

impl Opened {
    /// What stands from `offset` on, at most `limit` bytes.
    pub(super) fn read_at(&self, offset: u64, limit: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; limit];
        let mut filled = 0;
        while filled < limit {
            match self.file.read_at(&mut bytes[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }
}

impl FileStamp {
    /// When the file was last written to.
    pub(super) fn modified(&self) -> SystemTime {
        let since_1970 = u64::try_from(self.modified_ns).unwrap_or(0);
        SystemTime::UNIX_EPOCH + Duration::from_nanos(since_1970)
    }
}

#[cfg(target_os = "linux")]
fn open_beneath(root: &OwnedFd, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(root, below, flags, Mode::empty(), resolve) {
        // Kernels before 5.6 do not have it, and some sandboxes hide it.
        Err(Errno::NOSYS | Errno::PERM) => open_step_by_step(root, below, flags),
        opened => opened,
    }
}

#[cfg(not(target_os = "linux"))]
fn open_beneath(root: &OwnedFd, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    open_step_by_step(root, below, flags)
}

/// The same where the kernel cannot do it in one step: each directory on the way is opened without following a link.
fn open_step_by_step(root: &OwnedFd, below: &Path, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let (Some(name), Some(dirs)) = (below.file_name(), below.parent()) else {
        return Err(Errno::NOENT);
    };
    let mut at = root.try_clone().map_err(|_used_up| Errno::MFILE)?;
    for part in dirs.components() {
        let Component::Normal(part) = part else {
            return Err(Errno::XDEV);
        };
        let step = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        at = openat(&at, part, step, Mode::empty()).map_err(|error| link_or(&at, part, error))?;
    }
    openat(&at, name, flags, Mode::empty()).map_err(|error| link_or(&at, name, error))
}

/// A link where a directory is wanted is "no directory" to the kernel.
fn link_or(at: &OwnedFd, part: &std::ffi::OsStr, error: Errno) -> Errno {
    let is_link = rustix::fs::statat(at, part, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Symlink);
    if is_link { Errno::LOOP } else { error }
}
