//! Notices of changes in directories, where the kernel gives them. Elsewhere there are none, and directories have to be
//! looked at now and then.

use std::ffi::OsString;

#[cfg(target_os = "linux")]
pub use inotify::Notices;
#[cfg(not(target_os = "linux"))]
pub use none::Notices;

/// Names a watched directory. The kernel gives one name to one directory, by whatever path it was reached.
pub type Watch = i32;

/// What to be told about a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Everything that happens to its files: written to, put in place, removed.
    Files,
    /// Only that something new appears in it.
    Arrivals,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// To something in a watched directory.
    Changed {
        /// Where.
        watch: Watch,
        /// To what.
        name: OsString,
    },
    /// To the watched directory itself: it was moved or removed.
    Gone {
        /// Which.
        watch: Watch,
    },
    /// More than the kernel kept; anything may have changed.
    Lost,
}

#[cfg(target_os = "linux")]
mod inotify {
    use std::ffi::OsStr;
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};

    use super::{Detail, Notice, Watch};

    /// An instance of inotify. Users have few (128 by default), so that one has to do for everything.
    #[derive(Debug)]
    pub struct Notices(OwnedFd);

    impl Notices {
        /// A new instance that watches nothing yet.
        ///
        /// # Errors
        /// Fails when the user has as many as they may have.
        pub fn new() -> io::Result<Self> {
            Ok(Self(inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?))
        }

        /// Watches a directory. What was wanted of it before is wanted still.
        ///
        /// # Errors
        /// Fails when there is no such directory, and with "no space" when the user watches as many as they may.
        pub fn add(&self, dir: &Path, detail: Detail) -> io::Result<Watch> {
            let arrivals = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
            let files = WatchFlags::MODIFY | WatchFlags::CLOSE_WRITE | WatchFlags::MOVED_FROM | WatchFlags::DELETE;
            let wanted = match detail {
                Detail::Arrivals => arrivals,
                Detail::Files => arrivals | files | WatchFlags::EXCL_UNLINK,
            };
            Ok(inotify::add_watch(&self.0, dir, wanted | WatchFlags::ONLYDIR | WatchFlags::MASK_ADD)?)
        }

        /// Watches a directory no more.
        pub fn remove(&self, watch: Watch) {
            // A directory that is gone has taken its watch along.
            inotify::remove_watch(&self.0, watch).ok();
        }

        /// Takes what happened so far; does not wait.
        ///
        /// # Errors
        /// Fails when the instance cannot be read any more.
        pub fn read(&self) -> io::Result<Vec<Notice>> {
            let mut buffer = [MaybeUninit::uninit(); BUFFER];
            let mut reader = Reader::new(&self.0, &mut buffer);
            let mut notices = Vec::new();
            // Bounded: a directory in which something happens all the time must not hold up the others.
            while notices.len() < BATCH || !reader.is_buffer_empty() {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(rustix::io::Errno::AGAIN) => break,
                    Err(rustix::io::Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                let gone = ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF | ReadFlags::UNMOUNT | ReadFlags::IGNORED;
                let (watch, what) = (event.wd(), event.events());
                let notice = if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                    Notice::Lost
                } else if what.intersects(gone) {
                    Notice::Gone { watch }
                } else {
                    let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
                    Notice::Changed { watch, name: name.unwrap_or_default() }
                };
                // A file that is written to in small pieces gives many notices that say the same.
                if notices.last() != Some(&notice) {
                    notices.push(notice);
                }
            }
            Ok(notices)
        }
    }

    impl AsFd for Notices {
        fn as_fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    /// Room for at least a dozen of the longest notices.
    const BUFFER: usize = 4_096;

    /// How many notices are taken at a time, about.
    const BATCH: usize = 1_024;
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::convert::Infallible;
    use std::io;
    use std::os::fd::{AsFd, BorrowedFd};
    use std::path::Path;

    use super::{Detail, Notice, Watch};

    /// There is none here: the kernel's notices need a descriptor per file, or unsafe code.
    #[derive(Debug)]
    pub struct Notices(Infallible);

    impl Notices {
        /// Never succeeds.
        ///
        /// # Errors
        /// Always: unsupported.
        pub fn new() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Cannot be called.
        ///
        /// # Errors
        /// None.
        pub fn add(&self, _dir: &Path, _detail: Detail) -> io::Result<Watch> {
            match self.0 {}
        }

        /// Cannot be called.
        pub fn remove(&self, _watch: Watch) {
            match self.0 {}
        }

        /// Cannot be called.
        ///
        /// # Errors
        /// None.
        pub fn read(&self) -> io::Result<Vec<Notice>> {
            match self.0 {}
        }
    }

    impl AsFd for Notices {
        fn as_fd(&self) -> BorrowedFd<'_> {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::{Detail, Notice, Notices};

    #[test]
    fn what_happens_in_a_directory_is_told() {
        let dir = tempfile::tempdir().expect("a directory");
        let notices = Notices::new().expect("an instance");
        let watch = notices.add(dir.path(), Detail::Files).expect("a watch");
        assert_eq!(notices.read().expect("nothing"), []);
        let told = |name: &str| vec![Notice::Changed { watch, name: name.into() }];
        fs::write(dir.path().join("a"), "text").expect("written");
        assert_eq!(notices.read().expect("a write"), told("a"));
        fs::rename(dir.path().join("a"), dir.path().join("b")).expect("moved");
        assert_eq!(notices.read().expect("a move"), [told("a"), told("b")].concat());
        fs::remove_file(dir.path().join("b")).expect("removed");
        assert_eq!(notices.read().expect("a removal"), told("b"));
        fs::remove_dir(dir.path()).expect("removed");
        assert_eq!(notices.read().expect("the end"), [Notice::Gone { watch }]);
        notices.remove(watch);
    }

    #[test]
    fn arrivals_alone_can_be_had_and_what_is_wanted_adds_up() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("a");
        let notices = Notices::new().expect("an instance");
        let watch = notices.add(dir.path(), Detail::Arrivals).expect("a watch");
        fs::write(&file, "text").expect("written");
        assert_eq!(notices.read().expect("an arrival").len(), 1);
        fs::write(&file, "more").expect("written");
        assert_eq!(notices.read().expect("nothing"), []);
        assert_eq!(notices.add(dir.path(), Detail::Files).expect("the same watch"), watch);
        notices.add(dir.path(), Detail::Arrivals).expect("the same watch");
        fs::write(&file, "again").expect("written");
        assert_eq!(notices.read().expect("a write").len(), 1);
        assert!(notices.add(&file, Detail::Files).is_err(), "a file is no directory");
    }
}
