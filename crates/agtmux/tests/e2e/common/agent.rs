//! Scripted agents: programs with the names of real ones that do what the test tells them.

use std::cell::Cell;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use super::environment::AGTMUX;
use super::run::Run;
use super::wait::wait_for;

/// What every scripted agent is: a shell that reads its lines from a fifo. The fifo is opened for both directions, so
/// that it never ends.
pub(crate) const SCRIPT: &str = include_str!("agent.sh");

/// An agent in a pane.
#[derive(Debug)]
pub(crate) struct FakeAgent {
    /// The pane it runs in.
    pub(crate) pane: String,
    /// Where its fifo is.
    pub(crate) dir: PathBuf,
    calls: Cell<u32>,
}

impl FakeAgent {
    pub(crate) fn new(pane: String, dir: PathBuf) -> Self {
        Self { pane, dir, calls: Cell::new(0) }
    }

    /// The process of the program that reads the fifo now.
    pub(crate) fn pid(&self) -> u32 {
        wait_for("the agent to say its pid", || {
            let text = fs::read_to_string(self.dir.join("pid")).map_err(|error| error.to_string())?;
            text.trim().parse().map_err(|error| format!("{text:?}: {error}"))
        })
    }

    /// Has the agent run a line of shell, and does not wait for it.
    #[track_caller]
    pub(crate) fn tell(&self, line: &str) {
        assert!(!line.contains('\n'), "one line at a time");
        let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap();
        let mut fifo = wait_for("the agent to read", || {
            OpenOptions::new().write(true).custom_flags(flags).open(self.dir.join("fifo"))
        });
        fifo.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Has the agent run a line of shell, and gives what came of it.
    #[track_caller]
    pub(crate) fn run(&self, line: &str) -> Run {
        let call = self.calls.get();
        self.calls.set(call + 1);
        let base = self.dir.join(format!("call{call}"));
        let path = base.display();
        self.tell(&format!("{{ {line} ; }} >{path}.out 2>{path}.err; echo $? >{path}.new; mv {path}.new {path}.rc"));
        let code = wait_for(&format!("the agent to run {line:?}"), || fs::read_to_string(format!("{path}.rc")));
        Run {
            code: code.trim().parse().unwrap(),
            stdout: fs::read_to_string(format!("{path}.out")).unwrap(),
            stderr: fs::read_to_string(format!("{path}.err")).unwrap(),
        }
    }

    /// Has the agent run `agtmux signal` with these arguments, which go through a shell.
    #[track_caller]
    pub(crate) fn signal(&self, arguments: &str) -> Run {
        self.run(&format!("{AGTMUX} signal {arguments}"))
    }
}
