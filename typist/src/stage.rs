//! A private tmux server whose panes hold agents, one session each, and nothing that another run sees.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

/// Everything lies in one folder, which goes with it.
#[derive(Debug)]
pub struct Stage {
    root: TempDir,
}

impl Stage {
    /// An empty stage; the server starts with its first session.
    pub fn set() -> Result<Self> {
        // Sockets lie in it, so its path is short.
        let root = tempfile::Builder::new().prefix("at").rand_bytes(5).tempdir_in("/tmp")?;
        for name in ["run", "home", "state"] {
            std::fs::create_dir(root.path().join(name))?;
        }
        Ok(Self { root })
    }

    /// The fake agent, under the name of a real one, so that the daemon takes it for an agent and does all it does with one.
    pub fn agent(&self) -> Result<PathBuf> {
        let path = self.path("claude");
        let us = std::env::current_exe()?;
        if !path.exists() && std::fs::hard_link(&us, &path).is_err() {
            std::fs::copy(&us, &path)?;
        }
        Ok(path)
    }

    /// A path in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The way to its server.
    #[must_use]
    pub fn tmux(&self) -> Tmux {
        Tmux { root: self.root.path().to_owned() }
    }

    /// Leaves the files where they are, for somebody who wants to look.
    pub fn keep(&mut self) -> &Path {
        self.root.disable_cleanup(true);
        self.root.path()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // There may be no server any more.
        self.tmux().run(&["kill-server"]).ok();
    }
}

/// Runs commands in the stage's tmux server.
#[derive(Clone, Debug)]
pub struct Tmux {
    root: PathBuf,
}

impl Tmux {
    /// The server whose socket is `t` in a folder that is laid out like a stage.
    #[must_use]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// A session with a program in its one pane; gives the id of the pane.
    pub fn session(&self, name: &str, program: &[&OsStr]) -> Result<String> {
        let mut command = self.command();
        command.args(["start-server", ";", "set", "-s", "escape-time", "2000", ";"]);
        // A slow machine hands over the keys of a prefix at once, which tmux would take for a paste.
        command.args(["set", "-g", "assume-paste-time", "0", ";", "set", "-g", "window-size", "latest", ";"]);
        command.args(["new-session", "-d", "-s", name, "-x", "100", "-y", "30", "-P", "-F", "#{pane_id}"]);
        command.args(program);
        Ok(output(&mut command)?.trim().to_owned())
    }

    /// The socket of the wrapper in a pane.
    pub fn shim(&self, pane: &str) -> Result<PathBuf> {
        let pid = self.run(&["display-message", "-p", "-t", pane, "#{pane_pid}"])?;
        Ok(self.root.join("run/agtmux/shim").join(format!("{}.sock", pid.trim())))
    }

    /// Runs a command and gives what it printed.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        output(self.command().args(arguments))
    }

    /// The same with something on its standard input.
    pub fn run_with(&self, arguments: &[&str], input: &[u8]) -> Result<()> {
        let mut child = self.command().args(arguments).stdin(Stdio::piped()).spawn().context("tmux cannot be run")?;
        child.stdin.take().context("no input")?.write_all(input)?;
        ensure!(child.wait()?.success(), "tmux {arguments:?} failed");
        Ok(())
    }

    /// A command for this server, ready for its arguments.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.root.join("t")).args(["-f", "/dev/null"]);
        self.isolate(&mut command);
        command.stdin(Stdio::null());
        command
    }

    /// Lets a program see this stage and nothing of the user's.
    pub fn isolate(&self, command: &mut Command) {
        command
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .env("HOME", self.root.join("home"))
            .env("XDG_RUNTIME_DIR", self.root.join("run"))
            .env("XDG_STATE_HOME", self.root.join("state"))
            .env_remove("XDG_CONFIG_HOME")
            .env("AGTMUX_TMUX_SOCKET", self.root.join("t"))
            .env("LANG", "C.UTF-8")
            .env("LC_ALL", "C.UTF-8");
    }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().context("tmux cannot be run")?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?}: {}", error.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
