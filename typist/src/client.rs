//! A person's terminal: a tmux client on a pseudo-terminal whose other end we hold.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread::{JoinHandle, spawn};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// An attached client.
#[derive(Debug)]
pub struct Client {
    terminal: File,
    process: Child,
    /// Reads what tmux draws, and forgets it: a terminal that does not read stops tmux.
    eyes: Option<JoinHandle<()>>,
}

impl Client {
    /// Runs a command, `tmux attach` as a rule, on a terminal of its own.
    pub fn start(command: &mut Command, rows: u16, columns: u16) -> Result<Self> {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).context("no pseudo-terminal left")?;
        grantpt(&terminal)?;
        unlockpt(&terminal)?;
        let name = ptsname(&terminal, Vec::new())?;
        let inner = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OpenptFlags::NOCTTY.bits().cast_signed())
            .open(name.to_str()?)?;
        let terminal = File::from(terminal);
        resize(&terminal, rows, columns)?;
        let process = command
            .env("TERM", "xterm-256color")
            .stdin(Stdio::from(inner.try_clone()?))
            .stdout(Stdio::from(inner.try_clone()?))
            .stderr(Stdio::from(inner))
            .spawn()
            .context("tmux cannot be run")?;
        let mut screen = terminal.try_clone()?;
        let eyes = spawn(move || {
            let mut buffer = [0; 16 * 1024];
            while screen.read(&mut buffer).is_ok_and(|count| count > 0) {}
        });
        Ok(Self { terminal, process, eyes: Some(eyes) })
    }

    /// Presses keys.
    pub fn press(&mut self, bytes: &[u8]) -> Result<()> {
        self.terminal.write_all(bytes).context("the client is gone")
    }

    /// Changes the size of the terminal's window.
    pub fn resize(&mut self, rows: u16, columns: u16) -> Result<()> {
        resize(&self.terminal, rows, columns)?;
        // The client has no controlling terminal, so nobody else tells it.
        kill_process(Pid::from_child(&self.process), Signal::WINCH).context("the client is gone")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It may have ended with its server.
        self.process.kill().and_then(|()| self.process.wait()).ok();
        if let Some(eyes) = self.eyes.take() {
            eyes.join().ok();
        }
    }
}

fn resize(terminal: &File, rows: u16, columns: u16) -> Result<()> {
    Ok(tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?)
}
