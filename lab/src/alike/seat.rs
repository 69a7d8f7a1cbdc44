//! One of the panes that are compared, with an agent that nobody else talks to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use regex::Regex;

use super::picture::{self, asked_for};
use super::rules::Rules;
use super::steps::{Move, Step};
use crate::agent::Agent;
use crate::install::Packages;
use crate::place::Place;
use crate::terminal::Terminal;

/// Columns and lines at first.
const SIZE: (u16, u16) = (100, 30);

/// How long an agent may take to start, and to do anything else.
const START: Duration = Duration::from_secs(60);
const ARRIVED: Duration = Duration::from_secs(30);

/// What stands before the agent's command. Both are of the same length, so that the shell's lines are; `env` is gone when the agent runs.
const BARE: &str = "env -u NOTHING ";
const WRAPPED: &str = "agtmux wrap -- ";

/// The pane.
#[derive(Debug)]
pub(super) struct Seat {
    /// Which of them it is.
    pub(super) name: &'static str,
    /// The file with everything that was written to it.
    recording: PathBuf,
    wrapped: bool,
    command: String,
    rules: Rules,
    terminal: Terminal,
    place: Place,
    /// Whether there is something to take down.
    standing: bool,
}

impl Seat {
    /// Makes a pane with a shell in it.
    pub(super) async fn take(
        name: &'static str,
        agent: Agent,
        packages: &Packages,
        agtmux: &Path,
        wrapped: bool,
    ) -> Result<Self> {
        let mut place = Place::make(&[agent], packages).await?;
        let folder = agtmux.parent().unwrap_or(Path::new(".")).display().to_string();
        for (_, value) in place.variables.iter_mut().filter(|(name, _)| name == "PATH") {
            *value = format!("{value}:{folder}");
        }
        let terminal = Terminal::start(place.path("t"), &place.workspace, SIZE, place.variables.clone()).await?;
        // Without it Claude Code asks for it, in a notice that comes and goes.
        terminal.set("focus-events", "on").await?;
        let recording = place.path("written");
        terminal.record(&recording).await?;
        let command = format!("{}{}", if wrapped { WRAPPED } else { BARE }, agent.command());
        let rules = Rules::for_run(place.root())?;
        Ok(Self { name, recording, wrapped, command, rules, terminal, place, standing: true })
    }

    /// Does everything of a step.
    pub(super) async fn go(&self, agent: Agent, step: &Step) -> Result<()> {
        for one in &step.moves {
            if let Err(error) = self.make(agent, one).await {
                let screen = self.terminal.screen().await?;
                return Err(error.context(format!("{}\n{}", self.name, screen.trim_end())));
            }
        }
        Ok(())
    }

    async fn make(&self, agent: Agent, one: &Move) -> Result<()> {
        let terminal = &self.terminal;
        match one {
            Move::Start => {
                // The line would be cut in two by a smaller size, and what the shell writes later would fall into it.
                terminal.type_text(&format!("clear; {}", self.command)).await?;
                terminal.keys(&["Enter"]).await?;
                terminal.wait_for(&Regex::new(agent.ready())?, true, START).await?;
                terminal.wait_until_keys_count(ARRIVED).await?;
                // The wrapper steps aside when anything is in its way; then there would be nothing to compare.
                let sockets = fs::read_dir(self.place.path("run/agtmux/shim")).map_or(0, Iterator::count);
                ensure!(sockets == usize::from(self.wrapped), "{sockets} wrappers are there");
                Ok(())
            }
            Move::Type(text) => terminal.type_text(text).await,
            Move::Paste(text) => terminal.paste(text).await,
            Move::Keys(keys) => terminal.keys(keys).await,
            Move::Resize(columns, lines) => terminal.resize(*columns, *lines).await,
            Move::Shell(line) => {
                terminal.type_text(line).await?;
                terminal.keys(&["Enter"]).await
            }
            Move::Shows(pattern) => terminal.wait_for(pattern, true, ARRIVED).await.map(drop),
            Move::Gone(pattern) => terminal.wait_for(pattern, false, ARRIVED).await.map(drop),
        }
    }

    /// What the pane looks like now, and how often the model was asked.
    pub(super) async fn look(&self) -> Result<(String, usize)> {
        // What goes by itself, such as a title that blinks, does not keep it from being still.
        let look = self.rules.applied(&picture::look(&self.terminal).await?, &mut BTreeSet::new());
        Ok((look, self.place.model().asked().len()))
    }

    /// All there is to compare.
    pub(super) async fn picture(&self, needed: &mut BTreeSet<&'static str>) -> Result<String> {
        let look = self.rules.applied(&picture::look(&self.terminal).await?, needed);
        Ok(format!("{}{look}", asked_for(&self.written()?)))
    }

    /// Everything that was written to it.
    pub(super) fn written(&self) -> Result<Vec<u8>> {
        fs::read(&self.recording).context("nothing was recorded")
    }

    /// Ends everything in it.
    pub(super) async fn leave(mut self) -> Result<()> {
        self.terminal.end().await?;
        self.standing = false;
        self.place.wait_until_empty().await;
        Ok(())
    }
}

impl Drop for Seat {
    /// For what is broken off. There is nobody to tell what does not work here.
    fn drop(&mut self) {
        if self.standing {
            let mut tmux = Command::new("tmux");
            tmux.arg("-S").arg(&self.terminal.socket).arg("kill-server");
            tmux.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        }
    }
}
