//! Hooks that no daemon took: one file each, in a directory of their own, until a daemon reads them.
//!
//! A file is complete when it has its name, and names sort in the order in which the hooks began. What an agent may
//! write there without anybody reading is bounded; the oldest go first and are counted. Nothing that looks like a secret
//! is written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use agtmux_wire::hook::{HookHead, MESSAGE_LIMIT};
use rustix::fs::OFlags;

use crate::paths::private_dir;
use crate::store::redact;

/// How many hooks wait at most.
const FILES: usize = 2_000;

/// How many bytes they have at most.
const BYTES: u64 = 32 * 1024 * 1024;

/// The ending of a complete file.
const COMPLETE: &str = ".hook";

/// The ending of a file that is being written.
const UNFINISHED: &str = ".new";

/// After this time a file that is being written was left by a hook that was killed.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// One byte for each hook that was dropped: appending is all that concurrent hooks need to agree on a number.
const DROPPED: &str = "dropped";

/// The directory.
#[derive(Clone, Debug)]
pub struct Spool {
    dir: PathBuf,
}

/// A hook that waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    name: String,
}

impl Spool {
    /// The spool in that directory, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    /// Writes a hook down.
    ///
    /// # Errors
    /// Fails when the directory is not this user's alone or cannot be written.
    pub fn keep(&self, head: HookHead, payload: &[u8]) -> io::Result<()> {
        private_dir(&self.dir).map_err(io::Error::other)?;
        let payload = redact::json(String::from_utf8_lossy(payload).into_owned());
        let message = head.message(payload.as_bytes());
        self.make_room(message.len() as u64)?;
        // The length is part of the name, so that making room needs no look at the files.
        let name = format!("{:020}-{:010}-{:08}", head.boot_ns, head.pid, message.len());
        let unfinished = self.dir.join(format!("{name}{UNFINISHED}"));
        let written = write(&unfinished, &message)
            .and_then(|()| fs::rename(&unfinished, self.dir.join(format!("{name}{COMPLETE}"))));
        if written.is_err() {
            fs::remove_file(&unfinished).ok();
        }
        written
    }

    /// The hooks that wait, oldest first.
    ///
    /// # Errors
    /// Fails when the directory cannot be read; one that is not there is empty.
    pub fn waiting(&self) -> io::Result<Vec<Waiting>> {
        let mut names = self.names()?;
        names.retain(|name| name.ends_with(COMPLETE));
        names.sort_unstable();
        Ok(names.into_iter().map(|name| Waiting { name }).collect())
    }

    /// The hook as it was written down; nothing if it is none.
    pub fn read(&self, waiting: &Waiting) -> Option<(HookHead, Vec<u8>)> {
        let flags = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).ok()?;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(self.dir.join(&waiting.name)).ok()?;
        let own = file.metadata().is_ok_and(|meta| meta.is_file() && meta.uid() == rustix::process::getuid().as_raw());
        let mut message = Vec::new();
        let mut bounded = file.take(MESSAGE_LIMIT as u64 + 1);
        let read = own && bounded.read_to_end(&mut message).is_ok() && message.len() <= MESSAGE_LIMIT;
        let (head, payload) = HookHead::parse(&message).filter(|_| read)?;
        Some((head, payload.to_vec()))
    }

    /// Forgets a hook that was read.
    pub fn remove(&self, waiting: &Waiting) {
        // One that cannot be removed is read again, and known again.
        fs::remove_file(self.dir.join(&waiting.name)).ok();
    }

    /// How many hooks were dropped for want of room since this was asked last. Also removes what killed hooks left.
    pub fn dropped(&self) -> u64 {
        for name in self.names().unwrap_or_default().iter().filter(|name| name.ends_with(UNFINISHED)) {
            let path = self.dir.join(name);
            let age =
                fs::metadata(&path).and_then(|meta| meta.modified()).map(|at| SystemTime::now().duration_since(at));
            if age.is_ok_and(|age| age.is_ok_and(|age| age > LEFT_BEHIND)) {
                fs::remove_file(path).ok();
            }
        }
        let counter = self.dir.join(DROPPED);
        let count = fs::metadata(&counter).map_or(0, |meta| meta.len());
        if count > 0 {
            fs::remove_file(counter).ok();
        }
        count
    }

    /// Changes whenever a hook comes or goes.
    pub fn changed(&self) -> Option<SystemTime> {
        fs::metadata(&self.dir).and_then(|meta| meta.modified()).ok()
    }

    fn make_room(&self, needed: u64) -> io::Result<()> {
        let waiting = self.waiting()?;
        let length = |waiting: &Waiting| -> u64 {
            let digits = waiting.name.strip_suffix(COMPLETE).and_then(|name| name.rsplit('-').next());
            digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        let mut files = waiting.len() + 1;
        let mut bytes = waiting.iter().map(length).sum::<u64>() + needed;
        for oldest in waiting {
            if files <= FILES && bytes <= BYTES {
                break;
            }
            files -= 1;
            bytes -= length(&oldest);
            // Another hook may have been quicker, and then it is the one that counts.
            if fs::remove_file(self.dir.join(&oldest.name)).is_ok() {
                OpenOptions::new()
                    .create(true)
                    .append(true)
                    .mode(0o600)
                    .open(self.dir.join(DROPPED))?
                    .write_all(b".")?;
            }
        }
        Ok(())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        Ok(entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect())
    }
}

