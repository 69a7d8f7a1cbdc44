//! A recorded state of a real agent, read from its directory.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agtmux_agents::screen::{Cursor, Foreground, ScreenContext};
use agtmux_agents::{Found, Process, Registry, identify};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::AccuracyError;

/// One state of one agent, with every trace that was kept of it.
#[derive(Clone, Debug)]
pub struct Recording {
    pub agent: String,
    /// The circumstances it was made in, such as `narrow`.
    pub variant: String,
    /// The version of the agent; `?` if the recording does not say it.
    pub version: String,
    pub case: String,
    pub truth: Truth,
    /// The screen as `capture-pane -e -p` gave it.
    pub screen: Vec<u8>,
    /// The pane's stream of the step that led here.
    pub stream: Vec<u8>,
    pub hooks: Vec<Hook>,
    pub pane: Pane,
    /// The agent's session file, where it has one.
    pub session_file: Option<Value>,
}

/// What is right.
#[derive(Clone, Debug, Deserialize)]
pub struct Truth {
    /// Every state that is right. Empty: no agent is there.
    pub states: Vec<String>,
    /// What text and Enter would do.
    pub enter: String,
}

/// A hook that ran.
#[derive(Clone, Debug)]
pub struct Hook {
    /// Seconds since the epoch.
    pub at: f64,
    pub event: Option<String>,
    pub payload: Value,
    /// Whether the payload came as an argument, as notify commands get it.
    pub as_argument: bool,
}

/// What tmux and the process table said of the pane at the moment of the capture.
#[derive(Clone, Debug)]
pub struct Pane {
    pub title: String,
    pub command: String,
    pub size: (usize, usize),
    pub cursor: Cursor,
    pub dead: bool,
    /// The pane's own process, the root of the tree.
    pub pid: u32,
    pub processes: Vec<Process>,
}

/// The variant of recordings that name none.
pub(super) const PLAIN: &str = "default";

impl Recording {
    /// Reads the recording in a directory `AGENT/CASE`.
    ///
    /// # Errors
    /// Fails if something of it is missing or not what it should be.
    pub fn read(folder: &Path) -> Result<Self, AccuracyError> {
        let name =
            |path: Option<&Path>| path.and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
        let whole = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        read(PLAIN, &name(whole.parent()), name(Some(&whole)), folder)
    }

    /// The agent that the processes of the pane show.
    pub fn agent_found(&self, registry: &Registry) -> Option<Found> {
        identify(registry, &self.pane.processes, self.pane.pid).agent().filter(|_| !self.pane.dead)
    }

    /// What was known about the pane besides what it showed.
    pub fn screen_context(&self, registry: &Registry) -> ScreenContext {
        let found = self.agent_found(registry);
        let in_foreground = found.is_some_and(|found| found.foreground && !matches!(found.state, 'T' | 't'));
        ScreenContext {
            size: Some(self.pane.size),
            cursor: Some(self.pane.cursor),
            title: Some(self.pane.title.clone()),
            dead: self.pane.dead,
            foreground: Foreground::of(Some(in_foreground), Some(&self.pane.command)),
        }
    }
}

/// All recordings below a directory, of one agent if one is named, in order. They are kept as `AGENT/CASE`, or as
/// `VARIANT/AGENT/CASE`.
pub(super) fn read_all(directory: &Path, agent: Option<&str>) -> Result<Vec<Recording>, AccuracyError> {
    let mut recordings = Vec::new();
    let versions = versions(directory)?;
    let is_wanted = |name: &str| agent.is_none_or(|agent| agent == name);
    for (outer, outer_folder) in folders(directory)? {
        for (inner, inner_folder) in folders(&outer_folder)? {
            if is_recording(&inner_folder) {
                if is_wanted(&outer) {
                    recordings.push(read(PLAIN, &outer, inner, &inner_folder)?);
                }
                continue;
            }
            for (case, folder) in folders(&inner_folder)? {
                if is_wanted(&inner) && is_recording(&folder) {
                    recordings.push(read(&outer, &inner, case, &folder)?);
                }
            }
        }
    }
    if recordings.is_empty() {
        return Err(AccuracyError::NoRecordings { path: directory.to_owned() });
    }
    for recording in recordings.iter_mut().filter(|recording| recording.version == "?") {
        if let Some(version) = versions.get(&recording.agent) {
            recording.version.clone_from(version);
        }
    }
    Ok(recordings)
}

/// The versions of the agents whose recordings do not say it, from `versions.json` beside them.
fn versions(directory: &Path) -> Result<BTreeMap<String, String>, AccuracyError> {
    let path = directory.join("versions.json");
    if path.exists() { json(&path) } else { Ok(BTreeMap::new()) }
}

fn is_recording(folder: &Path) -> bool {
    folder.join("truth.json").is_file()
}

fn read(variant: &str, agent: &str, case: String, folder: &Path) -> Result<Recording, AccuracyError> {
    let meta_path = folder.join("meta.json");
    let meta: Value = json(&meta_path)?;
    let malformed = |what: &str| AccuracyError::Malformed { path: meta_path.clone(), what: what.to_owned() };
    Ok(Recording {
        agent: agent.to_owned(),
        variant: variant.to_owned(),
        version: meta.get("version").and_then(Value::as_str).unwrap_or("?").to_owned(),
        case,
        truth: json(&folder.join("truth.json"))?,
        screen: bytes(&folder.join("screen.ansi"))?,
        stream: optional(&folder.join("raw.bin"))?,
        hooks: hooks(&folder.join("hooks.jsonl"))?,
        pane: pane(&meta).ok_or_else(|| malformed("lacks the formats or the processes of the pane"))?,
        session_file: meta.get("sessions_file").filter(|file| file.is_object()).cloned(),
    })
}

