//! A private tmux server with agents in its panes, in a directory of its own.
//!
//! An agent is `sleep` under the name `claude`: it costs next to nothing, and what is measured is what watching costs,
//! not what agents cost. Unless said otherwise each pane has a session of its own, the dearest layout for tmux.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agtmux::paths::Paths;
use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use crate::cleanup;
use crate::composer::COMPOSER;

/// The program under test.
pub(crate) const AGTMUX: &str = env!("CARGO_BIN_EXE_agtmux");

/// A pane of the fleet.
#[derive(Clone, Debug)]
pub(crate) struct Pane {
    pub(crate) id: String,
    pub(crate) tty: PathBuf,
    pub(crate) pid: u32,
}

/// How panes are spread over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    SessionEach,
    OneSession,
}

pub(crate) struct Fleet {
    pub(crate) panes: Vec<Pane>,
    pub(crate) server_pid: u32,
    pub(crate) socket: PathBuf,
    pub(crate) paths: Paths,
    root: TempDir,
}

impl Fleet {
    /// A server with `agents` panes that each hold a quiet agent.
    pub(crate) fn of_agents(agents: usize) -> Result<Self> {
        Self::start(agents, Layout::SessionEach, "claude 2147483647")
    }

    /// A server with `panes` panes that each write as fast as tmux reads.
    pub(crate) fn of_floods(panes: usize, layout: Layout) -> Result<Self> {
        Self::start(panes, layout, "codex")
    }

    /// A server with `agents` panes that each hold an agent that can be written to.
    pub(crate) fn of_composers(agents: usize) -> Result<Self> {
        Self::start(agents, Layout::SessionEach, &format!("composer/claude {COMPOSER}"))
    }

    fn start(panes: usize, layout: Layout, command: &str) -> Result<Self> {
        let root = tempfile::Builder::new().prefix("agtmux-bench-").tempdir()?;
        fs::set_permissions(root.path(), fs::Permissions::from_mode(0o700))?;
        cleanup::register_directory(root.path());
        let bin = root.path().join("bin");
        fs::create_dir(&bin)?;
        symlink(find("sleep")?, bin.join("claude"))?;
        symlink(find("yes")?, bin.join("codex"))?;
        fs::create_dir(bin.join("composer"))?;
        symlink(std::env::current_exe()?, bin.join("composer/claude"))?;
        let mut fleet = Self {
            panes: Vec::new(),
            server_pid: 0,
            socket: root.path().join("tmux.sock"),
            paths: Paths {
                config_dir: root.path().join("config/agtmux"),
                state_dir: root.path().join("state/agtmux"),
                socket: root.path().join("run/agtmuxd.sock"),
            },
            root,
        };
        let mut script = String::new();
        for pane in 0..panes {
            let new = match layout {
                Layout::OneSession if pane > 0 => "new-window -d -t =a0:".to_owned(),
                Layout::OneSession | Layout::SessionEach => format!("new-session -d -x 100 -y 30 -s a{pane}"),
            };
            let _ = writeln!(script, "{new} 'exec {}/{command}'", bin.display());
        }
        fleet.run_script(&script)?;
        fleet.server_pid = fleet.ask(&["display-message", "-p", "#{pid}"])?.trim().parse()?;
        cleanup::register_process(fleet.server_pid);
        fleet.panes = fleet.list()?;
        ensure!(fleet.panes.len() == panes, "{} of {panes} panes were made", fleet.panes.len());
        Ok(fleet)
    }

    /// Where this fleet keeps its things.
    pub(crate) fn root(&self) -> &Path {
        self.root.path()
    }

    /// A command of tmux on the private server, without anybody's configuration.
    pub(crate) fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket).args(["-f", "/dev/null"]).stdin(Stdio::null());
        self.isolate(&mut command);
        command
    }

    /// The program under test, for this fleet.
    pub(crate) fn agtmux(&self) -> Command {
        let mut command = Command::new(AGTMUX);
        command.stdin(Stdio::null());
        self.isolate(&mut command);
        command
    }

    fn isolate(&self, command: &mut Command) {
        let root = self.root.path();
        command
            .env("HOME", root)
            .env("SHELL", "/bin/sh")
            .env("XDG_CONFIG_HOME", root.join("config"))
            .env("XDG_STATE_HOME", root.join("state"))
            .env("XDG_RUNTIME_DIR", root.join("run"))
            .env("AGTMUX_SOCKET", &self.paths.socket)
            .env("AGTMUX_TMUX_SOCKET", &self.socket)
            .env_remove("AGTMUX_LOG")
            .env_remove("TMUX")
            .env_remove("TMUX_PANE");
    }

    /// What tmux answers.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String> {
        let output = self.tmux().args(arguments).output()?;
        if !output.status.success() {
            bail!("tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs many commands of tmux at once.
    pub(crate) fn run_script(&self, script: &str) -> Result<()> {
        let file = self.root.path().join("script.tmux");
        fs::write(&file, script)?;
        self.ask(&["start-server", ";", "source-file", &file.to_string_lossy()]).map(|_| ())
    }

    /// The panes there are now.
    pub(crate) fn list(&self) -> Result<Vec<Pane>> {
        let text = self.ask(&["list-panes", "-a", "-F", "#{session_name} #{pane_id} #{pane_pid} #{pane_tty}"])?;
        let users = text.lines().filter(|line| !line.starts_with("_agtmux"));
        users.map(|line| parse(line).with_context(|| format!("list-panes said {line:?}"))).collect()
    }

    /// Writes a program into the directory from which agents are run, and gives its path.
    pub(crate) fn write_program(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.root.path().join(name);
        if let Some(dir) = path.parent() {
            fs::create_dir_all(dir)?;
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        Ok(path)
    }

    /// The path of the quiet agent.
    pub(crate) fn quiet_agent(&self) -> PathBuf {
        self.root.path().join("bin/claude")
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        // Not `kill-server`: a server that was frozen on purpose never answers it.
        cleanup::kill(self.server_pid);
        cleanup::remove(self.root.path());
    }
}

fn parse(line: &str) -> Option<Pane> {
    let mut fields = line.split(' ').skip(1);
    Some(Pane { id: fields.next()?.to_owned(), pid: fields.next()?.parse().ok()?, tty: fields.next()?.into() })
}

fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(program)).find(|file| file.exists());
    found.with_context(|| format!("{program} is not in PATH"))
}
