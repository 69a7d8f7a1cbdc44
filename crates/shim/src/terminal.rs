//! The pane's terminal: raw while the agent runs, and as it was afterwards.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, Winsize};

/// How much is written at once when the terminal cannot be told not to wait.
const SMALL: usize = 256;

/// The terminal that the shim was started on.
pub(crate) struct Terminal {
    fd: OwnedFd,
    as_found: Termios,
    waits: bool,
}

impl Terminal {
    /// Takes the terminal at standard input and output, if both are one.
    ///
    /// It is opened anew, so that reading without waiting is the shim's own affair: the shell shares the one it was given.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn open() -> io::Result<Self> {
        let (input, output) = (rustix::stdio::stdin(), rustix::stdio::stdout());
        let as_found = rustix::termios::tcgetattr(input)?;
        rustix::termios::tcgetattr(output)?;
        let again = rustix::termios::ttyname(input, Vec::new()).and_then(|name| {
            let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            rustix::fs::open(name, flags, Mode::empty())
        });
        let (fd, waits) = match again {
            Ok(fd) => (fd, false),
            Err(_) => (rustix::io::fcntl_dupfd_cloexec(output, 3)?, true),
        };
        Ok(Self { fd, as_found, waits })
    }

    /// The settings it had.
    pub(crate) fn as_found(&self) -> &Termios {
        &self.as_found
    }

    /// Its size.
    pub(crate) fn size(&self) -> io::Result<Winsize> {
        Ok(rustix::termios::tcgetwinsize(&self.fd)?)
    }

    /// Has it pass every byte as it is.
    pub(crate) fn make_raw(&self) {
        let mut raw = self.as_found.clone();
        raw.make_raw();
        // A terminal that is gone says so at the next read.
        rustix::termios::tcsetattr(&self.fd, OptionalActions::Now, &raw).ok();
    }

    /// Gives it back as it was found.
    pub(crate) fn restore(&self) {
        rustix::termios::tcsetattr(&self.fd, OptionalActions::Now, &self.as_found).ok();
    }

    /// Reads what is there.
    pub(crate) fn read(&self, into: &mut [u8]) -> Result<usize, Errno> {
        rustix::io::read(&self.fd, into)
    }

    /// Writes what fits.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<usize, Errno> {
        let bytes = if self.waits { &bytes[..bytes.len().min(SMALL)] } else { bytes };
        rustix::io::write(&self.fd, bytes)
    }
}

impl AsFd for Terminal {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.restore();
    }
}
