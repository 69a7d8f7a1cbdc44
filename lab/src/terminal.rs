//! A private tmux server with one pane, in which a person would sit.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use regex::Regex;
use tokio::process::Command;

use crate::home::Variable;

/// Between two looks at the screen.
const LOOK: Duration = Duration::from_millis(15);

/// What runs in a pane at first.
const SHELL: &str = "PS1='$ ' exec bash --norc --noprofile";

/// The pane.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    /// The server's socket.
    pub(crate) socket: PathBuf,
    /// The pane's id.
    pub(crate) pane: String,
    variables: Vec<Variable>,
}

impl Terminal {
    /// Opens another window, with a shell in its pane, and gives the pane's id.
    pub(crate) async fn open(&self, workspace: &Path) -> Result<String> {
        let workspace = workspace.display().to_string();
        let window = ["new-window", "-d", "-t", "lab:", "-c", &workspace, "-P", "-F", "#{pane_id}", SHELL];
        let pane = self.tmux(&window).await?.trim().to_owned();
        let opened = Self { pane: pane.clone(), ..self.clone() };
        opened.wait_for(&Regex::new(r"(?m)^\$")?, true, Duration::from_secs(10)).await?;
        Ok(pane)
    }

    /// Starts the server, with a shell in its pane of so many columns and lines.
    pub(crate) async fn start(
        socket: PathBuf,
        workspace: &Path,
        (columns, lines): (u16, u16),
        variables: Vec<Variable>,
    ) -> Result<Self> {
        let mut terminal = Self { socket, pane: String::new(), variables };
        // The options come first, in the same breath: the first pane is already to have them.
        let options = ["start-server", ";", "set", "-g", "default-terminal", "tmux-256color", ";", "set", "-g"];
        let (columns, lines, workspace) = (columns.to_string(), lines.to_string(), workspace.display().to_string());
        let session = ["escape-time", "0", ";", "new-session", "-d", "-s", "lab", "-x", &columns, "-y", &lines];
        let place = ["-c", &workspace, "-P", "-F", "#{pane_id}", SHELL];
        terminal.pane = terminal.tmux(&[&options[..], &session[..], &place[..]].concat()).await?.trim().to_owned();
        terminal.wait_for(&Regex::new(r"(?m)^\$")?, true, Duration::from_secs(10)).await?;
        Ok(terminal)
    }

    /// Puts a text where the cursor is, as a paste.
    pub(crate) async fn paste(&self, text: &str) -> Result<()> {
        self.tmux(&["set-buffer", "-b", "lab", text]).await?;
        self.tmux(&["paste-buffer", "-p", "-d", "-b", "lab", "-t", &self.pane]).await?;
        Ok(())
    }

    /// Presses keys.
    pub(crate) async fn keys(&self, keys: &[&str]) -> Result<()> {
        self.tmux(&[&["send-keys", "-t", &self.pane], keys].concat()).await?;
        Ok(())
    }

    /// Types a text key by key.
    pub(crate) async fn type_text(&self, text: &str) -> Result<()> {
        self.tmux(&["send-keys", "-t", &self.pane, "-l", text]).await?;
        Ok(())
    }

    /// What the pane shows, its title first.
    pub(crate) async fn screen(&self) -> Result<String> {
        let pane = self.pane.as_str();
        self.tmux(&["display-message", "-p", "-t", pane, "#{pane_title}", ";", "capture-pane", "-p", "-t", pane]).await
    }

    /// The values of these formats, one per line, then what the pane shows with its colours: all of the same moment.
    pub(crate) async fn picture(&self, formats: &[&str]) -> Result<String> {
        let pane = self.pane.as_str();
        let formats: Vec<_> = formats.iter().map(|name| format!("#{{{name}}}")).collect();
        let look = ["display-message", "-p", "-t", pane, &formats.join("\n")];
        self.tmux(&[&look[..], &[";", "capture-pane", "-e", "-p", "-t", pane]].concat()).await
    }

