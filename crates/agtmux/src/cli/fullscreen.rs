//! A terminal of which a command has the whole screen for a while: the alternate one, so that nothing stays behind.

use std::io::{self, IsTerminal};

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{self, SignalKind};

use super::output;
use crate::error::CommandError;

/// The alternate screen, without a cursor, and without wrapping: what is too long for a line is cut by the terminal.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// What a program that was ended by a signal exits with, less the signal.
const ENDED_BY_SIGNAL: i32 = 128;

/// The screen. Given back when dropped.
pub struct Fullscreen {
    resized: unix::Signal,
    suspended: unix::Signal,
    ended: [(Signal, unix::Signal); 3],
}

impl Fullscreen {
    /// Whether standard output is a terminal that has an alternate screen.
    pub fn is_possible() -> bool {
        io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
    }

    /// Takes the screen.
    ///
    /// # Errors
    /// Fails where signals cannot be handled: then nobody would give the screen back.
    pub fn open() -> Result<Self, CommandError> {
        let listen = |kind| unix::signal(kind).map_err(CommandError::internal);
        let screen = Self {
            resized: listen(SignalKind::window_change())?,
            suspended: listen(SignalKind::from_raw(Signal::TSTP.as_raw()))?,
            ended: [
                (Signal::INT, listen(SignalKind::interrupt())?),
                (Signal::TERM, listen(SignalKind::terminate())?),
                (Signal::HUP, listen(SignalKind::hangup())?),
            ],
        };
        output::print(ENTER)?;
        Ok(screen)
    }

    /// How many lines it has.
    pub fn height() -> usize {
        let size = rustix::termios::tcgetwinsize(io::stdout());
        size.ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24)
    }

    /// Shows these lines and nothing else.
    ///
    /// # Errors
    /// Fails when the terminal is gone.
    pub fn draw(&self, lines: &[String]) -> Result<(), CommandError> {
        let lines: Vec<_> = lines.iter().map(|line| format!("{line}\x1b[K")).collect();
        // No line end behind the last line: it would scroll the first one away.
        output::print(&format!("\x1b[H{}\x1b[J", lines.join("\r\n")))
    }

    /// Waits until everything has to be drawn anew: the terminal has another size, or the command goes on after it was
    /// suspended. Does not return if the command is ended.
    pub async fn redraw_needed(&mut self) {
        let [(int, interrupted), (term, terminated), (hup, hung_up)] = &mut self.ended;
        let ended = tokio::select! {
            _ = self.resized.recv() => return,
            _ = self.suspended.recv() => {
                output::print(LEAVE).ok();
                kill_process(getpid(), Signal::STOP).ok();
                output::print(ENTER).ok();
                return;
            }
            _ = interrupted.recv() => *int,
            _ = terminated.recv() => *term,
            _ = hung_up.recv() => *hup,
        };
        output::print(LEAVE).ok();
        std::process::exit(ENDED_BY_SIGNAL + ended.as_raw());
    }
}

impl Drop for Fullscreen {
    fn drop(&mut self) {
        // The terminal may be gone; then there is nothing to give back.
        output::print(LEAVE).ok();
    }
}
