//! Which directories are watched, by one instance of inotify for all of them.
//!
//! A directory that is not there yet is waited for in the nearest one above it. Where watching is not possible, for the
//! instance or for one directory, [`Watcher::must_poll`] says so, and whoever wants to know has to look.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::platform::{Detail, Notice, Notices, Watch};

/// The most directories that are watched; further ones are looked at now and then.
const WATCHES: usize = 8_192;

/// How often a directory is tried again that comes to be while it is being waited for.
const ATTEMPTS: usize = 16;

/// Something that may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A file of a wanted directory.
    File {
        /// The directory, by the path it was wanted by.
        dir: PathBuf,
        /// The file.
        name: OsString,
    },
    /// A wanted directory came, went, or was replaced.
    Directory(PathBuf),
    /// Anything.
    Everything,
}

/// Why something is not watched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Obstacle {
    /// This system has no notices of changes. That is how it is, and no trouble.
    Unsupported,
    /// No instance could be had.
    Instance(String),
    /// No further directory may be watched.
    Limit,
    /// The directory cannot be watched, for reasons of its own.
    Directory,
}

/// How a wanted directory is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arming {
    /// By itself.
    Here(Watch),
    /// It is not there; a directory above it is watched for this to appear.
    Above(Watch, OsString),
    /// Not at all.
    Not(Obstacle),
}

/// The watched directories.
pub(super) struct Watcher {
    notices: Result<Notices, Obstacle>,
    wanted: BTreeMap<PathBuf, Arming>,
    /// Whose each watch is.
    users: BTreeMap<Watch, BTreeSet<PathBuf>>,
}

impl Watcher {
    /// Watches nothing yet.
    pub(super) fn new() -> Self {
        Self { notices: instance(), wanted: BTreeMap::new(), users: BTreeMap::new() }
    }

    /// Watches exactly these directories from now on.
    pub(super) fn want(&mut self, dirs: BTreeSet<PathBuf>) {
        let released: Vec<_> = self.wanted.keys().filter(|dir| !dirs.contains(*dir)).cloned().collect();
        for dir in released {
            self.release(&dir);
            self.wanted.remove(&dir);
        }
        for dir in dirs {
            if !self.wanted.contains_key(&dir) {
                self.arm(&dir);
            }
        }
    }

