//! The little that differs between Linux and macOS.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::FdFlags;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType};

/// Receives passed descriptors close-on-exec in one step where the system can do that.
#[cfg(target_os = "linux")]
pub(crate) const RECEIVE_DESCRIPTOR: RecvFlags = RecvFlags::CMSG_CLOEXEC;
#[cfg(not(target_os = "linux"))]
pub(crate) const RECEIVE_DESCRIPTOR: RecvFlags = RecvFlags::empty();

/// Makes a non-blocking unix stream socket that children do not inherit.
pub(crate) fn nonblocking_unix_socket() -> io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::empty(), None)?;
    close_on_exec(&socket)?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    Ok(socket)
}

/// Keeps a descriptor from children, for systems that cannot ask for it at its birth.
pub(crate) fn close_on_exec(descriptor: impl AsFd) -> io::Result<()> {
    let flags = rustix::io::fcntl_getfd(&descriptor)?;
    Ok(rustix::io::fcntl_setfd(&descriptor, flags | FdFlags::CLOEXEC)?)
}
