//! Where an agent lives for a while, unseen by others: a home, a folder to work in, a model, an environment.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::agent::Agent;
use crate::home::{Home, Variable};
use crate::install::{Packages, search_path};
use crate::model::Server;

/// How long programs may take to end after their terminal is gone.
const FAREWELL: Duration = Duration::from_secs(5);

/// Nobody waits two minutes for somebody who plays that they have left.
const CONFIG: &str = "[mail]\ninput_poll_interval = 1\ninput_stale_timeout = 5\n";

/// The place. It goes when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    /// The models, one for each agent.
    models: Vec<(Agent, Server)>,
    /// The environment.
    pub(crate) variables: Vec<Variable>,
    /// The folder that the agent works in.
    pub(crate) workspace: PathBuf,
    root: TempDir,
    kept: bool,
}

impl Place {
    /// Makes everything ready for agents that live here together.
    pub(crate) async fn make(agents: &[Agent], packages: &Packages) -> Result<Self> {
        Self::make_with(agents, packages, "").await
    }

    /// The same, with these lines in `config.toml` besides.
    pub(crate) async fn make_with(agents: &[Agent], packages: &Packages, settings: &str) -> Result<Self> {
        // Sockets lie in it, so its path is short.
        let root = tempfile::Builder::new().prefix("al").rand_bytes(5).tempdir_in("/tmp")?;
        let path = |name: &str| root.path().join(name);
        for name in ["home", "work", "new", "run", "tmp"] {
            DirBuilder::new().mode(0o700).create(path(name))?;
        }
        let config = path("home/.config/agtmux");
        fs::create_dir_all(&config)?;
        fs::write(config.join("config.toml"), format!("{settings}{CONFIG}"))?;
        let workspace = path("work").canonicalize()?;
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
        let mut variables: Vec<_> = own.map(|(name, value)| (name.to_owned(), value)).into();
        let mut models = Vec::new();
        for agent in agents {
            let model = Server::start().await?;
            let home = Home { home: path("home"), workspace: workspace.clone(), port: model.port() };
            variables.extend(home.seed(*agent)?);
            models.push((*agent, model));
        }
        Ok(Self { models, variables, workspace, root, kept: false })
    }

    /// The model of the first of them.
    pub(crate) fn model(&self) -> &Server {
        &self.models[0].1
    }

    /// The model of one of them.
    pub(crate) fn model_of(&self, agent: Agent) -> &Server {
        self.models.iter().find(|(of, _)| *of == agent).map_or_else(|| self.model(), |(_, model)| model)
    }

    /// Where everything of it lies.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A path in it. The socket of tmux is `t`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Leaves the files where they are, for somebody who wants to look.
    pub(crate) fn keep(&mut self) {
        self.root.disable_cleanup(true);
        self.kept = true;
    }

    /// Waits until no process is left that could slow down what comes next.
    pub(crate) async fn wait_until_empty(&self) {
        let ended = Instant::now();
        loop {
            let left = self.inhabitants();
            if left.is_empty() {
                return;
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

    /// Every process that lives here. Where there is no `/proc`, nobody is known.
    fn inhabitants(&self) -> Vec<Pid> {
        let home = format!("HOME={}", self.path("home").display());
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
                let environment = fs::read(entry.path().join("environ")).ok()?;
                environment.split(|byte| *byte == 0).any(|entry| entry == home.as_bytes()).then_some(pid)
            })
            .collect()
    }
}

impl Drop for Place {
    /// For what is broken off: who is about to end writes a last file, and would make the folder anew.
    fn drop(&mut self) {
        let ended = Instant::now();
        while !self.kept && !self.inhabitants().is_empty() && ended.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
