//! The keeper: leads the session of the agent's terminal, as a shell does.
//!
//! Somebody has to. A program can be suspended with Ctrl-Z only if its parent is in its own session, and only the leader of a
//! session gets a terminal to be its. The shim cannot be it, since it belongs to the session of the pane. So the keeper starts
//! the agent, puts it in the foreground, and tells the shim when it stops or ends.
//!
//! It is the same program, started anew: without `unsafe` there is no other way to do things between fork and exec.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};

use crate::start::{ROLE_VARIABLE, SOCKETS_VARIABLE};

/// The role of the keeper.
pub(crate) const KEEP: &str = "keep";
/// The role of what becomes the agent once it is in the foreground.
pub(crate) const BECOME: &str = "become";

/// The length of what the keeper says.
pub(crate) const REPORT: usize = 5;

/// What the keeper says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Report {
    /// The agent runs, as this process.
    Runs(u32),
    /// It was suspended. It goes on when a byte comes back.
    Stopped,
    /// It ended with this status.
    Exited(i32),
    /// A signal killed it.
    Killed(i32),
}

impl Report {
    fn encode(self) -> [u8; REPORT] {
        let (tag, value) = match self {
            Self::Runs(pid) => (b'R', pid.to_le_bytes()),
            Self::Stopped => (b'S', [0; 4]),
            Self::Exited(status) => (b'E', status.to_le_bytes()),
            Self::Killed(signal) => (b'K', signal.to_le_bytes()),
        };
        let mut bytes = [tag; REPORT];
        bytes[1..].copy_from_slice(&value);
        bytes
    }

    /// Reads what the keeper said.
    pub(crate) fn decode([tag, value @ ..]: [u8; REPORT]) -> Option<Self> {
        match tag {
            b'R' => Some(Self::Runs(u32::from_le_bytes(value))),
            b'S' => Some(Self::Stopped),
            b'E' => Some(Self::Exited(i32::from_le_bytes(value))),
            b'K' => Some(Self::Killed(i32::from_le_bytes(value))),
            _ => None,
        }
    }
}

/// Starts a keeper for a command, on the agent's end of its terminal. Gives the line to it.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn start(terminal: OwnedFd, command: &[OsString]) -> io::Result<(Child, OwnedFd)> {
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, line_flags(), None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    let mut keeper = myself(KEEP, command)?;
    // What is not on the terminal, such as a log of errors, stays where it is.
    if rustix::termios::isatty(rustix::stdio::stderr()) {
        keeper.stderr(Stdio::from(terminal.try_clone()?));
    }
    let keeper = keeper.stdin(Stdio::from(theirs)).stdout(Stdio::from(terminal)).spawn()?;
    Ok((keeper, ours))
}

#[cfg(target_os = "linux")]
fn line_flags() -> SocketFlags {
    SocketFlags::CLOEXEC
}

#[cfg(not(target_os = "linux"))]
fn line_flags() -> SocketFlags {
    SocketFlags::empty()
}

/// This program in another role.
fn myself(role: &str, command: &[OsString]) -> io::Result<Command> {
    // The name of the file would be another file, or none, after an upgrade.
    let program = if cfg!(target_os = "linux") { "/proc/self/exe".into() } else { env::current_exe()? };
    let mut myself = Command::new(program);
    myself.arg0("agtmux-shim").args(command).env(ROLE_VARIABLE, role);
    Ok(myself)
}

/// Runs as the keeper, with the line to the shim as standard input and the agent's terminal as standard output.
pub(crate) fn keep(command: &[OsString]) -> ExitCode {
    match run_and_tell(command) {
        Ok(()) => ExitCode::SUCCESS,
        // The shim sees the line end.
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_and_tell(command: &[OsString]) -> io::Result<()> {
    let terminal = rustix::stdio::stdout();
    rustix::process::setsid()?;
    rustix::process::ioctl_tiocsctty(terminal)?;
    let mut agent = myself(BECOME, command)?.process_group(0).stdin(Stdio::piped()).spawn()?;
    let pid = Pid::from_child(&agent);
    rustix::termios::tcsetpgrp(terminal, pid)?;
    if let Some(mut go) = agent.stdin.take() {
        go.write_all(b"g")?;
    }
    tell(Report::Runs(agent.id()))?;
    loop {
        let status = match rustix::process::waitpid(Some(pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) => status,
            Ok(None) | Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        if status.stopped() {
            tell(Report::Stopped)?;
            // Whatever comes, the agent must not stay suspended for ever.
            rustix::io::read(rustix::stdio::stdin(), &mut [0; 1]).ok();
            rustix::process::kill_process_group(pid, Signal::CONT).ok();
            continue;
        }
        tell(match status.terminating_signal() {
            Some(signal) => Report::Killed(signal),
            None => Report::Exited(status.exit_status().unwrap_or(1)),
        })?;
        // The kernel throws away what nobody has read yet when the leader of a session ends, so the shim reads first.
        rustix::io::read(rustix::stdio::stdin(), &mut [0; 1]).ok();
        return Ok(());
    }
}

fn tell(report: Report) -> io::Result<()> {
    rustix::net::send(rustix::stdio::stdin(), &report.encode(), rustix::net::SendFlags::empty())?;
    Ok(())
}

/// Becomes the agent, as soon as the keeper has put it in the foreground.
pub(crate) fn become_agent(command: &[OsString]) -> ExitCode {
    if io::stdin().lock().read_exact(&mut [0; 1]).is_err() {
        return ExitCode::FAILURE;
    }
    if rustix::stdio::dup2_stdin(rustix::stdio::stdout()).is_err() {
        return ExitCode::FAILURE;
    }
    exec(command)
}

/// Runs a command in the place of this program. Comes back only if that fails, with the status that shells give.
pub(crate) fn exec(command: &[OsString]) -> ExitCode {
    let Some((program, arguments)) = command.split_first() else {
        return ExitCode::FAILURE;
    };
    let error = Command::new(program).args(arguments).env_remove(ROLE_VARIABLE).env_remove(SOCKETS_VARIABLE).exec();
    writeln!(io::stderr(), "agtmux: {}: {error}", program.display()).ok();
    ExitCode::from(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
}