    /// The values of these formats, one per line, and the pane with and without colours: all of the same moment.
    pub(crate) async fn pictures(&self, formats: &[&str]) -> Result<(String, String, String)> {
        const CUT: &str = "<<<lab: next>>>\n";
        let pane = self.pane.as_str();
        let formats: Vec<_> = formats.iter().map(|name| format!("#{{{name}}}")).collect();
        let formats = format!("{}\n{}", formats.join("\n"), CUT.trim_end());
        let look = ["display-message", "-p", "-t", pane, &formats, ";", "capture-pane", "-e", "-p", "-t", pane];
        let plain = [";", "display-message", "-p", CUT.trim_end(), ";", "capture-pane", "-p", "-t", pane];
        let all = self.tmux(&[&look[..], &plain[..]].concat()).await?;
        let mut parts = all.splitn(3, CUT).map(str::to_owned);
        let mut next = || parts.next().context("tmux showed less than it was asked for");
        Ok((next()?, next()?, next()?))
    }

    /// Sets an option of the window.
    pub(crate) async fn set_window(&self, option: &str, value: &str) -> Result<()> {
        self.tmux(&["set", "-w", "-t", &self.pane, option, value]).await.map(drop)
    }

    /// Gives the pane a title.
    pub(crate) async fn entitle(&self, title: &str) -> Result<()> {
        self.tmux(&["select-pane", "-t", &self.pane, "-T", title]).await.map(drop)
    }

    /// Sets an option of the server.
    pub(crate) async fn set(&self, option: &str, value: &str) -> Result<()> {
        self.tmux(&["set", "-s", option, value]).await.map(drop)
    }

    /// Gives the pane another size.
    pub(crate) async fn resize(&self, columns: u16, lines: u16) -> Result<()> {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.tmux(&["resize-window", "-t", &self.pane, "-x", &columns, "-y", &lines]).await.map(drop)
    }

    /// Has everything that is written to the pane from now on kept in a file.
    pub(crate) async fn record(&self, file: &Path) -> Result<()> {
        // The path is that of a folder of ours: no character in it means anything to tmux or to a shell.
        self.tmux(&["pipe-pane", "-O", "-t", &self.pane, &format!("exec cat > {}", file.display())]).await.map(drop)
    }

    /// Waits until the screen shows, or no longer shows, a pattern. Gives the moment of the last look that was
    /// different: it was drawn at that moment at the earliest.
    pub(crate) async fn wait_for(&self, pattern: &Regex, shown: bool, within: Duration) -> Result<Instant> {
        let started = Instant::now();
        let mut before = started;
        loop {
            let looked = Instant::now();
            let screen = self.screen().await?;
            if pattern.is_match(&screen) == shown {
                return Ok(before);
            }
            ensure!(
                looked.duration_since(started) < within,
                "after {within:?} the screen {} /{pattern}/",
                if shown { "does not show" } else { "still shows" }
            );
            before = looked;
            tokio::time::sleep(LOOK).await;
        }
    }

    /// An agent draws its composer before it takes keys: a text that is typed too early is kept, but Enter is lost. It
    /// takes keys when it takes back what was typed.
    pub(crate) async fn wait_until_keys_count(&self, within: Duration) -> Result<()> {
        let probe = Regex::new("zq")?;
        self.type_text("zq").await?;
        self.wait_for(&probe, true, within).await?;
        let started = Instant::now();
        while let Err(error) = self.erase(&probe).await {
            ensure!(started.elapsed() < within, "{error}");
        }
        Ok(())
    }

    async fn erase(&self, probe: &Regex) -> Result<()> {
        self.keys(&["BSpace", "BSpace"]).await?;
        self.wait_for(probe, false, Duration::from_secs(1)).await.map(drop)
    }

    /// Ends the server and everything in it.
    pub(crate) async fn end(&self) -> Result<()> {
        self.tmux(&["kill-server"]).await.map(drop)
    }

    async fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let output = Command::new("tmux")
            .env_clear()
            .envs(self.variables.iter().cloned())
            .arg("-S")
            .arg(&self.socket)
            // Whatever the locale of the variant, what is captured is UTF-8.
            .args(["-u", "-f", "/dev/null"])
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .await
            .context("tmux cannot be run")?;
        ensure!(output.status.success(), "tmux {arguments:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
