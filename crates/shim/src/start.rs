//! From the command line to the exit status.

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{Child, ExitCode};

use rustix::process::{Resource, Rlimit, Signal};

use crate::keeper;
use crate::pty;
use crate::relay::{Ending, Relay};
use crate::signals::Signals;
use crate::socket::Door;
use crate::terminal::Terminal;

/// The directory for the socket; without it there is none.
pub const SOCKETS_VARIABLE: &str = "AGTMUX_SHIM_DIR";
/// The name that was asked for. The agent gets it too.
pub const NAME_VARIABLE: &str = "AGTMUX_NAME";
/// Which of the three processes this is.
pub(crate) const ROLE_VARIABLE: &str = "AGTMUX_SHIM_ROLE";

/// Runs the command that the arguments are, as the agent in a terminal of its own. Everything else comes by the environment, so
/// that no word of the command can be taken for ours.
pub fn main() -> ExitCode {
    let command: Vec<OsString> = env::args_os().skip(1).collect();
    if command.is_empty() {
        writeln!(io::stderr(), "usage: agtmux-shim COMMAND [ARGUMENT]…; people use `agtmux wrap`").ok();
        return ExitCode::from(2);
    }
    match env::var(ROLE_VARIABLE).as_deref() {
        Ok(keeper::KEEP) => keeper::keep(&command),
        Ok(keeper::BECOME) => keeper::become_agent(&command),
        _ => shim(&command),
    }
}

fn shim(command: &[OsString]) -> ExitCode {
    // Without a terminal, or when anything at all is in the way, the command is better off alone.
    let Ok(parts) = Parts::new(command) else {
        return keeper::exec(command);
    };
    let Parts { terminal, master, slave, line, mut keeper, signals, door } = parts;
    let name = env::var(NAME_VARIABLE).ok().filter(|name| !name.is_empty());
    // The keeper ends when the line to it does.
    let ending = Relay::new(&terminal, (master, slave), line, &signals, door, name).run();
    terminal.restore();
    keeper.wait().ok();
    end_like(ending)
}

struct Parts {
    terminal: Terminal,
    master: OwnedFd,
    slave: OwnedFd,
    line: OwnedFd,
    keeper: Child,
    signals: Signals,
    door: Option<Door>,
}

impl Parts {
    fn new(command: &[OsString]) -> io::Result<Self> {
        let terminal = Terminal::open()?;
        let (master, slave) = pty::open(&terminal)?;
        let signals = Signals::new()?;
        // Before anything is started, so that no key is a signal for it meanwhile.
        terminal.make_raw();
        // Whoever finds the agent finds the door too.
        let door = env::var_os(SOCKETS_VARIABLE).and_then(|dir| Door::open(&PathBuf::from(dir)).ok());
        let (keeper, line) = keeper::start(slave.try_clone()?, command)?;
        Ok(Self { terminal, master, slave, line, keeper, signals, door })
    }
}

/// Ends as the agent ended, so that whoever started it sees the same.
fn end_like(ending: Ending) -> ExitCode {
    match ending {
        Ending::Exited(status) => ExitCode::from(u8::try_from(status & 0xff).unwrap_or(1)),
        Ending::Killed(signal) => {
            // One core is enough, and it is the agent's.
            rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) }).ok();
            signal_hook::low_level::emulate_default_handler(signal).ok();
            if let Some(signal) = Signal::from_named_raw(signal) {
                rustix::process::kill_process(rustix::process::getpid(), signal).ok();
            }
            ExitCode::from(u8::try_from(128 + signal).unwrap_or(1))
        }
        Ending::Lost => ExitCode::FAILURE,
    }
}
