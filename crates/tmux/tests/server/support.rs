//! A private tmux server per test, and waiting without guessing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use agtmux_tmux::protocol::Notification;
use agtmux_tmux::session::HiddenSession;
use tokio::sync::mpsc;

/// Long enough for a loaded machine; no test waits for it to pass.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A tmux server with one session `work`, killed when dropped.
pub(crate) struct Server {
    directory: tempfile::TempDir,
    pub(crate) pid: u32,
}

impl Server {
    /// Starts a server whose first pane runs a shell command.
    pub(crate) fn start(command: &str) -> Self {
        Self::start_in(Path::new("/"), command)
    }

    pub(crate) fn start_in(cwd: &Path, command: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("agtmux-tmux-").tempdir().unwrap();
        let mut server = Self { directory, pid: 0 };
        let output = server
            .command()
            .current_dir(cwd)
            .args(["new-session", "-d", "-s", "work", "-n", "main", "-x", "80", "-y", "24", command])
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        server.pid = server.tmux(["display-message", "-p", "#{pid}"]).parse().unwrap();
        server
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("s")
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command
            .args(["-f", "/dev/null", "-u", "-S"])
            .arg(self.socket())
            .env("HOME", self.directory.path())
            .env("SHELL", "/bin/sh")
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn output(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
        self.command().args(arguments).output().unwrap()
    }

    /// Runs a tmux command from outside and returns what it prints, without the last line end.
    #[track_caller]
    pub(crate) fn tmux(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> String {
        let output = self.output(arguments);
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.strip_suffix('\n').map_or(text.clone(), str::to_owned)
    }

    #[track_caller]
    pub(crate) fn format(&self, target: &str, format: &str) -> String {
        self.tmux(["display-message", "-p", "-t", target, format])
    }

    pub(crate) async fn open(&self) -> (HiddenSession, mpsc::Receiver<Notification>) {
        HiddenSession::open(Path::new("tmux"), &self.socket(), DEADLINE).await.unwrap()
    }

    #[track_caller]
    pub(crate) fn session_names(&self) -> Vec<String> {
        self.tmux(["list-sessions", "-F", "#{session_name}"]).lines().map(str::to_owned).collect()
    }

    /// Attaches a terminal to a session, as a user would.
    pub(crate) fn attach_terminal(&self, session: &str) -> Terminal {
        let socket = self.socket();
        let attach =
            format!("stty rows 24 cols 80; exec tmux -u -S '{}' attach-session -t '{session}'", socket.display());
        let mut process = Command::new("script")
            .args(["-qfc", &attach, "/dev/null"])
            .env("HOME", self.directory.path())
            .env("TERM", "xterm-256color")
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let keyboard = process.stdin.take().unwrap();
        wait_until("the terminal is attached", || self.format(&format!("={session}:"), "#{session_attached}") == "1");
        Terminal { process, _keyboard: keyboard }
    }

    /// Starts the example as a process of its own, to be killed.
    pub(crate) fn observer(&self, pipe_socket: Option<&Path>) -> Observer {
        let process = Command::new(example("observe"))
            .arg(self.socket())
            .args(pipe_socket)
            .env_remove("TMUX")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Observer { process }
    }

    /// Starts the example with ordinary clients, to be killed.
    pub(crate) fn plain_observer(&self) -> Observer {
        let mut command = Command::new(example("observe"));
        command.arg("--plain").arg(self.socket()).env_remove("TMUX").stdout(Stdio::null());
        Observer { process: command.spawn().unwrap() }
    }

    pub(crate) fn signal(&self, name: &str) {
        signal(self.pid, name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        signal(self.pid, "CONT");
        self.output(["kill-server"]);
        // A server that hangs in its end must not outlive its test.
        let deadline = Instant::now() + Duration::from_secs(2);
        while Path::new(&format!("/proc/{}", self.pid)).exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        if Path::new(&format!("/proc/{}", self.pid)).exists() {
            signal(self.pid, "KILL");
        }
    }
}

/// A terminal attached by `script(1)`.
pub(crate) struct Terminal {
    process: Child,
    _keyboard: ChildStdin,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// A process that observes a server.
pub(crate) struct Observer {
    process: Child,
}

impl Observer {
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The path of an example, which cargo builds beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let path = std::env::current_exe().unwrap().parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: run the tests of the whole package", path.display());
    path
}

pub(crate) fn signal(pid: u32, name: &str) {
    Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).stderr(Stdio::null()).status().unwrap();
}

/// Waits until something is so; fails with its name after the deadline.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !so() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
