//! Real processes for the tests, ended with the test that started them.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, waitid, waitpid};
use tempfile::TempDir;

use super::process_argv;

/// A child that sleeps for longer than any test runs.
pub(super) struct Sleeper {
    child: Child,
    _folder: Option<TempDir>,
}

impl Sleeper {
    pub(super) fn new() -> Self {
        Self::start(Command::new("sleep"), None)
    }

    /// `sleep` under another name. A link and not a copy: a copy that another test's child still has open for
    /// writing cannot be run.
    #[cfg(target_os = "linux")]
    pub(super) fn named(name: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        let program = folder.path().join(name);
        std::os::unix::fs::symlink("/bin/sleep", &program).expect("a link to sleep");
        Self::start(Command::new(&program), Some(folder))
    }

    /// Starts the child and returns once its arguments are in place, which is a little after its exec.
    fn start(mut program: Command, folder: Option<TempDir>) -> Self {
        let child = program.arg("600").spawn().expect("sleep starts");
        let deadline = Instant::now() + Duration::from_secs(20);
        while process_argv(child.id()).is_empty() {
            assert!(Instant::now() < deadline, "the child has no arguments");
        }
        Self { child, _folder: folder }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the child and returns once it is stopped.
    pub(super) fn stop(&self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::STOP).expect("a signal");
        waitpid(Some(pid), WaitOptions::UNTRACED).expect("a stopped child");
    }

    /// Kills the child and returns once it is a zombie.
    pub(super) fn kill(&mut self) {
        let pid = Pid::from_child(&self.child);
        self.child.kill().expect("a signal");
        waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).expect("a dead child");
    }

    /// Takes the zombie away.
    pub(super) fn reap(&mut self) {
        self.child.wait().expect("a dead child");
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A shell with one child.
pub(super) struct Family {
    shell: Child,
    pub(super) child: u32,
}

impl Family {
    pub(super) fn new() -> Self {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 600 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut line = String::new();
        BufReader::new(shell.stdout.take().expect("a pipe")).read_line(&mut line).expect("the child's pid");
        Self { shell, child: line.trim().parse().expect("a pid") }
    }

    pub(super) fn parent(&self) -> u32 {
        self.shell.id()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        // The shell ends by itself once its only child has.
        let child = i32::try_from(self.child).ok().and_then(Pid::from_raw);
        let _gone_already = child.map(|pid| kill_process(pid, Signal::KILL));
        let _status = self.shell.wait();
    }
}