fn write(path: &Path, message: &[u8]) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(message)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    use agtmux_wire::hook::{PAYLOAD_LIMIT, Witness};

    use super::*;

    fn head(boot_ns: u64, pid: u32) -> HookHead {
        let witness = Witness { boot_id: "boot".to_owned(), ancestors: vec![(pid, 5)] };
        HookHead {
            agent: "claude".to_owned(),
            event: None,
            boot_ns,
            pid,
            tmux: None,
            tmux_pane: None,
            waits: None,
            witness: Some(witness),
        }
    }

    fn spool() -> (tempfile::TempDir, Spool) {
        let dir = tempfile::tempdir().expect("a directory");
        let spool = Spool::new(dir.path().join("state/spool"));
        (dir, spool)
    }

    #[test]
    fn hooks_come_back_in_the_order_in_which_they_began() {
        let (_dir, spool) = spool();
        assert_eq!(spool.waiting().expect("nothing"), []);
        for (boot_ns, pid) in [(20_000, 1), (3_000, 9), (100_000, 1), (3_000, 10)] {
            spool.keep(head(boot_ns, pid), format!("{{\"at\":{boot_ns}}}").as_bytes()).expect("room");
        }
        let waiting = spool.waiting().expect("four");
        let read: Vec<_> = waiting.iter().map(|waiting| spool.read(waiting).expect("a hook")).collect();
        let order: Vec<_> = read.iter().map(|(head, _)| (head.boot_ns, head.pid)).collect();
        assert_eq!(order, [(3_000, 9), (3_000, 10), (20_000, 1), (100_000, 1)]);
        assert_eq!(read[3], (head(100_000, 1), b"{\"at\":100000}".to_vec()));
        waiting.iter().for_each(|waiting| spool.remove(waiting));
        assert_eq!((spool.waiting().expect("nothing"), spool.dropped()), (vec![], 0));
    }

    #[test]
    fn it_is_private_and_holds_no_secret() {
        let (_dir, spool) = spool();
        let secret = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUv";
        let payload = serde_json::json!({ "tool_input": { "command": format!("curl -H \"x-api-key: {secret}\"") } });
        spool.keep(head(1, 1), payload.to_string().as_bytes()).expect("room");
        let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&spool.dir), 0o700);
        let file = spool.dir.join(&spool.waiting().expect("one")[0].name);
        assert_eq!(mode(&file), 0o600);
        let text = fs::read_to_string(&file).expect("a text");
        assert!(!text.contains("AbCdEfGh") && text.contains("[redacted:"), "{text}");
        let (_, payload) = spool.read(&spool.waiting().expect("one")[0]).expect("a hook");
        assert!(serde_json::from_slice::<serde_json::Value>(&payload).is_ok(), "{text}");
    }

    #[test]
    fn the_oldest_make_room_and_are_counted() {
        let (_dir, spool) = spool();
        let large = vec![b'x'; PAYLOAD_LIMIT];
        for at in 0..40 {
            spool.keep(head(at, 1), &large).expect("room");
        }
        let kept = spool.waiting().expect("some");
        assert!(kept.len() < 32, "{} of a mebibyte each", kept.len());
        assert_eq!(spool.read(kept.last().expect("one")).expect("a hook").0.boot_ns, 39, "the newest stays");
        assert_eq!(spool.dropped() + kept.len() as u64, 40);
        assert_eq!(spool.dropped(), 0, "each is counted once");
    }

    #[test]
    fn many_hooks_at_once_keep_to_the_bounds() {
        let (_dir, spool) = spool();
        for at in 0..FILES as u64 - 50 {
            spool.keep(head(at, 1), b"{}").expect("room");
        }
        thread::scope(|scope| {
            for pid in 0..8 {
                let spool = &spool;
                scope.spawn(move || {
                    for at in 0..25 {
                        spool.keep(head(1_000_000 + at, pid), b"{}").expect("room");
                    }
                });
            }
        });
        let kept = spool.waiting().expect("many");
        // Hooks that count at the same moment may each leave one more than there should be.
        assert!(kept.len() <= FILES + 8, "{}", kept.len());
        assert_eq!(spool.dropped() + kept.len() as u64, FILES as u64 - 50 + 200);
        let newest = kept.iter().filter(|waiting| spool.read(waiting).expect("a hook").0.boot_ns >= 1_000_000);
        assert_eq!(newest.count(), 200, "only the oldest went");
    }

    #[test]
    fn what_is_no_hook_is_none() {
        let (dir, spool) = spool();
        spool.keep(head(1, 1), b"{}").expect("room");
        let place = |name: &str| spool.dir.join(format!("{name}{COMPLETE}"));
        let secret = dir.path().join("secret");
        fs::write(&secret, head(2, 2).message(b"{}")).expect("a file");
        symlink(&secret, place("2")).expect("a link");
        fs::create_dir(place("3")).expect("a directory");
        fs::write(place("4"), "garbage").expect("a file");
        fs::write(place("5"), head(5, 5).message(&vec![b'x'; MESSAGE_LIMIT])).expect("a file");
        let fifo = rustix::fs::mknodat(rustix::fs::CWD, place("6"), rustix::fs::FileType::Fifo, 0o600.into(), 0);
        fifo.expect("a fifo");
        let waiting = spool.waiting().expect("six");
        let hooks: Vec<_> = waiting.iter().filter_map(|waiting| spool.read(waiting)).collect();
        assert_eq!((waiting.len(), hooks.len()), (6, 1));
    }

    #[test]
    fn what_a_killed_hook_left_is_removed_in_time() {
        let (_dir, spool) = spool();
        spool.keep(head(1, 1), b"{}").expect("room");
        let [fresh, old] = ["fresh", "old"].map(|name| spool.dir.join(format!("{name}{UNFINISHED}")));
        let file = File::create(&old).expect("a file");
        file.set_modified(SystemTime::now() - 2 * LEFT_BEHIND).expect("a time");
        File::create(&fresh).expect("a file");
        assert_eq!((spool.dropped(), fresh.exists(), old.exists()), (0, true, false));
    }

    #[test]
    fn a_place_that_is_not_ours_is_refused() {
        let (dir, spool) = spool();
        fs::create_dir_all(&spool.dir).expect("a directory");
        fs::set_permissions(&spool.dir, fs::Permissions::from_mode(0o777)).expect("a mode");
        assert!(spool.keep(head(1, 1), b"{}").is_err());
        fs::remove_dir(&spool.dir).expect("an empty directory");
        fs::write(dir.path().join("state/spool"), "a file").expect("a file");
        assert!(spool.keep(head(1, 1), b"{}").is_err());
        assert!(spool.waiting().is_err());
    }
}
