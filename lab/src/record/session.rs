//! A run of an agent that is recorded.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::process::Command;

use super::Job;
use super::capture::{Moment, Picture, Process};
use super::evidence::Evidence;
use super::scrub::Scrub;
use super::takes::{Step, Take};
use super::variant::Launch;
use crate::agent::Agent;
use crate::install::Release;
use crate::model::Turn;
use crate::place::Place;
use crate::terminal::Terminal;

/// How long an agent may take to start, and to do anything else.
const START: Duration = Duration::from_secs(60);
const ARRIVED: Duration = Duration::from_secs(60);

/// How long what may be missing in this version is waited for.
const TRIED: Duration = Duration::from_secs(6);

/// How long a screen is watched for coming to rest, and how long it has to stand still.
const SETTLES: Duration = Duration::from_millis(1_500);
const STILL: Duration = Duration::from_millis(450);

/// After how long Enter is pressed once more, of an agent that may have dropped it.
const DROPPED: Duration = Duration::from_secs(8);

/// Between two presses of a key that an agent wants twice.
const TWICE: Duration = Duration::from_millis(250);

/// How long an agent may take to say that its turn is over, after the model's answer has ended.
const SAID: Duration = Duration::from_secs(6);

/// What agents call the end of a turn.
const ENDS: [&str; 4] = ["Stop", "AfterAgent", "session.idle", "agentStop"];

/// How long evidence may lag behind the screen.
const LAG: Duration = Duration::from_secs(4);

/// What the hooks run: it keeps one line for each, in the order in which they ran.
const LOGGER: &str = r#"#!/bin/bash
# hook AGENT EVENT [PAYLOAD] < payload
t=$EPOCHREALTIME
IFS= read -r -d '' -t 2 body
{ flock 9; printf '%s\t%s\t%s\t%s\n' "$t" "$3" "${4//$'\n'/ }" "${body//$'\n'/ }" >> "LOG"; } 9>> "LOG.lock"
exit 0
"#;

/// What became of a take.
#[derive(Debug)]
pub(super) enum Taken {
    Kept(String),
    Dropped(String),
}

/// The agent in its pane.
#[derive(Debug)]
pub(super) struct Running<'a> {
    job: &'a Job,
    terminal: Terminal,
    place: Place,
    scrub: Scrub,
    /// Bytes of the stream, and hooks, that belong to earlier takes.
    streamed: usize,
    hooked: usize,
    /// How often the model had been asked when something was last done.
    asked: usize,
    /// Hooks that had run at the last prompt, if none of its turn was taken as over yet.
    prompted: Option<usize>,
    /// Whether something that may be missing is missing, so that what follows is left out.
    missing: bool,
    standing: bool,
}

impl<'a> Running<'a> {
    pub(super) async fn begin(job: &'a Job) -> Result<Self> {
        let (agent, variant) = (job.session.agent, job.variant);
        let mut place = Place::make(&[agent], &job.packages).await?;
        for (name, value) in variant.variables {
            place.variables.retain(|(known, _)| known != name);
            place.variables.push(((*name).to_owned(), (*value).to_owned()));
        }
        let bin = place.path("bin");
        for (_, value) in place.variables.iter_mut().filter(|(name, _)| name == "PATH") {
            *value = format!("{value}:{}", bin.display());
        }
        variant.settle(agent, &place.path("home"))?;
        hooks(job, &place).await?;
        let terminal =
            Terminal::start(place.path("t"), &place.workspace, variant.size, place.variables.clone()).await?;
        terminal.set("focus-events", "on").await?;
        for (option, value) in variant.options {
            terminal.set_window(option, value).await?;
        }
        if let Some(title) = variant.title {
            terminal.entitle(title).await?;
        }
        terminal.record(&place.path("written")).await?;
        let scrub = Scrub::new(place.root(), &job.packages.bin(), job.agtmux_folder());
        Ok(Self {
            job,
            terminal,
            place,
            scrub,
            streamed: 0,
            hooked: 0,
            asked: 0,
            prompted: None,
            missing: false,
            standing: true,
        })
    }

