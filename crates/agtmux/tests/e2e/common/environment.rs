//! An environment of its own for each test: home, configuration, state, sockets, tmux servers.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{panicking, sleep};
use std::time::{Duration, Instant};

use agtmux::platform::process_tree_snapshot;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use super::agent::{FakeAgent, SCRIPT};
use super::http::{self, Answer};
use super::run::{Background, Run};
use super::tmux::Tmux;
use super::wait::{PROMISED, wait_for, wait_within};
use super::{is_alive, kill};

/// The binary under test.
pub(crate) const AGTMUX: &str = env!("CARGO_BIN_EXE_agtmux");

/// The session in which agents are started unless a test says otherwise.
const SESSION: &str = "main";

/// Everything of one test. Dropped, it stops the daemon and kills the tmux servers it knows of.
pub(crate) struct TestEnvironment {
    root: TempDir,
    servers: RefCell<Vec<Tmux>>,
    agents: Cell<u32>,
}

impl TestEnvironment {
    /// An environment in which nothing runs yet. The path is short, because sockets lie in it.
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new().prefix("ae").rand_bytes(5).tempdir_in("/tmp").unwrap();
        for dir in ["home", "config/agtmux", "state", "run", "bin", "tmp", "agents"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Self { root, servers: RefCell::default(), agents: Cell::new(0) }
    }

