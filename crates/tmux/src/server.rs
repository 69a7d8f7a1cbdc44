//! Which tmux servers there are. Nothing here ever starts one.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::SocketAddrUnix;

use crate::platform;

/// How a server is chosen, as with tmux's own options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SocketChoice {
    /// The server that plain `tmux` talks to outside of tmux.
    #[default]
    Default,
    /// A name, as for `tmux -L`.
    Name(String),
    /// A path, as for `tmux -S`.
    Path(PathBuf),
}

impl SocketChoice {
    /// Reads a user's word for a server: a path if it has a slash, else a name.
    pub fn parse(text: &str) -> Self {
        match text {
            "" | "default" => Self::Default,
            path if path.contains('/') => Self::Path(path.into()),
            name => Self::Name(name.to_owned()),
        }
    }

    /// The path of the socket.
    pub fn path(&self) -> PathBuf {
        match self {
            Self::Default => socket_directory().join("default"),
            Self::Name(name) => socket_directory().join(name),
            Self::Path(path) => path.clone(),
        }
    }
}

/// The directory in which tmux keeps the sockets of this user: `$TMUX_TMPDIR` or `/tmp`, then `tmux-UID`.
pub fn socket_directory() -> PathBuf {
    socket_directory_in(std::env::var_os("TMUX_TMPDIR").as_deref(), rustix::process::getuid().as_raw())
}

fn socket_directory_in(tmux_tmpdir: Option<&OsStr>, uid: u32) -> PathBuf {
    // tmux resolves links, and takes the first of the two that exists.
    let chosen = tmux_tmpdir
        .filter(|directory| !directory.is_empty())
        .and_then(|directory| Path::new(directory).canonicalize().ok());
    let base = chosen.or_else(|| Path::new("/tmp").canonicalize().ok()).unwrap_or_else(|| "/tmp".into());
    base.join(format!("tmux-{uid}"))
}

/// The socket named by the variable `TMUX` that tmux sets in panes: `SOCKET,PID,SESSION`.
pub fn socket_of_tmux_variable(value: &OsStr) -> Option<PathBuf> {
    let bytes = value.as_bytes();
    let session = memchr::memrchr(b',', bytes)?;
    let pid = memchr::memrchr(b',', &bytes[..session])?;
    (pid > 0).then(|| PathBuf::from(OsStr::from_bytes(&bytes[..pid])))
}

/// The sockets in a directory behind which a server listens, in order of their names.
pub fn discover(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sockets = Vec::new();
    let entries = match directory.read_dir() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(sockets),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        // Entries vanish while we look; that is no error.
        if entry.file_type().is_ok_and(|kind| kind.is_socket()) && is_alive(&entry.path()) {
            sockets.push(entry.path());
        }
    }
    sockets.sort();
    Ok(sockets)
}

/// Whether something listens on this socket. Does not wait, not even for a server that is stopped.
pub fn is_alive(socket: &Path) -> bool {
    let Ok(address) = SocketAddrUnix::new(socket) else {
        return false;
    };
    let Ok(connection) = platform::nonblocking_unix_socket() else {
        return false;
    };
    match rustix::net::connect(&connection, &address) {
        Ok(()) => true,
        // The backlog of a server that does not come to accepting is full: it is there.
        Err(Errno::AGAIN | Errno::INPROGRESS) => true,
        Err(_) => false,
    }
}

/// One life of one server. Ids of sessions, windows and panes mean something only together with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerIdentity {
    /// Where it listens.
    pub socket: PathBuf,
    /// Its process id.
    pub pid: u32,
    /// When it started, in seconds since the epoch.
    pub start_time: i64,
}

/// The version of a tmux, as `tmux -V` or `#{version}` say it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    text: String,
    number: Option<(u32, u32)>,
}

impl Version {
    /// The oldest version that has all this crate needs: `attach -f`, `set-environment -Fh`, `pane-title-changed`.
    pub const MINIMUM: (u32, u32) = (3, 2);

    /// Reads `tmux 3.3a`, `3.3a`, `tmux next-3.6`, `tmux openbsd-7.5`, `tmux master`.
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let text = text.strip_prefix("tmux ").unwrap_or(text);
        // tmux is developed in OpenBSD, which gives it the number of its own release.
        let number = match text.strip_prefix("next-").unwrap_or(text) {
            openbsd if openbsd.starts_with("openbsd") => None,
            number => parse_number(number),
        };
        Self { text: text.to_owned(), number }
    }

    /// Major and minor number, if the version has them.
    pub fn number(&self) -> Option<(u32, u32)> {
        self.number
    }

    /// Whether this crate works with it. OpenBSD's own numbering and the development branch count as current.
    pub fn supported(&self) -> bool {
        match self.number {
            Some(number) => number >= Self::MINIMUM,
            None => self.text.starts_with("openbsd-") || self.text == "master",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_number(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.split_once('.')?;
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_shapes_are_read() {
        let shown: Vec<_> = [
            "tmux 3.3a\n",
            "3.2",
            "tmux 3.1c",
            "tmux 2.9a",
            "tmux next-3.6",
            "tmux next-3.1",
            "tmux 3.10",
            "tmux 3.5-rc2",
            "tmux openbsd-7.5",
            "tmux master",
            "",
        ]
        .iter()
        .map(|text| {
            let version = Version::parse(text);
            format!("{text:?} {:?} supported={}", version.number(), version.supported())
        })
        .collect();
        insta::assert_snapshot!(shown.join("\n"), @r#"
        "tmux 3.3a\n" Some((3, 3)) supported=true
        "3.2" Some((3, 2)) supported=true
        "tmux 3.1c" Some((3, 1)) supported=false
        "tmux 2.9a" Some((2, 9)) supported=false
        "tmux next-3.6" Some((3, 6)) supported=true
        "tmux next-3.1" Some((3, 1)) supported=false
        "tmux 3.10" Some((3, 10)) supported=true
        "tmux 3.5-rc2" Some((3, 5)) supported=true
        "tmux openbsd-7.5" None supported=true
        "tmux master" None supported=true
        "" None supported=false
        "#);
    }

    #[test]
    fn sockets_are_where_tmux_puts_them() {
        let temporary = Path::new("/tmp").canonicalize().unwrap();
        assert_eq!(socket_directory_in(None, 7), temporary.join("tmux-7"));
        assert_eq!(socket_directory_in(Some(OsStr::new("")), 7), temporary.join("tmux-7"));
        assert_eq!(socket_directory_in(Some(OsStr::new("/nonexistent")), 7), temporary.join("tmux-7"));
        let home = tempfile::tempdir().unwrap();
        assert_eq!(
            socket_directory_in(Some(home.path().as_os_str()), 7),
            home.path().canonicalize().unwrap().join("tmux-7")
        );
        assert_eq!(SocketChoice::parse("./x"), SocketChoice::Path("./x".into()));
        assert_eq!(SocketChoice::parse("x"), SocketChoice::Name("x".into()));
        assert_eq!(SocketChoice::parse(""), SocketChoice::Default);
        let variable = socket_of_tmux_variable(OsStr::new("/tmp/a,b/default,123,4"));
        assert_eq!(variable, Some("/tmp/a,b/default".into()));
        assert_eq!(socket_of_tmux_variable(OsStr::new("nonsense")), None);
    }
}
