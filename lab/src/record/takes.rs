//! The takes: what is done to an agent, and what is true of it then.
//!
//! ```text
//! session errors in default narrow   a new agent, for these variants; `except vim` for all others; else for all
//! start                              run it, and wait until it takes keys
//! launch                             run it, and do not wait
//! prompt TEXT                        paste, wait a moment, Enter
//! paste TEXT | type TEXT | key KEY…  the same without Enter
//! shell LINE                         a line for the shell
//! erase N                            so many backspaces
//! turn answering|ended|used|hungup|failed|cut    wait until the model's answer is there
//! again TURN                         the same, of an answer that has not begun yet
//! insist KEY TURN                    press the key until the model's answer is so: some agents want it twice in a short time
//! screen REGEX | gone REGEX          wait until the screen shows that, or no longer
//! try REGEX                          the same; what follows is left out where it does not come
//! file NAME                          wait until a tool made this file
//! process TEXT                       wait until a process below the agent has that in its command line
//! pause MILLISECONDS
//! stop                               SIGKILL to the agent
//! take CASE STATES ENTER [JSON]      what is true now: states `a|b` or `-` for no agent
//! ```
//!
//! `{draft}` and `{lead}` are words of the variant.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use regex::Regex;
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::model::Turn;

const FILES: [(Agent, &str); 5] = [
    (Agent::Claude, include_str!("../../takes/claude.takes")),
    (Agent::Codex, include_str!("../../takes/codex.takes")),
    (Agent::Gemini, include_str!("../../takes/gemini.takes")),
    (Agent::Opencode, include_str!("../../takes/opencode.takes")),
    (Agent::Copilot, include_str!("../../takes/copilot.takes")),
];

/// What is done to one run of an agent.
#[derive(Clone, Debug)]
pub struct Session {
    /// The agent.
    pub agent: Agent,
    /// Its name among those of the agent.
    pub name: String,
    /// The variants it is recorded in, or those it is not recorded in.
    variants: Vec<String>,
    excepted: bool,
    /// The steps, each with its line.
    pub(super) steps: Vec<(usize, Step)>,
}

impl Session {
    /// Whether it is recorded in a variant.
    pub fn is_in(&self, variant: &str) -> bool {
        self.variants.iter().any(|name| name == variant) != self.excepted
    }

    /// The names of its takes.
    pub fn cases(&self) -> impl Iterator<Item = &str> {
        self.steps
            .iter()
            .filter_map(|(_, step)| if let Step::Take(take) = step { Some(take.case.as_str()) } else { None })
    }
}

/// A step of a session.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Start,
    Launch,
    Prompt(String),
    Paste(String),
    Type(String),
    Keys(Vec<String>),
    Shell(String),
    Erase(usize),
    Turn { wanted: Turn, fresh: bool },
    Insist { key: String, wanted: Turn },
    Shows { pattern: String, optional: bool },
    Gone(String),
    File(String),
    Process(String),
    Pause(Duration),
    Stop,
    Take(Take),
}

/// What is true at a moment.
#[derive(Clone, Debug)]
pub(super) struct Take {
    /// The name of the recording.
    pub(super) case: String,
    /// The states that are right; none where no agent is there.
    pub(super) states: Vec<String>,
    /// What text and Enter would do.
    pub(super) enter: String,
    /// `draft`, `ghost` and `queued`, where they are not empty.
    pub(super) more: Map<String, Value>,
}

/// All sessions of all agents.
///
/// # Errors
/// Fails on a line that means nothing.
pub fn all() -> Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for (agent, text) in FILES {
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_end();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = number + 1;
            read(agent, number, line, &mut sessions).with_context(|| format!("{agent}.takes:{number}: {line}"))?;
        }
    }
    Ok(sessions)
}

fn read(agent: Agent, number: usize, line: &str, sessions: &mut Vec<Session>) -> Result<()> {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    if verb == "session" {
        let (name, excepted, variants) = match (rest.split_once(" in "), rest.split_once(" except ")) {
            (Some((name, variants)), _) => (name, false, variants),
            (None, Some((name, variants))) => (name, true, variants),
            (None, None) => (rest, true, ""),
        };
        sessions.push(Session {
            agent,
            name: name.to_owned(),
            variants: variants.split_whitespace().map(str::to_owned).collect(),
            excepted,
            steps: Vec::new(),
        });
        return Ok(());
    }
    let session = sessions.last_mut().filter(|session| session.agent == agent).context("no session begins before")?;
    session.steps.push((number, step(verb, rest)?));
    Ok(())
}

fn step(verb: &str, rest: &str) -> Result<Step> {
    let text = || rest.to_owned();
    Ok(match verb {
        "start" => Step::Start,
        "launch" => Step::Launch,
        "stop" => Step::Stop,
        "prompt" => Step::Prompt(text()),
        "paste" => Step::Paste(rest.replace("\\n", "\n")),
        "type" => Step::Type(text()),
        "key" => Step::Keys(rest.split_whitespace().map(str::to_owned).collect()),
        "shell" => Step::Shell(text()),
        "erase" => Step::Erase(rest.parse()?),
        "turn" => Step::Turn { wanted: turn(rest)?, fresh: false },
        "again" => Step::Turn { wanted: turn(rest)?, fresh: true },
        "insist" => {
            let (key, wanted) = rest.split_once(' ').context("a key and the state of the answer")?;
            Step::Insist { key: key.to_owned(), wanted: turn(wanted)? }
        }
        "screen" => Step::Shows { pattern: pattern(rest)?, optional: false },
        "try" => Step::Shows { pattern: pattern(rest)?, optional: true },
        "gone" => Step::Gone(pattern(rest)?),
        "process" => Step::Process(text()),
        "file" => Step::File(text()),
        "pause" => Step::Pause(Duration::from_millis(rest.parse()?)),
        "take" => Step::Take(take(rest)?),
        _ => bail!("there is no step {verb}"),
    })
}

/// A pattern, which may have words of the variant in it.
fn pattern(text: &str) -> Result<String> {
    Regex::new(&text.replace("{draft}", "draft").replace("{lead}", "lead"))?;
    Ok(text.to_owned())
}

fn turn(name: &str) -> Result<Turn> {
    Ok(match name {
        "answering" => Turn::Answering,
        "ended" => Turn::Ended,
        "used" => Turn::Used,
        "hungup" => Turn::HungUp,
        "failed" => Turn::Failed,
        "cut" => Turn::Cut,
        _ => bail!("no answer is {name}"),
    })
}

fn take(rest: &str) -> Result<Take> {
    let mut parts = rest.splitn(4, ' ');
    let mut next = || parts.next().context("a take has a case, states and what Enter does");
    let (case, states, enter) = (next()?, next()?, next()?);
    let more = parts.next().map_or(Ok(Map::new()), serde_json::from_str)?;
    const STATES: [&str; 7] = ["idle", "running", "waiting_approval", "waiting_input", "completed", "error", "unknown"];
    let states: Vec<_> = states.split('|').filter(|state| *state != "-").map(str::to_owned).collect();
    ensure!(states.iter().all(|state| STATES.contains(&state.as_str())), "no such state");
    const ENTERS: [&str; 8] =
        ["submit", "queue", "steer", "append_to_draft", "answer_dialog", "run_command", "reach_shell", "nothing"];
    ensure!(ENTERS.contains(&enter), "Enter does not {enter}");
    Ok(Take { case: case.to_owned(), states, enter: enter.to_owned(), more })
}