    /// An environment with a tmux server that runs and has the session `main`.
    pub(crate) fn with_tmux() -> Self {
        let environment = Self::new();
        environment.tmux().start(SESSION);
        environment
    }

    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.path("state/agtmux")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("run/agtmux/agtmuxd.sock")
    }

    /// Everything a program of this environment sees. Nothing of the user's is in it, and plain `tmux` is private too.
    fn variables(&self) -> Vec<(String, String)> {
        let path = |name: &str| self.path(name).display().to_string();
        let inherited = std::env::var("PATH").unwrap_or_default();
        [
            ("PATH", inherited),
            ("HOME", path("home")),
            ("XDG_CONFIG_HOME", path("config")),
            ("XDG_STATE_HOME", path("state")),
            ("XDG_RUNTIME_DIR", path("run")),
            ("TMPDIR", path("tmp")),
            ("TMUX_TMPDIR", path("tmp")),
            ("TERM", "xterm-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("SHELL", "/bin/sh".to_owned()),
        ]
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
    }

    /// Writes the configuration file.
    pub(crate) fn configure(&self, text: &str) {
        fs::write(self.path("config/agtmux/config.toml"), text).unwrap();
    }

    /// The tmux server of the test.
    pub(crate) fn tmux(&self) -> Tmux {
        self.tmux_at("t")
    }

    /// Another tmux server.
    pub(crate) fn tmux_at(&self, name: &str) -> Tmux {
        let tmux = Tmux::new(self.path(name), self.variables());
        let mut servers = self.servers.borrow_mut();
        if servers.iter().all(|known| known.socket != tmux.socket) {
            servers.push(tmux.clone());
        }
        tmux
    }

    /// The binary, looking at the test's tmux server.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(AGTMUX);
        command.env_clear().envs(self.variables()).env("AGTMUX_TMUX_SOCKET", self.path("t"));
        command.args(arguments).current_dir(self.root());
        command
    }

    /// A shell with the variables of this environment, outside of any pane.
    pub(crate) fn shell(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command.env_clear().envs(self.variables()).args(["-c", line]).current_dir(self.root());
        command
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub(crate) fn agtmux(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    /// Runs the binary beside the test.
    #[track_caller]
    pub(crate) fn agtmux_in_background(&self, arguments: &[&str]) -> Background {
        Background::start(&mut self.command(arguments))
    }

    /// Starts the daemon, or finds it running. Gives its status.
    #[track_caller]
    pub(crate) fn start_daemon(&self) -> Value {
        self.agtmux(&["daemon", "start", "--json"]).ok().json()
    }

    /// The process of the daemon that runs.
    #[track_caller]
    pub(crate) fn daemon_pid(&self) -> u32 {
        let status = self.agtmux(&["daemon", "status", "--json"]).ok().json();
        u32::try_from(status["pid"].as_u64().unwrap()).unwrap()
    }

    /// Kills the daemon outright and waits until it is gone.
    #[track_caller]
    pub(crate) fn kill_daemon(&self) {
        let pid = self.daemon_pid();
        kill(pid, Signal::KILL);
        wait_for("the killed daemon to be gone", || if is_alive(pid) { Err("it runs") } else { Ok(()) });
    }

    /// Asks the daemon by HTTP.
    pub(crate) fn request(&self, method: &str, path: &str, body: &[u8]) -> std::io::Result<Answer> {
        let server = self.path("t").display().to_string();
        http::request(&self.socket(), method, path, &[(agtmux_wire::TMUX_SOCKET_HEADER, &server)], body)
    }

    /// Gets a document from the daemon.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Value {
        self.request("GET", path, b"").unwrap_or_else(|error| panic!("GET {path}: {error}")).json()
    }

    /// Posts an event.
    #[track_caller]
    pub(crate) fn post_event(&self, event: &Value) -> Answer {
        self.request("POST", "/v1/events", event.to_string().as_bytes()).unwrap()
    }

    /// Writes the program of an agent.
    pub(crate) fn program(&self, name: &str, script: &str) -> PathBuf {
        let path = self.path("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Starts an agent in a window of its own of the session `main`, and waits until the daemon has found it.
    #[track_caller]
    pub(crate) fn agent(&self, name: &str) -> FakeAgent {
        let agent = self.unseen_agent(name);
        self.wait_for_pane(&agent.pane, &format!("{name} to be found"), |pane| pane["agent"] == name);
        agent
    }

    /// As [`Self::agent`], without waiting for the daemon, or starting one.
    #[track_caller]
    pub(crate) fn unseen_agent(&self, name: &str) -> FakeAgent {
        self.agent_in(&self.tmux(), SESSION, name)
    }

    /// Starts an agent in a new window of a session.
    #[track_caller]
    pub(crate) fn agent_in(&self, tmux: &Tmux, session: &str, name: &str) -> FakeAgent {
        self.start_agent(tmux, session, name, &[])
    }

    /// As [`Self::agent`], with these variables in its environment.
    #[track_caller]
    pub(crate) fn agent_with(&self, name: &str, variables: &[(&str, &str)]) -> FakeAgent {
        let agent = self.start_agent(&self.tmux(), SESSION, name, variables);
        self.wait_for_pane(&agent.pane, &format!("{name} to be found"), |pane| pane["agent"] == name);
        agent
    }

    fn start_agent(&self, tmux: &Tmux, session: &str, name: &str, variables: &[(&str, &str)]) -> FakeAgent {
        let program = self.program(name, SCRIPT);
        let dir = self.agent_dir();
        let place = format!("={session}:");
        let own = format!("AGENT_DIR={}", dir.display());
        let others = variables.iter().map(|(name, value)| format!("{name}={value}"));
        let variables: Vec<_> = std::iter::once(own).chain(others).collect();
        let program = format!("exec {}", program.display());
        let mut arguments = vec!["new-window", "-d", "-t", &place, "-n", name];
        for variable in &variables {
            arguments.extend(["-e", variable]);
        }
        arguments.extend(["-P", "-F", "#{pane_id}", &program]);
        let pane = tmux.run(&arguments);
        let agent = FakeAgent::new(pane, dir);
        agent.pid();
        agent
    }

    /// A directory with a fifo, for an agent that the test starts in its own way.
    pub(crate) fn agent_dir(&self) -> PathBuf {
        let number = self.agents.get();
        self.agents.set(number + 1);
        let dir = self.path("agents").join(number.to_string());
        fs::create_dir_all(&dir).unwrap();
        assert!(Command::new("mkfifo").arg(dir.join("fifo")).status().unwrap().success());
        dir
    }

    /// The pane of that id on the test's own server, if the daemon knows it.
    pub(crate) fn pane(&self, id: &str) -> Option<Value> {
        let answer = self.request("GET", "/v1/panes?all=true", b"").ok()?;
        let socket = self.path("t").display().to_string();
        let mut items = answer.json()["items"].as_array()?.clone();
        items.retain(|item| item["identity"]["pane_id"] == id && item["tmux_socket"] == socket);
        items.pop()
    }

    /// Waits until a pane is as the test wants it, and gives it.
    #[track_caller]
    pub(crate) fn wait_for_pane(&self, id: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.look_at_pane(id, &wanted))
    }

    /// As [`Self::wait_for_pane`], within a time that is promised.
    #[track_caller]
    pub(crate) fn wait_for_pane_within(
        &self,
        deadline: Duration,
        id: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        wait_within(deadline, what, || self.look_at_pane(id, &wanted))
    }

    fn look_at_pane(&self, id: &str, wanted: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let pane = self.pane(id).ok_or_else(|| format!("no pane {id}"))?;
        if wanted(&pane) { Ok(pane) } else { Err(format!("{pane:#}")) }
    }
}

impl Drop for TestEnvironment {
    fn drop(&mut self) {
        let log = fs::read_to_string(self.state_dir().join("daemon.log")).unwrap_or_default();
        if panicking() {
            println!("--- the daemon's log\n{log}");
        }
        // A test that failed may have left something suspended, which would not hear the rest.
        for process in self.processes().iter().filter(|process| process.state == 'T') {
            kill(process.pid, Signal::CONT);
        }
        let status = self.agtmux(&["daemon", "status", "--json"]);
        if status.code == 0 {
            let pid = status.json()["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
            let stopped = self.agtmux(&["daemon", "stop"]).code == 0;
            if let Some(pid) = pid.filter(|pid| !stopped && is_alive(*pid)) {
                kill(pid, Signal::KILL);
            }
        }
        for tmux in self.servers.borrow().iter().filter(|tmux| tmux.is_running()) {
            let killed = tmux.try_run(&["kill-server"]);
            if killed.code != 0 {
                println!("{} could not be killed: {}", tmux.path().display(), killed.stderr);
            }
        }
        self.kill_leftovers();
    }
}

impl TestEnvironment {
    /// Waits for everything to end that names this environment on its command line, and kills what does not.
    fn kill_leftovers(&self) {
        let started = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            if started.elapsed() > PROMISED {
                for process in &left {
                    println!("killing what is left: {} {}", process.pid, process.argv.join(" "));
                    kill(process.pid, Signal::KILL);
                }
                return;
            }
            sleep(Duration::from_millis(10));
        }
    }

    /// Waits until neither helpers nor tmux clients are left of a daemon that has ended.
    #[track_caller]
    pub(crate) fn assert_daemon_left_no_process(&self) {
        wait_for("the daemon's processes to be gone", || {
            let lines: Vec<_> = self.processes().iter().map(|process| process.argv.join(" ")).collect();
            // What tmux servers run, and the servers themselves, are the test's own.
            let is_ours = |line: &String| line.starts_with(AGTMUX) || line.contains("tmux -N");
            if lines.iter().any(is_ours) { Err(format!("{lines:#?}")) } else { Ok(()) }
        });
    }

    /// Every process that names this environment on its command line.
    pub(crate) fn processes(&self) -> Vec<agtmux_agents::Process> {
        let root = self.root().display().to_string();
        let mut processes = process_tree_snapshot().under(1);
        processes.retain(|process| process.argv.iter().any(|word| word.contains(&root)));
        processes
    }
}