    /// Waits for changes, until somebody writes to `wake`, or for a time. None when `wake` has been closed.
    pub(super) fn wait(&mut self, wake: BorrowedFd<'_>, at_most: Duration) -> Option<Vec<Change>> {
        let mut descriptors = vec![PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        if let Ok(notices) = &self.notices {
            descriptors.push(PollFd::from_borrowed_fd(notices.as_fd(), PollFlags::IN));
        }
        let timeout = Timespec::try_from(at_most).ok();
        // An interrupted wait is a short one.
        poll(&mut descriptors, timeout.as_ref()).ok();
        if !descriptors[0].revents().is_empty() && is_closed(wake) {
            return None;
        }
        Some(self.changes())
    }

    /// Checks that every path still leads to the directory that is watched for it, and tries again what could not be
    /// watched.
    pub(super) fn check(&mut self) {
        if self.notices.is_err() {
            self.notices = instance();
        }
        let dirs: Vec<_> = self.wanted.keys().cloned().collect();
        for dir in dirs {
            self.arm(&dir);
        }
    }

    /// Whether some of the wanted directories have to be looked at, because nobody tells of them.
    pub(super) fn must_poll(&self) -> bool {
        self.notices.is_err() || self.wanted.values().any(|arming| matches!(arming, Arming::Not(_)))
    }

    /// What keeps directories from being watched, for people.
    pub(super) fn trouble(&self) -> Option<String> {
        match &self.notices {
            Err(Obstacle::Instance(why)) => Some(format!(
                "agents' files are looked at every second, since they cannot be watched: {why}; \
                 raise fs.inotify.max_user_instances"
            )),
            Err(Obstacle::Unsupported | Obstacle::Limit | Obstacle::Directory) => None,
            Ok(_) => {
                let limited = |arming: &&Arming| **arming == Arming::Not(Obstacle::Limit);
                let count = self.wanted.values().filter(limited).count();
                (count > 0).then(|| {
                    format!(
                        "{count} directories of agents are looked at every second, since no more can be watched; \
                         raise fs.inotify.max_user_watches"
                    )
                })
            }
        }
    }

    fn changes(&mut self) -> Vec<Change> {
        let notices = match &self.notices {
            Ok(notices) => notices.read(),
            Err(_) => return Vec::new(),
        };
        let Ok(notices) = notices else {
            // An instance that cannot be read is as good as none, until a new one can be had.
            self.notices = Err(Obstacle::Instance("the instance failed".to_owned()));
            return vec![Change::Everything];
        };
        let mut changes = Vec::new();
        for notice in notices {
            match notice {
                Notice::Changed { watch, name } => self.changed(watch, &name, &mut changes),
                Notice::Gone { watch } => {
                    for dir in self.users.get(&watch).cloned().unwrap_or_default() {
                        self.release(&dir);
                        self.arm(&dir);
                        changes.push(Change::Directory(dir));
                    }
                }
                Notice::Lost => changes.push(Change::Everything),
            }
        }
        changes
    }

    fn changed(&mut self, watch: Watch, name: &OsString, changes: &mut Vec<Change>) {
        for dir in self.users.get(&watch).cloned().unwrap_or_default() {
            match self.wanted.get(&dir) {
                Some(Arming::Here(_)) => changes.push(Change::File { dir, name: name.clone() }),
                Some(Arming::Above(_, next)) if next == name => {
                    self.arm(&dir);
                    changes.push(Change::Directory(dir));
                }
                Some(Arming::Above(..) | Arming::Not(_)) | None => {}
            }
        }
    }

    /// Watches a directory, or the nearest one above it that is there.
    fn arm(&mut self, dir: &Path) {
        let arming = match &self.notices {
            Ok(notices) => arming(notices, dir, self.users.len()),
            Err(obstacle) => Arming::Not(obstacle.clone()),
        };
        if self.wanted.get(dir) == Some(&arming) {
            return;
        }
        self.release(dir);
        if let Arming::Here(watch) | Arming::Above(watch, _) = &arming {
            self.users.entry(*watch).or_default().insert(dir.to_owned());
        }
        self.wanted.insert(dir.to_owned(), arming);
    }

    fn release(&mut self, dir: &Path) {
        let Some(Arming::Here(watch) | Arming::Above(watch, _)) = self.wanted.get(dir) else {
            return;
        };
        let watch = *watch;
        let users = self.users.entry(watch).or_default();
        users.remove(dir);
        if users.is_empty() {
            self.users.remove(&watch);
            if let Ok(notices) = &self.notices {
                notices.remove(watch);
            }
        }
        self.wanted.insert(dir.to_owned(), Arming::Not(Obstacle::Directory));
    }
}

fn instance() -> Result<Notices, Obstacle> {
    Notices::new().map_err(|error| match error.kind() {
        io::ErrorKind::Unsupported => Obstacle::Unsupported,
        _ => Obstacle::Instance(error.to_string()),
    })
}

fn arming(notices: &Notices, dir: &Path, watches: usize) -> Arming {
    if watches >= WATCHES {
        return Arming::Not(Obstacle::Limit);
    }
    let obstacle = |error: &io::Error| match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::NOSPC) => Obstacle::Limit,
        _ => Obstacle::Directory,
    };
    let is_missing = |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    for _ in 0..ATTEMPTS {
        match notices.add(dir, Detail::Files) {
            Ok(watch) => return Arming::Here(watch),
            Err(error) if is_missing(&error) => {}
            Err(error) => return Arming::Not(obstacle(&error)),
        }
        let mut missing = dir;
        let above = loop {
            let (Some(above), Some(next)) = (missing.parent(), missing.file_name()) else {
                return Arming::Not(Obstacle::Directory);
            };
            match notices.add(above, Detail::Arrivals) {
                Ok(watch) => break (watch, next.to_owned()),
                Err(error) if is_missing(&error) => missing = above,
                Err(error) => return Arming::Not(obstacle(&error)),
            }
        };
        // What appeared before the watch was there is told by nobody.
        if !missing.exists() {
            return Arming::Above(above.0, above.1);
        }
    }
    Arming::Not(Obstacle::Directory)
}

