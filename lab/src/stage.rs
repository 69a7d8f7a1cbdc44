//! Everything one story needs, and nothing that another story sees: a place, a tmux server, a daemon.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, anyhow};
use tokio::process::Command;

use crate::agent::Agent;
use crate::follower::Follower;
use crate::home::Variable;
use crate::install::Packages;
use crate::model::Server;
use crate::place::Place;
use crate::terminal::Terminal;

/// Columns and lines of the pane.
const SIZE: (u16, u16) = (120, 40);

/// Where a story plays.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The pane.
    pub(crate) terminal: Terminal,
    /// What agtmux says of it.
    pub(crate) follower: Follower,
    place: Place,
    agtmux: PathBuf,
    /// Whether there is something to take down.
    standing: bool,
}

impl Stage {
    /// Sets everything up for agents that share it; the agents themselves are not started yet.
    pub(crate) async fn set(agents: &[Agent], packages: &Packages, agtmux: &Path, settings: &str) -> Result<Self> {
        let place = Place::make_with(agents, packages, settings).await?;
        let (work, variables) = (&place.workspace, &place.variables);
        for agent in agents {
            agtmux_with(agtmux, work, variables, &["setup", agent.name(), "--yes"]).await?.succeeded()?;
        }
        let terminal = Terminal::start(place.path("t"), work, SIZE, variables.clone()).await?;
        agtmux_with(agtmux, work, variables, &["daemon", "start"]).await?.succeeded()?;
        let follower =
            Follower::start(&place.path("run/agtmux/agtmuxd.sock"), &place.path("t"), &terminal.pane).await?;
        let agtmux = agtmux.to_owned();
        Ok(Self { terminal, follower, place, agtmux, standing: true })
    }

    /// Runs agtmux as the person at this terminal would.
    pub(crate) async fn agtmux(&self, arguments: &[&str]) -> Result<String> {
        self.ask_agtmux(arguments).await?.succeeded()
    }

    /// The same, whether or not it succeeds.
    pub(crate) async fn ask_agtmux(&self, arguments: &[&str]) -> Result<Told> {
        agtmux_with(&self.agtmux, self.workspace(), &self.place.variables, arguments).await
    }

    /// Looks at another pane from here on.
    pub(crate) async fn turn_to(&mut self, pane: &str) -> Result<()> {
        let daemon = self.place.path("run/agtmux/agtmuxd.sock");
        self.follower = Follower::start(&daemon, &self.terminal.socket, pane).await?;
        pane.clone_into(&mut self.terminal.pane);
        Ok(())
    }

    /// Opens another pane, with a shell in the same folder, and looks at that from here on. Gives the pane that was looked at before,
    /// and what was followed of it.
    pub(crate) async fn open_pane(&mut self) -> Result<(String, Follower)> {
        let pane = self.terminal.open(&self.place.workspace).await?;
        let daemon = self.place.path("run/agtmux/agtmuxd.sock");
        let follower = Follower::start(&daemon, &self.terminal.socket, &pane).await?;
        Ok(self.swap_pane(pane, follower))
    }

    /// Looks at a pane that was looked at before.
    pub(crate) fn swap_pane(&mut self, pane: String, follower: Follower) -> (String, Follower) {
        (std::mem::replace(&mut self.terminal.pane, pane), std::mem::replace(&mut self.follower, follower))
    }

    /// The folder that the agent works in.
    pub(crate) fn workspace(&self) -> &Path {
        &self.place.workspace
    }

    /// Where everything of it lies.
    pub(crate) fn root(&self) -> &Path {
        self.place.root()
    }

    /// The model.
    pub(crate) fn model(&self) -> &Server {
        self.place.model()
    }

    /// The model of one of several agents.
    pub(crate) fn model_of(&self, agent: Agent) -> &Server {
        self.place.model_of(agent)
    }

    /// The end of the daemon's log.
    pub(crate) fn daemon_log(&self) -> String {
        let log = fs::read_to_string(self.place.path("home/.local/state/agtmux/daemon.log")).unwrap_or_default();
        let lines: Vec<_> = log.lines().rev().take(30).collect();
        lines.into_iter().rev().map(|line| format!("{line}\n")).collect()
    }

    /// Leaves everything as it is, for somebody who wants to look, and says where it is.
    pub(crate) fn keep(mut self) -> PathBuf {
        self.standing = false;
        self.place.keep();
        self.place.root().to_owned()
    }

    /// Takes everything down, and waits until no process is left that could slow down the next story.
    pub(crate) async fn strike(mut self) -> Result<()> {
        self.agtmux(&["daemon", "stop"]).await?;
        self.terminal.end().await?;
        self.standing = false;
        self.place.wait_until_empty().await;
        Ok(())
    }
}

impl Drop for Stage {
    /// For a story that is broken off. There is nobody to tell what does not work here.
    fn drop(&mut self) {
        if self.standing {
            let stop = |program: &Path, arguments: &[&str]| {
                std::process::Command::new(program)
                    .envs(self.place.variables.iter().cloned())
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
