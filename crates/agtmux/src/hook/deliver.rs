//! One message over the hook socket, and one byte back, within a deadline that an agent does not feel. Only a hook whose
//! question somebody may answer then waits for that, without a deadline of its own: the daemon keeps the time, and
//! its end is the end of the stream. One that is to be given messages waits a moment.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use agtmux_wire::hook::{ANSWER_LIMIT, HELD, TAKEN};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketType};

/// How long the daemon may take. It needs a fraction of a millisecond; one that hangs must not hang the agent.
const DEADLINE: Duration = Duration::from_millis(150);

/// What became of a message.
pub(super) enum Delivered {
    /// The daemon does not have it.
    No,
    /// It has.
    Taken,
    /// It has, and somebody may answer.
    Held(Held),
}

/// A hook that waits for an answer.
pub(super) struct Held(OwnedFd);

/// Hands a message to the daemon. One that `waits` has said in its head how long it is, and leaves the stream open.
pub(super) fn deliver(socket: &Path, message: &[u8], waits: bool) -> Delivered {
    match hand_over(socket, message, waits) {
        Ok((TAKEN, _)) => Delivered::Taken,
        Ok((HELD, daemon)) if waits => Delivered::Held(Held(daemon)),
        _ => Delivered::No,
    }
}

impl Held {
    /// Waits for the answer; none if there is none, or not in time. A piece of one is none: the agent would read it as something
    /// else.
    pub(super) fn answer(&self, limit: Option<Duration>) -> Option<Vec<u8>> {
        rustix::io::ioctl_fionbio(&self.0, false).ok()?;
        let deadline = limit.map(|limit| Instant::now() + limit);
        let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
        loop {
            if let Some(deadline) = deadline {
                wait(&self.0, PollFlags::IN, deadline).ok()?;
            }
            match rustix::net::recv(&self.0, &mut piece, RecvFlags::empty()) {
                Ok((0, _)) | Err(_) if answer.ends_with(b"\n") => return Some(answer),
                Ok((0, _)) => return None,
                Ok((count, _)) if answer.len() + count <= ANSWER_LIMIT => answer.extend_from_slice(&piece[..count]),
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return None,
            }
        }
    }

    /// Says what became of the answer.
    pub(super) fn say(&self, word: u8) {
        rustix::net::send(&self.0, &[word], SendFlags::empty()).ok();
    }
}

fn hand_over(socket: &Path, message: &[u8], waits: bool) -> io::Result<(u8, OwnedFd)> {
    let deadline = Instant::now() + DEADLINE;
    let daemon = connect(socket)?;
    let mut rest = message;
    while !rest.is_empty() {
        match rustix::net::send(&daemon, rest, SendFlags::empty()) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::AGAIN) => wait(&daemon, PollFlags::OUT, deadline)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if !waits {
        rustix::net::shutdown(&daemon, Shutdown::Write)?;
    }
    let mut answer = [0];
    loop {
        match rustix::net::recv(&daemon, &mut answer, RecvFlags::empty()) {
            Ok((1, _)) => return Ok((answer[0], daemon)),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Err(Errno::AGAIN) => wait(&daemon, PollFlags::IN, deadline)?,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Without blocking: behind a daemon that hangs connections pile up, and connecting would wait for a place.
fn connect(socket: &Path) -> io::Result<OwnedFd> {
    let address = SocketAddrUnix::new(socket)?;
    let daemon = rustix::net::socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::ioctl_fionbio(&daemon, true)?;
    rustix::net::connect(&daemon, &address)?;
    Ok(daemon)
}

fn wait(daemon: &OwnedFd, what: PollFlags, deadline: Instant) -> io::Result<()> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&daemon.as_fd(), what)], Some(&left)) {
        Ok(0) => Err(io::ErrorKind::TimedOut.into()),
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{Delivered, deliver};

    fn is_taken(socket: &Path, message: &[u8]) -> bool {
        matches!(deliver(socket, message, false), Delivered::Taken)
    }

    /// Waits for an answer from a daemon that sends these bytes and then goes.
    fn answer(sent: &'static [u8]) -> Option<Vec<u8>> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("hook");
        let listener = UnixListener::bind(&path).expect("a socket");
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.read_exact(&mut [0; 2]).expect("a message");
            stream.write_all(sent).expect("a listener");
        });
        let delivered = deliver(&path, b"{}", true);
        serving.join().expect("a daemon");
        match delivered {
            Delivered::Held(held) => held.answer(Some(Duration::from_secs(5))),
            Delivered::No | Delivered::Taken => None,
        }
    }

    #[test]
    fn an_answer_counts_whole_or_not_at_all() {
        assert_eq!(answer(b"={}\n"), Some(b"{}\n".to_vec()));
        for broken in [&b"="[..], b"={", b"+", b"-", b"+{}\n"] {
            assert_eq!(answer(broken), None, "{broken:?}");
        }
    }

    /// Runs a delivery against a daemon that does as the closure says with the one connection it takes.
    fn against(
        message: &[u8],
        daemon: impl FnOnce(std::os::unix::net::UnixStream) + Send + 'static,
    ) -> (bool, Duration) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("hook");
        let listener = UnixListener::bind(&path).expect("a socket");
        let serving = thread::spawn(move || daemon(listener.accept().expect("a connection").0));
        let begun = Instant::now();
        let taken = is_taken(&path, message);
        let took = begun.elapsed();
        serving.join().expect("a daemon");
        (taken, took)
    }

    #[test]
    fn a_message_larger_than_the_buffers_arrives_whole() {
        let message = vec![b'x'; 3_000_000];
        let (taken, _) = against(&message, |mut stream| {
            let mut received = Vec::new();
            stream.read_to_end(&mut received).expect("a message");
            assert_eq!(received.len(), 3_000_000);
            stream.write_all(b"+").expect("a listener");
        });
        assert!(taken);
    }

    #[test]
    fn no_answer_another_answer_and_a_closed_door_are_a_no() {
        for answer in ["", "-"] {
            let (taken, _) = against(b"{}", move |mut stream| {
                stream.read_to_end(&mut Vec::new()).expect("a message");
                stream.write_all(answer.as_bytes()).expect("a listener");
            });
            assert!(!taken, "{answer:?}");
        }
        let (taken, _) = against(&vec![b'x'; 3_000_000], drop);
        assert!(!taken);
    }

    #[test]
    fn a_daemon_that_hangs_costs_the_deadline_and_no_more() {
        for size in [10, 3_000_000] {
            let (done, hangs) = std::sync::mpsc::channel::<()>();
            let dir = tempfile::tempdir().expect("a directory");
            let path = dir.path().join("hook");
            let listener = UnixListener::bind(&path).expect("a socket");
            let hanging = thread::spawn(move || {
                hangs.recv().ok();
                drop(listener);
            });
            // More than the backlog holds.
            for _ in 0..3 {
                let begun = Instant::now();
                assert!(!is_taken(&path, &vec![b'x'; size]));
                let took = begun.elapsed();
                assert!(took >= Duration::from_millis(140) && took < Duration::from_secs(2), "{took:?}");
            }
            drop(done);
            hanging.join().expect("a daemon");
        }
    }

    #[test]
    fn what_is_no_socket_is_a_no_at_once() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("file");
        std::fs::write(&file, "text").expect("a file");
        let begun = Instant::now();
        for path in [file.as_path(), dir.path(), &dir.path().join("missing"), &dir.path().join("x".repeat(300))] {
            assert!(!is_taken(path, b"{}"), "{}", path.display());
        }
        assert!(begun.elapsed() < Duration::from_millis(140));
    }
}