fn pane(meta: &Value) -> Option<Pane> {
    let formats = meta.get("tmux").unwrap_or(meta);
    let text = |key: &str| formats.get(key).and_then(Value::as_str);
    let number = |key: &str| text(key)?.parse::<usize>().ok();
    let processes = processes(meta)?;
    let is_root = |process: &&Process| processes.iter().all(|other| other.pid != process.ppid);
    let root = processes.iter().find(is_root).map_or(0, |process| process.pid);
    Some(Pane {
        title: text("pane_title")?.to_owned(),
        command: text("pane_current_command")?.to_owned(),
        size: (number("pane_width")?, number("pane_height")?),
        cursor: Cursor { column: number("cursor_x")?, row: number("cursor_y")?, visible: text("cursor_flag")? == "1" },
        dead: text("pane_dead")? == "1",
        pid: text("pane_pid").and_then(|pid| pid.parse().ok()).unwrap_or(root),
        processes,
    })
}

/// The processes of the pane: a list of objects, or the lines of `ps`.
fn processes(meta: &Value) -> Option<Vec<Process>> {
    if let Some(tree) = meta.get("process_tree").and_then(Value::as_array) {
        return tree.iter().map(process_of_object).collect();
    }
    let lines = meta.get("ps_tty")?.as_array()?;
    Some(lines.iter().filter_map(|line| process_of_line(line.as_str()?)).collect())
}

fn process_of_object(object: &Value) -> Option<Process> {
    let number = |key: &str| object.get(key).and_then(Value::as_i64);
    let pid = u32::try_from(number("pid")?).ok()?;
    let tpgid = i32::try_from(number("tpgid")?).ok()?;
    let command = object.get("cmd")?.as_str()?;
    let state = object.get("state").and_then(Value::as_str).and_then(|state| state.chars().next());
    Some(Process {
        pid,
        ppid: u32::try_from(number("ppid")?).ok()?,
        pgid: u32::try_from(number("pgrp")?).ok()?,
        tpgid,
        tty: (tpgid >= 0).then(|| "tty".to_owned()),
        start: u64::from(pid),
        state: state.unwrap_or('S'),
        comm: object.get("comm")?.as_str()?.to_owned(),
        argv: command.split_whitespace().map(str::to_owned).collect(),
    })
}

/// A line of `ps -o pid,ppid,pgid,tpgid,stat,rss,command`; none for its heading.
fn process_of_line(line: &str) -> Option<Process> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [pid, ppid, pgid, tpgid, state, _rss, argv @ ..] = words.as_slice() else {
        return None;
    };
    let pid = pid.parse().ok()?;
    // `ps --forest` draws the tree in front of the command.
    let drawn = argv.iter().take_while(|word| matches!(**word, "\\_" | "|")).count();
    let argv = &argv[drawn..];
    let program = argv.first()?.trim_start_matches('-');
    Some(Process {
        pid,
        ppid: ppid.parse().ok()?,
        pgid: pgid.parse().ok()?,
        tpgid: tpgid.parse().ok()?,
        tty: Some("tty".to_owned()),
        start: u64::from(pid),
        state: state.chars().next()?,
        comm: program.rsplit('/').next().unwrap_or(program).to_owned(),
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
    })
}

fn hooks(path: &Path) -> Result<Vec<Hook>, AccuracyError> {
    let text = String::from_utf8_lossy(&optional(path)?).into_owned();
    let mut hooks = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let entry: Value =
            serde_json::from_str(line).map_err(|error| AccuracyError::NotJson { path: path.to_owned(), error })?;
        let argument = entry.get("argv").and_then(Value::as_array).and_then(|argv| argv.last()?.as_str());
        let from_argument = argument.and_then(|argument| serde_json::from_str(argument).ok());
        let payload = entry.get("payload").filter(|payload| payload.is_object()).cloned();
        let as_argument = payload.is_none();
        let Some(payload) = payload.or(from_argument) else {
            continue;
        };
        hooks.push(Hook {
            at: entry.get("t").and_then(Value::as_f64).unwrap_or_default(),
            event: entry.get("hook").and_then(Value::as_str).map(str::to_owned),
            payload,
            as_argument,
        });
    }
    hooks.sort_by(|a, b| a.at.total_cmp(&b.at));
    Ok(hooks)
}

fn folders(directory: &Path) -> Result<Vec<(String, PathBuf)>, AccuracyError> {
    let unreadable = |error| AccuracyError::Unreadable { path: directory.to_owned(), error };
    let mut folders = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.path().is_dir() {
            folders.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
        }
    }
    folders.sort();
    Ok(folders)
}

fn json<T: DeserializeOwned>(path: &Path) -> Result<T, AccuracyError> {
    serde_json::from_slice(&bytes(path)?).map_err(|error| AccuracyError::NotJson { path: path.to_owned(), error })
}

fn bytes(path: &Path) -> Result<Vec<u8>, AccuracyError> {
    fs::read(path).map_err(|error| AccuracyError::Unreadable { path: path.to_owned(), error })
}

/// A trace that a step may not have left.
fn optional(path: &Path) -> Result<Vec<u8>, AccuracyError> {
    if path.exists() { bytes(path) } else { Ok(Vec::new()) }
}
