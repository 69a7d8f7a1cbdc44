//! A terminal without tmux: what the test writes is what a person types, byte for byte.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use rustix::event::{PollFd, PollFlags};
use rustix::pty::OpenptFlags;
use rustix::termios::{Termios, Winsize};
use tempfile::TempDir;

use super::{Visitor, shim, wait_for};

/// A program behind the shim, on a terminal of the test's.
pub(crate) struct Wrapped {
    pub(crate) dir: TempDir,
    pane: Option<OpenPane>,
    found: Termios,
    child: Child,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
}

/// Both ends of the pane's terminal, and what keeps its reader reading.
struct OpenPane {
    keyboard: File,
    slave: OwnedFd,
    _open: UnixStream,
}

impl Wrapped {
    /// Starts a line of shell behind the shim. `$LOG` is a file for it to write.
    pub(crate) fn start(line: &str) -> Self {
        Self::start_as(&[shim().to_str().unwrap(), "sh", "-c", line], |_| {})
    }

    /// Starts a program that takes keys as they are, wants pastes to be marked, and keeps what it reads.
    pub(crate) fn recorder() -> Self {
        let wrapped = Self::start("stty raw -echo; printf '\\033[?2004hready'; exec cat >$LOG");
        wrapped.wait_screen("ready");
        wrapped
    }

    /// Starts a command on a terminal of its own, with a change to how it is started.
    pub(crate) fn start_as(command: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let dir = tempfile::Builder::new().prefix("as").rand_bytes(5).tempdir_in("/tmp").unwrap();
        // Not for the children of other tests: a terminal lives as long as anybody has it open.
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).unwrap();
        rustix::pty::unlockpt(&master).unwrap();
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags).unwrap();
        let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&slave, size).unwrap();
        let found = rustix::termios::tcgetattr(&slave).unwrap();
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        let mut starting = Command::new("setsid");
        starting.args(["--ctty", "--wait"]).args(command);
        starting.env("AGTMUX_SHIM_DIR", dir.path().join("shim")).env("LOG", dir.path().join("log"));
        change(&mut starting);
        let child = starting.stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (open, closed) = UnixStream::pair().unwrap();
        let (mut shown, keep) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        let reader = thread::spawn(move || {
            let mut piece = [0; 65_536];
            loop {
                let mut sources = [PollFd::new(&shown, PollFlags::IN), PollFd::new(&closed, PollFlags::IN)];
                rustix::event::poll(&mut sources, None).unwrap();
                if !sources[1].revents().is_empty() {
                    return;
                }
                let Ok(count @ 1..) = shown.read(&mut piece) else { return };
                keep.lock().unwrap().extend_from_slice(&piece[..count]);
            }
        });
        let pane = Some(OpenPane { keyboard, slave, _open: open });
        Self { dir, pane, found, child, screen, reader: Some(reader) }
    }

    fn pane(&self) -> &OpenPane {
        self.pane.as_ref().unwrap()
    }

    /// Presses keys.
    pub(crate) fn keys(&mut self, keys: &[u8]) {
        self.pane.as_mut().unwrap().keyboard.write_all(keys).unwrap();
    }

    /// Everything that was shown.
    pub(crate) fn screen(&self) -> Vec<u8> {
        self.screen.lock().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn wait_screen(&self, text: &str) {
        wait_for(&format!("{text:?} on the screen"), || {
            let screen = String::from_utf8_lossy(&self.screen()).into_owned();
            if screen.contains(text) { Ok(()) } else { Err(screen) }
        });
    }

    /// What the program has written to `$LOG`.
    pub(crate) fn log(&self) -> Vec<u8> {
        std::fs::read(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Waits until the log is so long, and gives it.
    #[track_caller]
    pub(crate) fn wait_log(&self, length: usize) -> Vec<u8> {
        wait_for(&format!("{length} bytes in the log"), || {
            let log = self.log();
            if log.len() >= length { Ok(log) } else { Err(log.len()) }
        })
    }

    /// The directory of sockets.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.dir.path().join("shim")
    }

    /// The socket of the shim.
    #[track_caller]
    pub(crate) fn socket(&self) -> PathBuf {
        wait_for("the socket", || {
            let entry = std::fs::read_dir(self.sockets()).ok().and_then(|mut entries| entries.next()?.ok());
            entry.map(|entry| entry.path()).ok_or("none")
        })
    }

    /// The process of the shim.
    pub(crate) fn pid(&self) -> u32 {
        pid_of(&self.socket())
    }

    /// Somebody who talks to the shim.
    pub(crate) fn visitor(&self) -> Visitor {
        Visitor::new(&self.socket())
    }

    /// The settings of the pane's terminal before anything was started on it.
    pub(crate) fn settings_found(&self) -> &Termios {
        &self.found
    }

    /// The settings of the pane's terminal.
    pub(crate) fn settings(&self) -> Termios {
        rustix::termios::tcgetattr(&self.pane().slave).unwrap()
    }

    /// The name of the pane's terminal.
    pub(crate) fn tty(&self) -> String {
        rustix::termios::ttyname(&self.pane().slave, Vec::new()).unwrap().into_string().unwrap()
    }

    /// Changes the size of the pane.
    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.pane().slave, size).unwrap();
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Closes the terminal, as tmux does with a pane that is killed.
    pub(crate) fn close(&mut self) {
        self.pane = None;
        self.reader.take().unwrap().join().unwrap();
    }

    /// Waits for its end.
    pub(crate) fn end(&mut self) -> ExitStatus {
        wait_for("the end", || self.child.try_wait().unwrap().ok_or("it runs"))
    }
}

fn pid_of(socket: &Path) -> u32 {
    socket.file_stem().unwrap().to_str().unwrap().parse().unwrap()
}

impl Drop for Wrapped {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
