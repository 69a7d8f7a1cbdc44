//! The tmux server dies, and another takes its place, with the same ids. What was meant for an agent of the first must not reach
//! a pane of the second, and nobody may be shown who is gone.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::journal::{Entry, Reader};
use crate::stage::{Stage, Tmux};

/// How long agtmux may take to see agents.
const SEEN: Duration = Duration::from_secs(30);

/// How long agents may be shown after their server has died.
const PROMISED: Duration = Duration::from_secs(5);

/// How long it may show agents whose server is dead before the run fails. What is promised is less, and in the report.
const GONE: Duration = Duration::from_secs(30);

/// The exit code for a command line that is not understood.
const USAGE: i32 = 2;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Deaths {
    /// How long each set of agents was shown after its server had died.
    pub shown: Vec<Duration>,
    /// Actions on agents that are gone, all of which were refused.
    pub refused: usize,
}

impl Deaths {
    /// In a sentence.
    #[must_use]
    pub fn told(&self) -> String {
        let mut shown = self.shown.clone();
        shown.sort_unstable();
        let milliseconds = |place: usize| shown.get(place).map_or(0, Duration::as_millis);
        format!(
            "{} tmux servers killed: their agents were gone after {} ms (median), {} ms (longest); {} actions on them, all \
             refused, and nothing reached the pane that took the id of the first",
            shown.len(),
            milliseconds(shown.len() / 2),
            milliseconds(shown.len().saturating_sub(1)),
            self.refused
        )
    }

    /// Whether nobody was shown for longer than is promised.
    #[must_use]
    pub fn is_in_time(&self) -> bool {
        self.shown.iter().all(|shown| *shown <= PROMISED)
    }
}

/// Kills so many servers, each with so many agents. Fails on the first thing that should not be.
pub fn die(times: usize, panes: usize, agtmux: &Path) -> Result<Deaths> {
    let stage = Stage::set()?;
    let tmux = stage.tmux();
    let house = House { tmux: &tmux, agtmux };
    let mut deaths = Deaths::default();
    for round in 0..times {
        let outcome = house.round(&stage, round, panes, &mut deaths).with_context(|| format!("death {round}"));
        if outcome.is_err() || round + 1 == times {
            house.agtmux(&["daemon", "stop"]).ok();
        }
        outcome?;
    }
    Ok(deaths)
}

struct House<'a> {
    tmux: &'a Tmux,
    agtmux: &'a Path,
}

impl House<'_> {
    fn round(&self, stage: &Stage, round: usize, panes: usize, deaths: &mut Deaths) -> Result<()> {
        for number in 0..panes {
            // Every other agent is wrapped.
            let wrapper: &[&OsStr] = &[self.agtmux.as_os_str(), OsStr::new("wrap"), OsStr::new("--")];
            let wrapper = if number % 2 == 0 { wrapper } else { &[] };
            self.agent(stage, &format!("a{number}"), wrapper, &stage.path(&format!("journal.{round}.{number}")))?;
        }
        self.agtmux(&["daemon", "start"])?;
        let agents = self.await_agents(panes)?;
        self.kill_server()?;
        let died = Instant::now();
        // The pane that takes the place of the first, with its id.
        let journal = stage.path(&format!("journal.{round}.heir"));
        let pane = self.agent(stage, "heir", &[], &journal)?;
        ensure!(pane == "%0", "the new server begins with {pane}");
        for runtime in &agents {
            let reference = format!("runtime:{runtime}");
            self.refuses(&["send", &reference, "--text", "not for you"])?;
            self.refuses(&["kill", "--yes", &reference])?;
            deaths.refused += 2;
        }
        while self.agents()?.intersection(&agents).next().is_some() {
            ensure!(died.elapsed() < GONE, "after {GONE:?} agents are shown whose server is dead");
            sleep(Duration::from_millis(20));
        }
        deaths.shown.push(died.elapsed());
        self.await_agents(1)?;
        let screen = self.tmux.run(&["capture-pane", "-p", "-t", "%0"])?;
        ensure!(screen.lines().any(|line| line.trim_end() == ">"), "somebody typed into the new %0:\n{screen}");
        match Reader::of(journal).entries()? {
            [Entry::Started(_)] => {}
            other => bail!("something reached the new %0: {other:?}"),
        }
        self.kill_server()
    }

    /// Kills the tmux server and waits until it is dead: whoever comes earlier finds it dying.
    fn kill_server(&self) -> Result<()> {
        let server = self.tmux.run(&["display-message", "-p", "#{pid}"])?;
        let server = Pid::from_raw(server.trim().parse()?).context("no server")?;
        kill_process(server, Signal::KILL)?;
        while test_kill_process(server).is_ok() {
            sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// An action on an agent that is gone is refused. A command line that is not understood is no refusal.
    fn refuses(&self, action: &[&str]) -> Result<()> {
        let output = self.command(action).output().context("agtmux cannot be run")?;
        let told = String::from_utf8_lossy(&output.stderr);
        let refused = output.status.code().is_some_and(|code| code != 0 && code != USAGE);
        ensure!(refused, "{action:?}, whose server is dead: {} {told}", output.status);
        Ok(())
    }

    /// Starts an agent in a session of its own and waits until it reads.
    fn agent(&self, stage: &Stage, session: &str, wrapper: &[&OsStr], journal: &Path) -> Result<String> {
        let mut program: Vec<OsString> = wrapper.iter().map(|word| (*word).to_owned()).collect();
        program.extend([stage.agent()?.into(), "tui".into(), "--journal".into(), PathBuf::from(journal).into()]);
        let program: Vec<_> = program.iter().map(OsString::as_os_str).collect();
        let pane = self.tmux.session(session, &program)?;
        let mut reader = Reader::of(journal.to_owned());
        let since = Instant::now();
        while reader.entries()?.is_empty() {
            ensure!(since.elapsed() < SEEN, "the agent in {session} did not start");
            sleep(Duration::from_millis(10));
        }
        Ok(pane)
    }

    fn await_agents(&self, count: usize) -> Result<BTreeSet<String>> {
        let since = Instant::now();
        loop {
            let agents = self.agents()?;
            if agents.len() == count {
                return Ok(agents);
            }
            ensure!(since.elapsed() < SEEN, "agtmux sees {agents:?}, not {count} agents");
            sleep(Duration::from_millis(20));
        }
    }

    /// The runtimes that agtmux shows.
    fn agents(&self) -> Result<BTreeSet<String>> {
        let list: Value = serde_json::from_str(&self.agtmux(&["list", "panes", "--json"])?)?;
        let items = list["items"].as_array().context("no items")?;
        Ok(items.iter().filter_map(|item| item["runtime_id"].as_str().map(str::to_owned)).collect())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.agtmux);
        self.tmux.isolate(&mut command);
        command.args(arguments);
        command
    }

    fn agtmux(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).output().context("agtmux cannot be run")?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "agtmux {}: {}", arguments.join(" "), error.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
