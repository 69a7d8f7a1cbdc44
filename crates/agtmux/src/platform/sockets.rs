//! Who is connected to whom on this host, as Linux tells it: the other ends of a server's connections, and the sockets that a
//! process holds. A socket is known by its inode.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

/// The most files of a process that are looked at.
const MAX_FILES: usize = 4_096;

/// Room for one answer of the kernel, which sends many.
const ANSWER: usize = 64 * 1024;

// From <linux/netlink.h>, <linux/sock_diag.h> and <linux/unix_diag.h>.
const HEADER: usize = 16;
const REQUEST_DUMP: u16 = 0x301;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const UNIX: u8 = 1;
const ESTABLISHED: u32 = 1 << 1;
const SHOW_NAME_AND_PEER: u32 = 0b101;
const ENTRY: usize = 16;
const NAME: u16 = 0;
const PEER: u16 = 2;

/// The clients' ends of all connections to a unix socket, by the path that it is bound to. `None` where the kernel does not tell.
/// One that the server has not accepted yet does not count: it has not said anything.
pub(super) fn unix_clients(path: &Path) -> Option<Vec<u64>> {
    let mut clients = Vec::new();
    // An error may mean that the kernel, or a sandbox, has no such service.
    dump(|entry| clients.extend(client_of(entry, path))).ok()?;
    Some(clients)
}

/// The sockets that a process holds.
pub(super) fn sockets_of(pid: u32) -> Vec<u64> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let links = entries.take(MAX_FILES).filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()).collect()
}

/// The clients' ends of all connections to a TCP port of this host.
pub(super) fn tcp_clients(port: u16) -> Option<Vec<u64>> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(fs::read_to_string);
    let tables: Vec<_> = tables.into_iter().flatten().collect();
    (!tables.is_empty()).then(|| tables.iter().flat_map(|table| connected_to(table, port)).collect())
}

fn connected_to(table: &str, port: u16) -> Vec<u64> {
    const CONNECTED: &str = "01";
    let client = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, remote) = fields.get(2)?.rsplit_once(':')?;
        let is_it = u16::from_str_radix(remote, 16) == Ok(port) && fields.get(3) == Some(&CONNECTED);
        is_it.then(|| fields.get(9)?.parse().ok())?
    };
    table.lines().skip(1).filter_map(client).collect()
}

/// Asks the kernel for all unix sockets that are connected, with their names and peers.
fn dump(mut entry: impl FnMut(&[u8])) -> io::Result<()> {
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::DGRAM, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))?;
    let mut request = Vec::new();
    request.extend((HEADER as u32 + 24).to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([UNIX, 0, 0, 0]);
    request.extend(ESTABLISHED.to_ne_bytes());
    request.extend([0; 4]);
    request.extend(SHOW_NAME_AND_PEER.to_ne_bytes());
    request.extend([0; 8]);
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = vec![0; ANSWER];
    loop {
        let length = match recv(&socket, &mut answer[..], RecvFlags::empty()) {
            Ok((length, _)) => length,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let mut rest = &answer[..length];
        while let Some((kind, body, behind)) = split(rest) {
            match kind {
                DONE => return Ok(()),
                ERROR => return Err(io::ErrorKind::Unsupported.into()),
                _ => entry(body),
            }
            rest = behind;
        }
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The first message of several: its type and its body, and what stands behind it.
fn split(messages: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(messages.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(messages.get(4..6)?.try_into().ok()?);
    let body = messages.get(HEADER..length)?;
    Some((kind, body, messages.get(length.next_multiple_of(4)..).unwrap_or_default()))
}

/// The other end of a connection, if this is the end of the server at that path: only that end has a name.
fn client_of(entry: &[u8], path: &Path) -> Option<u64> {
    let (mut is_it, mut peer) = (false, None);
    let mut rest = entry.get(ENTRY..)?;
    while let Some(length) = rest.get(..2).and_then(|length| Some(u16::from_ne_bytes(length.try_into().ok()?))) {
        let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let value = rest.get(4..usize::from(length))?;
        match kind {
            NAME => is_it = value.strip_suffix(&[0]).unwrap_or(value) == path.as_os_str().as_bytes(),
            PEER => peer = Some(u64::from(u32::from_ne_bytes(value.try_into().ok()?))),
            _ => {}
        }
        rest = rest.get(usize::from(length).next_multiple_of(4)..).unwrap_or_default();
    }
    // A client that has gone is no client any more.
    peer.filter(|peer| is_it && *peer != 0)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::{sockets_of, tcp_clients, unix_clients};

    #[test]
    fn each_client_of_a_unix_socket_is_found_among_the_sockets_of_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("s"), dir.path().join("s2"));
        let (server, elsewhere) = (UnixListener::bind(&path).unwrap(), UnixListener::bind(&other).unwrap());
        assert_eq!(unix_clients(&path), Some(vec![]));
        let first = UnixStream::connect(&path).unwrap();
        let second = UnixStream::connect(&path).unwrap();
        let _other = UnixStream::connect(&other).unwrap();
        let accepted = (server.accept().unwrap(), server.accept().unwrap());
        let clients = unix_clients(&path).unwrap();
        assert_eq!(clients.len(), 2);
        let own = sockets_of(std::process::id());
        assert!(clients.iter().all(|client| own.contains(client)), "{clients:?} of {own:?}");
        drop((first, second, accepted, elsewhere));
        assert_eq!(unix_clients(&path), Some(vec![]));
    }

    #[test]
    fn a_client_of_a_port_is_found_among_the_sockets_of_its_process() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = server.local_addr().unwrap().port();
        let _client = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let clients = tcp_clients(port).unwrap();
        assert_eq!(clients.len(), 1);
        assert!(sockets_of(std::process::id()).contains(&clients[0]));
    }
}
