//! The agent's own terminal.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::OpenptFlags;
use rustix::termios::OptionalActions;

use crate::terminal::Terminal;

/// Opens a terminal that looks like the pane's: the shim's end, which never waits, and the agent's.
pub(crate) fn open(like: &Terminal) -> io::Result<(OwnedFd, OwnedFd)> {
    let master = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&master)?;
    rustix::pty::unlockpt(&master)?;
    let slave = agent_end(&master)?;
    rustix::termios::tcsetattr(&slave, OptionalActions::Now, like.as_found())?;
    if let Ok(size) = like.size() {
        rustix::termios::tcsetwinsize(&slave, size)?;
    }
    rustix::io::ioctl_fionbio(&master, true)?;
    Ok((master, slave))
}

/// By the kernel's own hand: in a container the name may lead elsewhere.
#[cfg(target_os = "linux")]
fn agent_end(master: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    Ok(rustix::pty::ioctl_tiocgptpeer(master, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn agent_end(master: &OwnedFd) -> io::Result<OwnedFd> {
    use rustix::fs::{Mode, OFlags};
    let name = rustix::pty::ptsname(master, Vec::new())?;
    Ok(rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?)
}
