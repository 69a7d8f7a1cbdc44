//! One file of somebody else's: read, and replaced at once or not at all.
//!
//! A new text is written beside the file, reaches the disk, and takes the file's name in one step: whoever looks sees the
//! old text or the new one, and so does everybody after a crash. What was written by somebody else meanwhile is not lost:
//! the file is compared with what was read right before that step.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::SetupError;

/// A file as it was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Where it is, links followed if that was wished.
    pub path: PathBuf,
    /// Its bytes, if it is there.
    pub bytes: Option<Vec<u8>>,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It stays as it is.
    Unchanged,
    /// It was made.
    Created,
    /// It was edited.
    Edited,
    /// It was deleted.
    Deleted,
}

impl Outcome {
    /// What becomes of a file when its bytes become others.
    pub fn of(before: Option<&[u8]>, after: Option<&[u8]>) -> Self {
        match (before, after) {
            _ if before == after => Self::Unchanged,
            (None, _) => Self::Created,
            (Some(_), Some(_)) => Self::Edited,
            (Some(_), None) => Self::Deleted,
        }
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Deleted => "deleted",
        }
    }
}

/// Reads a file.
///
/// # Errors
/// Refuses links, unless they are to be followed, and everything that is not a regular file.
pub fn read(path: &Path, follows_links: bool) -> Result<Found, SetupError> {
    let meta = match fs::symlink_metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Found { path: path.to_owned(), bytes: None }),
        Err(source) => return Err(io_error("read", path, source)),
    };
    if meta.is_symlink() {
        let followed = fs::canonicalize(path);
        if !follows_links {
            let target = followed.or_else(|_dangling| fs::read_link(path)).unwrap_or_default();
            return Err(SetupError::Link { path: path.to_owned(), target });
        }
        return read(&followed.map_err(|source| io_error("follow", path, source))?, false);
    }
    if !meta.is_file() {
        return Err(SetupError::NotAFile { path: path.to_owned() });
    }
    let bytes = fs::read(path).map_err(|source| io_error("read", path, source))?;
    Ok(Found { path: path.to_owned(), bytes: Some(bytes) })
}

impl Found {
    /// Where the first text of the file is kept.
    pub fn backup(&self) -> PathBuf {
        beside(&self.path, "", ".agtmux-backup")
    }

    /// Gives the file other bytes, or takes it away.
    ///
    /// # Errors
    /// Fails, with the file as it was, if it is not what was read any more or cannot be written.
    pub fn replace(&self, after: Option<&[u8]>) -> Result<Outcome, SetupError> {
        // What a setup that was killed may have left behind.
        discard(&self.new_name());
        let outcome = Outcome::of(self.bytes.as_deref(), after);
        match (outcome, after) {
            (Outcome::Unchanged, _) | (Outcome::Created | Outcome::Edited, None) => {}
            (Outcome::Deleted, _) => {
                self.check_unchanged()?;
                fs::remove_file(&self.path).map_err(|source| io_error("delete", &self.path, source))?;
                self.sync_folder()?;
            }
            (Outcome::Created, Some(after)) => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(folder).map_err(|source| io_error("make", folder, source))?;
                let new = self.write_beside(after, None)?;
                self.publish_new(&new, &self.path)?;
            }
            (Outcome::Edited, Some(after)) => {
                let meta = fs::metadata(&self.path).map_err(|source| io_error("read", &self.path, source))?;
                let new = self.write_beside(after, Some(&meta))?;
                let renamed = self.check_unchanged().and_then(|()| {
                    fs::rename(&new, &self.path).map_err(|source| io_error("replace", &self.path, source))
                });
                if renamed.is_err() {
                    discard(&new);
                }
                renamed?;
                self.sync_folder()?;
            }
        }
        Ok(outcome)
    }

    /// Keeps the text of the file beside it, unless an earlier one is kept there.
    ///
    /// # Errors
    /// Fails if it cannot be written.
    pub fn keep_backup(&self) -> Result<(), SetupError> {
        let backup = self.backup();
        let Some(bytes) = self.bytes.as_deref().filter(|_| fs::symlink_metadata(&backup).is_err()) else {
            return Ok(());
        };
        let meta = fs::metadata(&self.path).map_err(|source| io_error("read", &self.path, source))?;
        let new = self.write_beside(bytes, Some(&meta))?;
        self.publish_new(&new, &backup)
    }

    /// Takes the backup away if it says no more than the file does.
    ///
    /// # Errors
    /// Fails if it cannot be deleted.
    pub fn drop_backup(&self, now: Option<&[u8]>) -> Result<(), SetupError> {
        let backup = self.backup();
        match fs::read(&backup) {
            Ok(kept) if Some(kept.as_slice()) == now => {
                fs::remove_file(&backup).map_err(|source| io_error("delete", &backup, source))
            }
            _ => Ok(()),
        }
    }

    /// Where a text waits to take the place of the file's.
    fn new_name(&self) -> PathBuf {
        beside(&self.path, ".", ".agtmux-new")
    }

    /// Writes bytes beside the file, with its mode and owner, and has them reach the disk.
    fn write_beside(&self, bytes: &[u8], like: Option<&fs::Metadata>) -> Result<PathBuf, SetupError> {
        let new = self.new_name();
        discard(&new);
        let written = (|| {
            // Nobody else may read it before it has the mode of the file.
            let mode = if like.is_some() { 0o600 } else { 0o666 };
            let mut file = File::options().write(true).create_new(true).mode(mode).open(&new)?;
            if let Some(like) = like {
                give_owner(&file, like)?;
                file.set_permissions(Permissions::from_mode(like.permissions().mode()))?;
            }
            file.write_all(bytes)?;
            file.sync_all()
        })();
        if written.is_err() {
            discard(&new);
        }
        written.map_err(|source| io_error("write", &new, source))?;
        Ok(new)
    }

    /// Gives a written file a name that nothing has yet.
    fn publish_new(&self, new: &Path, name: &Path) -> Result<(), SetupError> {
        let linked = fs::hard_link(new, name);
        discard(new);
        match linked {
            Ok(()) => self.sync_folder(),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(SetupError::Changed { path: name.to_owned() })
            }
            Err(source) => Err(io_error("write", name, source)),
        }
    }

    fn check_unchanged(&self) -> Result<(), SetupError> {
        let now = read(&self.path, false)?;
        if now.bytes == self.bytes { Ok(()) } else { Err(SetupError::Changed { path: self.path.clone() }) }
    }

    fn sync_folder(&self) -> Result<(), SetupError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|source| io_error("sync", folder, source))
    }
}

/// Takes folders away that hold nothing, from the one a file was in up to another, which stays.
pub fn prune_folders(file: &Path, up_to: &Path) {
    for folder in file.ancestors().skip(1).take_while(|folder| *folder != up_to && folder.starts_with(up_to)) {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn give_owner(file: &File, like: &fs::Metadata) -> io::Result<()> {
    let meta = file.metadata()?;
    if (meta.uid(), meta.gid()) == (like.uid(), like.gid()) {
        return Ok(());
    }
    let owner = rustix::process::Uid::from_raw(like.uid());
    let group = rustix::process::Gid::from_raw(like.gid());
    rustix::fs::fchown(file, Some(owner), Some(group)).map_err(Into::into)
}

/// A name beside a file.
fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

/// Deletes a file that nobody may miss; one that is gone already is as wished.
fn discard(path: &Path) {
    fs::remove_file(path).ok();
}

fn io_error(what: &'static str, path: &Path, source: io::Error) -> SetupError {
    SetupError::Io { what, path: path.to_owned(), source }
}
