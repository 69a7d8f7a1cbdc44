//! Everything one story needs, and nothing that another story sees: home, model, tmux server, daemon.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::process::Command;

use crate::agent::Agent;
use crate::follower::Follower;
use crate::home::{Home, Variable};
use crate::install::{Packages, search_path};
use crate::model::Server;
use crate::terminal::Terminal;

/// How long programs may take to end after their terminal is gone.
const FAREWELL: Duration = Duration::from_secs(5);

/// Where a story plays.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The pane.
    pub(crate) terminal: Terminal,
    /// What agtmux says of it.
    pub(crate) follower: Follower,
    /// The model.
    pub(crate) model: Server,
    root: TempDir,
    agtmux: PathBuf,
    variables: Vec<Variable>,
    /// Whether there is something to take down.
    standing: bool,
}

impl Stage {
    /// Sets everything up for an agent; the agent itself is not started yet.
    pub(crate) async fn set(agent: Agent, packages: &Packages, agtmux: &Path) -> Result<Self> {
        // Sockets lie in it, so its path is short.
        let root = tempfile::Builder::new().prefix("al").rand_bytes(5).tempdir_in("/tmp")?;
        let path = |name: &str| root.path().join(name);
        for name in ["home", "work", "new", "run", "tmp"] {
            DirBuilder::new().mode(0o700).create(path(name))?;
        }
        let model = Server::start().await?;
        let home = Home { home: path("home"), workspace: path("work").canonicalize()?, port: model.port() };
        let text = |path: PathBuf| path.display().to_string();
        let own = [
            ("PATH", search_path(packages).to_string_lossy().into_owned()),
            ("HOME", text(path("home"))),
            ("XDG_RUNTIME_DIR", text(path("run"))),
            ("TMPDIR", text(path("tmp"))),
            ("TMUX_TMPDIR", text(path("tmp"))),
            ("AGTMUX_TMUX_SOCKET", text(path("t"))),
            ("SHELL", "/bin/bash".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let variables: Vec<_> = own.into_iter().chain(home.seed(agent)?).collect();
        let work = &home.workspace;
        agtmux_with(agtmux, work, &variables, &["setup", agent.name(), "--yes"]).await?.succeeded()?;
        let terminal = Terminal::start(path("t"), &home.workspace.display().to_string(), variables.clone()).await?;
        agtmux_with(agtmux, work, &variables, &["daemon", "start"]).await?.succeeded()?;
        let follower = Follower::start(&path("run/agtmux/agtmuxd.sock"), &path("t"), &terminal.pane).await?;
        let agtmux = agtmux.to_owned();
        Ok(Self { terminal, follower, model, root, agtmux, variables, standing: true })
    }

    /// Runs agtmux as the person at this terminal would.
    pub(crate) async fn agtmux(&self, arguments: &[&str]) -> Result<String> {
        self.ask_agtmux(arguments).await?.succeeded()
    }

    /// The same, whether or not it succeeds.
    pub(crate) async fn ask_agtmux(&self, arguments: &[&str]) -> Result<Told> {
        agtmux_with(&self.agtmux, &self.workspace(), &self.variables, arguments).await
    }

    /// Looks at another pane from here on.
    pub(crate) async fn turn_to(&mut self, pane: &str) -> Result<()> {
        let daemon = self.root.path().join("run/agtmux/agtmuxd.sock");
        self.follower = Follower::start(&daemon, &self.terminal.socket, pane).await?;
        pane.clone_into(&mut self.terminal.pane);
        Ok(())
    }

    /// The folder that the agent works in.
    pub(crate) fn workspace(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Where everything of it lies.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// The end of the daemon's log.
    pub(crate) fn daemon_log(&self) -> String {
        let log = fs::read_to_string(self.root.path().join("home/.local/state/agtmux/daemon.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(30).collect();
        lines.into_iter().rev().map(|line| format!("{line}\n")).collect()
    }

    /// Leaves everything as it is, for somebody who wants to look, and says where it is.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.standing = false;
        self.root.disable_cleanup(true);
        self.root.path().to_owned()
    }

    /// Takes everything down, and waits until no process is left that could slow down the next story.
    pub(crate) async fn strike(mut self) -> Result<()> {
        self.agtmux(&["daemon", "stop"]).await?;
        self.terminal.end().await?;
        self.standing = false;
        let home = format!("HOME={}", self.root.path().join("home").display());
        let ended = Instant::now();
        loop {
            let left = processes_with(&home);
            if left.is_empty() {
                return Ok(());
            }
            if ended.elapsed() > FAREWELL {
                for pid in left {
                    // It may have ended by itself in the meantime, which is just as well.
                    kill_process(pid, Signal::KILL).ok();
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Stage {
    /// For a story that is broken off. There is nobody to tell what does not work here.
    fn drop(&mut self) {
        if self.standing {
            let stop = |program: &Path, arguments: &[&str]| {
                std::process::Command::new(program)
                    .envs(self.variables.iter().cloned())
                    .args(arguments)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status()
                    .ok();
            };
            stop(&self.agtmux, &["daemon", "stop"]);
            stop(Path::new("tmux"), &["-S", &self.terminal.socket.to_string_lossy(), "kill-server"]);
        }
    }
}

/// What agtmux said.
#[derive(Debug)]
pub(crate) struct Told {
    /// On standard output.
    pub(crate) answer: String,
    /// What was not done, in its words.
    pub(crate) refusal: Option<String>,
}

impl Told {
    /// What it said, if all was done.
    pub(crate) fn succeeded(self) -> Result<String> {
        self.refusal.map_or(Ok(self.answer), |refusal| Err(anyhow!(refusal)))
    }
}

async fn agtmux_with(program: &Path, folder: &Path, variables: &[Variable], arguments: &[&str]) -> Result<Told> {
    let output = Command::new(program)
        .current_dir(folder)
        .env_clear()
        .envs(variables.iter().cloned())
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .with_context(|| format!("{} cannot be run", program.display()))?;
    let error = String::from_utf8_lossy(&output.stderr);
    let refusal = (!output.status.success()).then(|| format!("agtmux {}: {}", arguments.join(" "), error.trim()));
    Ok(Told { answer: String::from_utf8_lossy(&output.stdout).into_owned(), refusal })
}

/// Every process with this variable in its environment. Where there is no `/proc`, nobody is waited for.
fn processes_with(variable: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let environment = fs::read(entry.path().join("environ")).ok()?;
            environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes()).then_some(pid)
        })
        .collect()
}
