//! The door: a socket in a directory that only this user may enter, a few connections at a time.
//!
//! Whoever sends something that is no request is shown out. Nothing here waits, and nothing that goes wrong here is anybody's
//! business but that of the one connection.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use arrayvec::ArrayVec;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Pid;

use crate::farewell;
use crate::inbox::{Arrived, Inbox};
use crate::protocol::Answer;

/// So many may talk at the same time.
pub(crate) const CONNECTIONS: usize = 8;

/// After so long without a request a connection makes room for others.
const IDLE_MS: u64 = 10_000;

/// How long nobody is let in after the kernel could not.
const PAUSE_MS: u64 = 1_000;

/// How much is read of a connection before others, and the terminal, have their turn.
const READ: usize = 16 * 1_024;

/// The socket and who came in.
pub(crate) struct Door {
    listener: UnixListener,
    path: PathBuf,
    /// Nobody is let in before.
    closed_until: u64,
    guests: ArrayVec<Guest, CONNECTIONS>,
    next: u64,
}

/// Somebody who came in.
struct Guest {
    id: u64,
    connection: OwnedFd,
    inbox: Inbox,
    heard: u64,
    gone: bool,
}

impl Door {
    /// Opens the door of this process in a directory.
    ///
    /// # Errors
    /// When the directory is not this user's alone, or no socket can be made in it.
    pub(crate) fn open(dir: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
        let about = fs::metadata(dir)?;
        if about.uid() != rustix::process::getuid().as_raw() || about.permissions().mode() & 0o022 != 0 {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        sweep(dir);
        let path = dir.join(format!("{}.sock", std::process::id()));
        // A shim that had this pid before may have left these.
        for stale in [&path, &farewell::place(dir, std::process::id())] {
            fs::remove_file(stale).ok();
        }
        let listener = UnixListener::bind(&path)?;
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path, closed_until: 0, guests: ArrayVec::new(), next: 0 })
    }

    /// Where the note of this process is to be left.
    pub(crate) fn note(&self) -> Option<PathBuf> {
        self.path.parent().map(|dir| farewell::place(dir, std::process::id()))
    }

    /// What has to be readable for something to do here.
    pub(crate) fn sources(&self, now: u64) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = (now >= self.closed_until && !self.guests.is_full()).then(|| self.listener.as_fd());
        listener.into_iter().chain(self.guests.iter().map(|guest| guest.connection.as_fd()))
    }

    /// When something is due although nobody says anything.
    pub(crate) fn deadline(&self) -> Option<u64> {
        let idle = self.guests.iter().map(|guest| guest.heard + IDLE_MS);
        idle.chain((self.closed_until > 0).then_some(self.closed_until)).min()
    }

    /// Lets in who waits, hears all, and answers by the closure, which is told who asks. Gives who has hung up.
    pub(crate) fn attend(
        &mut self,
        now: u64,
        mut answer: impl FnMut(u64, Arrived) -> Answer,
    ) -> ArrayVec<u64, CONNECTIONS> {
        self.closed_until = if now >= self.closed_until { 0 } else { self.closed_until };
        self.let_in(now);
        for guest in &mut self.guests {
            let heard = hear(guest, now, &mut answer);
            guest.gone |= heard.is_err();
            // Whoever came later asks what became of what an earlier one has said, so that one is heard to the end first.
            if heard == Ok(Heard::Piece) {
                break;
            }
        }
        let gone = self.guests.iter().filter(|guest| guest.gone).map(|guest| guest.id).collect();
        self.guests.retain(|guest| !guest.gone && now < guest.heard + IDLE_MS);
        gone
    }

    /// Tells somebody something, if they are still there.
    pub(crate) fn tell(&mut self, id: u64, answer: &Answer) {
        if let Some(guest) = self.guests.iter_mut().find(|guest| guest.id == id) {
            guest.gone |= say(&guest.connection, answer).is_err();
        }
    }

    fn let_in(&mut self, now: u64) {
        while now >= self.closed_until && !self.guests.is_full() {
            match self.listener.accept() {
                Ok((connection, _)) => {
                    let connection = OwnedFd::from(connection);
                    if rustix::io::ioctl_fionbio(&connection, true).is_ok() && is_ours(&connection) {
                        let id = self.next;
                        self.next += 1;
                        self.guests.push(Guest { id, connection, inbox: Inbox::default(), heard: now, gone: false });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Out of descriptors, most likely. Asking again at once would only turn in circles.
                Err(_) => self.closed_until = now + PAUSE_MS,
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

/// How much of what somebody has said was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    All,
    /// There may be more.
    Piece,
}

/// Reads a piece of what somebody says and answers each request in it.
fn hear(guest: &mut Guest, now: u64, answer: &mut impl FnMut(u64, Arrived) -> Answer) -> Result<Heard, Errno> {
    let mut piece = [0; READ];
    let length = match rustix::net::recv(&guest.connection, &mut piece, RecvFlags::empty()) {
        Ok((0, _)) => return Err(Errno::PIPE),
        Ok((length, _)) => length,
        Err(Errno::AGAIN | Errno::INTR) => return Ok(Heard::All),
        Err(error) => return Err(error),
    };
    let mut rest = &piece[..length];
    while !rest.is_empty() {
        let (taken, arrived) = guest.inbox.feed(rest).map_err(|_malformed| Errno::PROTO)?;
        rest = &rest[taken..];
        if let Some(arrived) = arrived {
            guest.heard = now;
            say(&guest.connection, &answer(guest.id, arrived))?;
        }
    }
    Ok(if length == READ { Heard::Piece } else { Heard::All })
}

/// Answers are short: who does not read them is not waited for.
fn say(connection: &OwnedFd, answer: &Answer) -> Result<(), Errno> {
    let mut line = serde_json::to_vec(answer).map_err(|_unserializable| Errno::PROTO)?;
    line.push(b'\n');
    let sent = rustix::net::send(connection, &line, SendFlags::empty())?;
    if sent == line.len() { Ok(()) } else { Err(Errno::PIPE) }
}

#[cfg(target_os = "linux")]
fn is_ours(connection: &OwnedFd) -> bool {
    let peer = rustix::net::sockopt::socket_peercred(connection);
    peer.is_ok_and(|peer| peer.uid == rustix::process::getuid())
}

/// Elsewhere the directory alone keeps others out.
#[cfg(not(target_os = "linux"))]
fn is_ours(_connection: &OwnedFd) -> bool {
    true
}

/// Removes the sockets of shims that were killed, and the notes that nobody has read.
fn sweep(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten().take(1_000) {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let note = farewell::writer(name);
        let pid = note.or_else(|| name.strip_suffix(".sock")).and_then(|pid| pid.parse().ok());
        let is_gone = |pid| rustix::process::test_kill_process(pid) == Err(Errno::SRCH);
        if pid.and_then(Pid::from_raw).is_some_and(is_gone) && (note.is_none() || farewell::is_stale(&entry.path())) {
            fs::remove_file(entry.path()).ok();
        }
    }
}