    pub(super) async fn make(&mut self, step: &Step) -> Result<Option<Taken>> {
        if let Step::Take(take) = step {
            return if self.missing { Ok(None) } else { self.take(take).await.map(Some) };
        }
        if self.missing {
            return Ok(None);
        }
        if matches!(step, Step::Prompt(_) | Step::Keys(_) | Step::Shell(_)) {
            self.asked = self.place.model().asked().len();
        }
        if matches!(step, Step::Prompt(_)) {
            self.prompted = Some(self.hooks().len());
        }
        let (agent, variant, terminal) = (self.job.session.agent, self.job.variant, &self.terminal);
        match step {
            Step::Start => {
                self.launch().await?;
                let whole = variant.release == Release::Current && variant.size.0 >= 80 && variant.settings.is_empty();
                let ready = Regex::new(if whole { agent.ready() } else { loosely_ready(agent) })?;
                self.terminal.wait_for(&ready, true, START).await?;
                self.rest().await?;
                if let (Some(title), true) = (variant.title, variant.name == "title") {
                    self.terminal.entitle(title).await?;
                }
                self.terminal.wait_until_keys_count(ARRIVED).await?;
                // The wrapper steps aside when anything is in its way; then there would be nothing to record.
                let wrappers = fs::read_dir(self.place.path("run/agtmux/shim")).map_or(0, Iterator::count);
                ensure!(wrappers == usize::from(variant.launch == Launch::Wrapped), "{wrappers} wrappers are there");
            }
            Step::Launch => self.launch().await?,
            Step::Prompt(text) => {
                terminal.paste(&variant.worded(text)).await?;
                tokio::time::sleep(agent.rest()).await;
                terminal.keys(&["Enter"]).await?;
            }
            Step::Paste(text) => terminal.paste(&variant.worded(text)).await?,
            Step::Type(text) => terminal.type_text(&variant.worded(text)).await?,
            Step::Keys(keys) => terminal.keys(&keys.iter().map(String::as_str).collect::<Vec<_>>()).await?,
            Step::Shell(line) => {
                terminal.type_text(line).await?;
                terminal.keys(&["Enter"]).await?;
            }
            Step::Erase(count) => terminal.keys(&vec!["BSpace"; *count]).await?,
            Step::Turn { wanted, fresh } => self.wait_for_turn(*wanted, *fresh).await?,
            Step::Insist { key, wanted } => {
                let started = Instant::now();
                while self.place.model().turn() != Some(*wanted) {
                    ensure!(started.elapsed() < ARRIVED, "{key} has no effect");
                    terminal.keys(&[key]).await?;
                    tokio::time::sleep(TWICE).await;
                }
            }
            Step::Shows { pattern, optional: false } => {
                terminal.wait_for(&variant.pattern(pattern)?, true, ARRIVED).await?;
            }
            Step::Shows { pattern, optional: true } => {
                self.missing = terminal.wait_for(&variant.pattern(pattern)?, true, TRIED).await.is_err();
            }
            Step::Gone(pattern) => {
                terminal.wait_for(&variant.pattern(pattern)?, false, ARRIVED).await?;
            }
            Step::File(name) => {
                let file = self.place.workspace.join(name);
                until(|| file.exists()).await.with_context(|| format!("no tool made {name}"))?;
            }
            Step::Process(text) => {
                let root = Picture::of(terminal).await?.format("pane_pid").parse()?;
                let runs = |process: &Process| process.command.contains(text) && !process.is(agent);
                until(|| Process::below(root).iter().any(runs))
                    .await
                    .with_context(|| format!("no process is {text}"))?;
            }
            Step::Pause(time) => tokio::time::sleep(*time).await,
            Step::Stop => self.kill().await?,
            Step::Take(_) => {}
        }
        Ok(None)
    }

    pub(super) async fn screen(&self) -> String {
        self.terminal.screen().await.map_or_else(|error| error.to_string(), |screen| self.scrub.text(&screen))
    }

    pub(super) async fn end(mut self) -> Result<()> {
        self.terminal.end().await?;
        self.standing = false;
        self.place.wait_until_empty().await;
        Ok(())
    }