/// Empties the waker; says whether its other end has been closed.
fn is_closed(wake: BorrowedFd<'_>) -> bool {
    let mut buffer = [0; 64];
    loop {
        match rustix::io::read(wake, &mut buffer) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN) => return false,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::{Change, Obstacle, Watcher};

    fn changes(watcher: &mut Watcher) -> Vec<Change> {
        let (_waker, wake) = UnixStream::pair().expect("a pair");
        wake.set_nonblocking(true).expect("a socket");
        watcher.wait(wake.as_fd(), Duration::from_secs(20)).expect("an open waker")
    }

    #[test]
    fn more_than_the_kernel_keeps_means_that_anything_may_have_changed() {
        let dir = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new();
        watcher.want(BTreeSet::from([dir.path().to_owned()]));
        let kept: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
        // Two names in turn, since the kernel makes one of notices that say the same. Each gives two at least.
        for n in 0..=kept / 2 {
            fs::write(dir.path().join(if n % 2 == 0 { "a" } else { "b" }), "").unwrap();
        }
        while !changes(&mut watcher).contains(&Change::Everything) {}
        fs::write(dir.path().join("c"), "").unwrap();
        let after = Change::File { dir: dir.path().to_owned(), name: "c".into() };
        while !changes(&mut watcher).contains(&after) {}
    }

    #[test]
    fn without_an_instance_one_has_to_look_until_there_is_one() {
        let dir = tempfile::tempdir().unwrap();
        let none = Err(Obstacle::Instance("too many open files".to_owned()));
        let mut watcher = Watcher { notices: none, wanted: BTreeMap::new(), users: BTreeMap::new() };
        watcher.want(BTreeSet::from([dir.path().to_owned()]));
        assert!(watcher.must_poll());
        assert!(watcher.trouble().unwrap().contains("max_user_instances"));
        watcher.check();
        assert!(!watcher.must_poll());
        assert_eq!(watcher.trouble(), None);
        fs::write(dir.path().join("a"), "").unwrap();
        assert_eq!(changes(&mut watcher), [Change::File { dir: dir.path().to_owned(), name: "a".into() }]);
    }

    #[test]
    fn a_directory_that_is_replaced_behind_its_back_is_found_by_a_check() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("a/b");
        fs::create_dir_all(&place).unwrap();
        let mut watcher = Watcher::new();
        watcher.want(BTreeSet::from([place.clone()]));
        // Only the parent moves, which nobody watches.
        fs::rename(dir.path().join("a"), dir.path().join("old")).unwrap();
        fs::create_dir_all(&place).unwrap();
        watcher.check();
        fs::write(place.join("new"), "").unwrap();
        assert_eq!(changes(&mut watcher), [Change::File { dir: place, name: "new".into() }]);
    }

    #[test]
    fn what_is_wanted_no_more_is_let_go_of() {
        let dir = tempfile::tempdir().unwrap();
        let mut watcher = Watcher::new();
        watcher.want(BTreeSet::from([dir.path().to_owned(), dir.path().join("x/y"), dir.path().join("z")]));
        assert_eq!(watcher.users.len(), 1, "one directory stands in for those below it");
        watcher.want(BTreeSet::from([dir.path().join("z")]));
        fs::create_dir(dir.path().join("z")).unwrap();
        assert_eq!(changes(&mut watcher), [Change::Directory(dir.path().join("z"))]);
        watcher.want(BTreeSet::new());
        assert!(watcher.users.is_empty() && watcher.wanted.is_empty());
    }
}