    async fn launch(&self) -> Result<()> {
        let agent = self.job.session.agent;
        // What keeps an agent from sharing a daemon is unknown to older releases, which share none.
        let command = if self.job.variant.release == Release::Current { agent.command() } else { agent.name() };
        let line = match self.job.variant.launch {
            Launch::Bare => command.to_owned(),
            Launch::Script => format!("script -qec '{command}' /dev/null"),
            Launch::Wrapped => format!("agtmux wrap -- {command}"),
        };
        self.terminal.type_text(&format!("clear; {line}")).await?;
        self.terminal.keys(&["Enter"]).await
    }

    /// Waits for an answer of the model, and of an older one not if a fresh one is wanted.
    async fn wait_for_turn(&self, wanted: Turn, fresh: bool) -> Result<()> {
        let (started, mut again) = (Instant::now(), fresh);
        loop {
            let (turn, asked) = (self.place.model().turn(), self.place.model().asked().len());
            if again && asked == self.asked && started.elapsed() > DROPPED {
                again = false;
                self.terminal.keys(&["Enter"]).await?;
            }
            if turn == Some(wanted) && (!fresh || asked > self.asked) {
                return Ok(());
            }
            ensure!(started.elapsed() < ARRIVED, "the model's answer is {turn:?}, not {wanted:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the screen stands still, but not for what never does.
    async fn rest(&self) -> Result<Picture> {
        let (started, mut since) = (Instant::now(), Instant::now());
        let mut last = Picture::of(&self.terminal).await?;
        while started.elapsed() < SETTLES && since.elapsed() < STILL {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let next = Picture::of(&self.terminal).await?;
            if !next.resembles(&last) {
                since = Instant::now();
            }
            last = next;
        }
        Ok(last)
    }

    async fn take(&mut self, take: &Take) -> Result<Taken> {
        let mut take = take.clone();
        for value in take.more.values_mut() {
            if let Value::String(text) = value {
                *text = self.job.variant.worded(text);
            }
        }
        if take.states.iter().any(|state| state == "completed") {
            self.wait_until_over().await;
        }
        let started = Instant::now();
        let taken = loop {
            let mut picture = self.rest().await?;
            let before = self.evidence(&picture);
            if let Some(why) = before.against(self.job.session.agent, &take) {
                if started.elapsed() < LAG {
                    continue;
                }
                let case = &take.case;
                break Taken::Dropped(format!("{case}: {why}\n{}", self.screen().await.trim_end()));
            }
            picture = Picture::of(&self.terminal).await?;
            let after = self.evidence(&picture);
            if after.turn != before.turn || after.against(self.job.session.agent, &take).is_some() {
                continue;
            }
            self.keep(&take, &picture, &after)?;
            break Taken::Kept(take.case.clone());
        };
        self.streamed = self.stream().len();
        self.hooked = self.hooks().len();
        Ok(taken)
    }

    /// Waits until the agent itself has said that the turn of the last prompt is over: the model's last word comes before the
    /// agent has drawn it. Not every release of every agent says so.
    async fn wait_until_over(&mut self) {
        let Some(before) = self.prompted.take() else {
            return;
        };
        let is_end = |hook: &Value| hook["hook"].as_str().is_some_and(|name| ENDS.contains(&name));
        let started = Instant::now();
        while started.elapsed() < SAID && !self.hooks().iter().skip(before).any(is_end) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        // It is said a moment before the last of it is drawn.
        tokio::time::sleep(STILL).await;
    }

    fn evidence(&self, picture: &Picture) -> Evidence {
        let root = picture.format("pane_pid").parse().unwrap_or_default();
        let processes = Process::below(root);
        let status = |process: &Process| -> Option<Value> {
            let file = self.place.path(&format!("home/.claude/sessions/{}.json", process.pid));
            serde_json::from_slice(&fs::read(file).ok()?).ok()
        };
        let status = processes.iter().find_map(status);
        Evidence { turn: self.place.model().turn(), processes, status }
    }

    fn keep(&self, take: &Take, picture: &Picture, evidence: &Evidence) -> Result<()> {
        let (stream, hooks) = (self.stream(), self.hooks());
        let moment = Moment {
            agent: self.job.session.agent,
            variant: self.job.variant.name,
            version: &self.job.variant.release.version(self.job.session.agent),
            take,
            picture,
            processes: &evidence.processes,
            status: evidence.status.as_ref(),
            stream: &stream[self.streamed.min(stream.len())..],
            hooks: &hooks[self.hooked.min(hooks.len())..],
        };
        moment.write(&self.job.folder(&take.case), &self.scrub)
    }

    fn stream(&self) -> Vec<u8> {
        fs::read(self.place.path("written")).unwrap_or_default()
    }

    fn hooks(&self) -> Vec<Value> {
        let text = fs::read(self.place.path("hooks.log")).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().filter_map(hook).collect()
    }

    async fn kill(&self) -> Result<()> {
        let picture = Picture::of(&self.terminal).await?;
        let root = picture.format("pane_pid").parse()?;
        let agent = self.job.session.agent;
        for process in Process::below(root).iter().filter(|process| process.is(agent)) {
            let pid = i32::try_from(process.pid).ok().and_then(Pid::from_raw).context("a process has a number")?;
            // A child may have gone with its parent.
            kill_process(pid, Signal::KILL).ok();
        }
        Ok(())
    }
}

impl Drop for Running<'_> {
    /// For what is broken off. There is nobody to tell what does not work here.
    fn drop(&mut self) {
        if self.standing {
            let mut tmux = std::process::Command::new("tmux");
            tmux.arg("-S").arg(&self.terminal.socket).arg("kill-server");
            tmux.stdout(Stdio::null()).stderr(Stdio::null()).status().ok();
        }
    }
}

/// Waits until something is so.
async fn until(mut is_so: impl FnMut() -> bool) -> Result<()> {
    let started = Instant::now();
    while !is_so() {
        ensure!(started.elapsed() < ARRIVED, "not within {ARRIVED:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Has `agtmux setup` put its hooks in place. What they run is not agtmux but a program that keeps what it is told.
async fn hooks(job: &Job, place: &Place) -> Result<()> {
    let bin = place.path("bin");
    fs::create_dir_all(&bin)?;
    // Links, since a program that was just written may still be open for writing in a child of another session.
    for name in ["agtmux", "agtmux-shim"] {
        let (program, link) = (job.agtmux.with_file_name(name), bin.join(name));
        fs::hard_link(&program, &link).or_else(|_| fs::copy(&program, &link).map(drop))?;
    }
    let log = place.path("hooks.log").display().to_string();
    let mut logger = fs::OpenOptions::new().create_new(true).write(true).mode(0o755).open(bin.join("agtmux-hook"))?;
    logger.write_all(LOGGER.replace("LOG", &log).as_bytes())?;
    drop(logger);
    let output = Command::new(bin.join("agtmux"))
        .args(["setup", job.session.agent.name(), "--yes"])
        .current_dir(&place.workspace)
        .env_clear()
        .envs(place.variables.iter().cloned())
        .stdin(Stdio::null())
        .output()
        .await?;
    ensure!(output.status.success(), anyhow!("agtmux setup: {}", String::from_utf8_lossy(&output.stderr).trim()));
    Ok(())
}

/// A line of the logger: time, event, payload as argument, payload from standard input.
fn hook(line: &str) -> Option<Value> {
    let mut parts = line.splitn(4, '\t');
    let (at, event, argument, body) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let payload: Value = serde_json::from_str(body).unwrap_or_default();
    let argv: Vec<Value> = serde_json::from_str(argument).into_iter().collect();
    Some(json!({ "t": at.replace(',', ".").parse::<f64>().ok()?, "hook": event, "payload": payload, "argv": argv }))
}

/// What the screen shows of an older release, or with parts hidden, once it is worth trying to type.
const fn loosely_ready(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => r"(?m)^❯\x{a0}|(?m)^> ",
        Agent::Codex => r"(?m)^› ",
        Agent::Gemini => "Type your message|for NORMAL mode",
        Agent::Opencode => "Ask anything",
        Agent::Copilot => r"(?m)^ ?[❯>›](?: |$)|/ commands|Enter @ to mention",
    }
}
