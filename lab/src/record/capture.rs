//! A moment of a pane, written as a recording.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::scrub::Scrub;
use super::takes::Take;
use crate::agent::Agent;
use crate::terminal::Terminal;

/// What tmux is asked of a pane.
const FORMATS: [&str; 17] = [
    "pane_title",
    "pane_current_command",
    "pane_current_path",
    "pane_pid",
    "pane_dead",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "mouse_any_flag",
    "keypad_flag",
    "window_bell_flag",
    "window_name",
    "history_size",
    "pane_in_mode",
];

/// What is kept of Claude's status file. The rest tells more of the machine than of the agent.
const STATUS_FILE: [&str; 10] =
    ["pid", "procStart", "sessionId", "cwd", "version", "kind", "startedAt", "status", "statusUpdatedAt", "waitingFor"];

/// How much of the head and of the tail of a long stream is kept.
const HEAD: usize = 1_000;
const TAIL: usize = 3_000;

/// How much of a long text in a hook's payload is kept.
const LONGEST_TEXT: usize = 600;

/// What a pane showed at one moment.
#[derive(Clone, Debug)]
pub(super) struct Picture {
    formats: Vec<(&'static str, String)>,
    pub(super) ansi: String,
    text: String,
}

impl Picture {
    /// Looks at the pane. Everything is of the same moment: tmux runs the commands of one line without a pause.
    pub(super) async fn of(terminal: &Terminal) -> Result<Self> {
        let (told, ansi, text) = terminal.pictures(&FORMATS).await?;
        let formats = FORMATS.into_iter().zip(told.lines().map(str::to_owned)).collect();
        Ok(Self { formats, ansi, text })
    }

    /// Whether two look the same, where nothing but a spinner may have moved.
    pub(super) fn resembles(&self, other: &Self) -> bool {
        self.text == other.text
    }

    pub(super) fn format(&self, name: &str) -> &str {
        self.formats.iter().find(|(one, _)| *one == name).map_or("", |(_, value)| value)
    }
}

/// A process of the pane.
#[derive(Clone, Debug)]
pub(super) struct Process {
    pub(super) pid: u32,
    ppid: u32,
    /// The fields of `stat` from the state on.
    stat: Vec<String>,
    state: String,
    comm: String,
    pub(super) command: String,
}

impl Process {
    /// All that descend from one, itself included, parents first.
    pub(super) fn below(root: u32) -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let mut every: Vec<_> =
            entries.filter_map(|entry| Self::read(entry.file_name().to_str()?.parse().ok()?)).collect();
        every.sort_by_key(|process| process.pid);
        let mut known = vec![root];
        let mut found: Vec<_> = every.iter().filter(|process| process.pid == root).cloned().collect();
        loop {
            let more: Vec<_> =
                every.iter().filter(|one| known.contains(&one.ppid) && !known.contains(&one.pid)).cloned().collect();
            if more.is_empty() {
                return found;
            }
            known.extend(more.iter().map(|process| process.pid));
            found.extend(more);
        }
    }

    fn read(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (before, after) = stat.rsplit_once(") ")?;
        let comm = before.split_once(" (")?.1.to_owned();
        let stat: Vec<_> = after.split(' ').map(str::to_owned).collect();
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned();
        Some(Self { pid, ppid: stat.get(1)?.parse().ok()?, state: stat.first()?.clone(), comm, command, stat })
    }

    /// Whether it is the agent's, and not a shell that was told to start it.
    pub(super) fn is(&self, agent: Agent) -> bool {
        let shell = matches!(self.comm.as_str(), "bash" | "sh" | "script" | "agtmux");
        !shell && self.state != "Z" && self.command.contains(agent.name())
    }

    fn document(&self) -> Value {
        let number = |at: usize| self.stat.get(at).and_then(|word| word.parse::<i64>().ok()).unwrap_or_default();
        json!({
            "pid": self.pid, "ppid": self.ppid, "pgrp": number(2), "sid": number(3), "tpgid": number(5),
            "state": self.state, "comm": self.comm, "cmd": self.command.chars().take(300).collect::<String>(),
        })
    }
}

/// Everything that is kept of a moment.
#[derive(Debug)]
pub(super) struct Moment<'a> {
    pub(super) agent: Agent,
    pub(super) variant: &'a str,
    pub(super) version: &'a str,
    pub(super) take: &'a Take,
    pub(super) picture: &'a Picture,
    pub(super) processes: &'a [Process],
    /// Claude's status file.
    pub(super) status: Option<&'a Value>,
    /// The stream and the hooks of the step that led here.
    pub(super) stream: &'a [u8],
    pub(super) hooks: &'a [Value],
}

impl Moment<'_> {
    /// Writes it into a folder of its own.
    pub(super) fn write(&self, folder: &Path, scrub: &Scrub) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        let write = |name: &str, bytes: Vec<u8>| fs::write(folder.join(name), bytes).context(name.to_owned());
        write("screen.ansi", scrub.text(&self.picture.ansi).into_bytes())?;
        write("screen.txt", scrub.text(&self.picture.text).into_bytes())?;
        write("raw.bin", cut(&scrub.bytes(self.stream)))?;
        let hooks = self.hooks.iter().map(|hook| format!("{}\n", scrub.text(&shortened(hook).to_string())));
        write("hooks.jsonl", hooks.collect::<String>().into_bytes())?;
        write("meta.json", format!("{:#}\n", scrubbed(&self.meta(), scrub)).into_bytes())?;
        write("truth.json", format!("{:#}\n", self.truth()).into_bytes())
    }

    fn meta(&self) -> Value {
        let mut meta = json!({
            "cli": self.agent.name(), "version": self.version, "variant": self.variant, "state": self.take.case,
            "process_tree": self.processes.iter().map(Process::document).collect::<Vec<_>>(),
            "raw_total": self.stream.len(),
        });
        for (name, value) in &self.picture.formats {
            // Until an agent sets one, tmux shows the name of the machine.
            let is_host = *name == "pane_title" && Some(value.as_str()) == hostname().as_deref();
            meta[*name] = json!(if is_host { "lab" } else { value });
        }
        if let Some(status) = self.status {
            let kept = |name: &str| Some((name.to_owned(), status.get(name)?.clone()));
            meta["sessions_file"] = STATUS_FILE.into_iter().filter_map(kept).collect();
        }
        meta
    }

    fn truth(&self) -> Value {
        let more = |name: &str, empty: Value| self.take.more.get(name).cloned().unwrap_or(empty);
        json!({
            "states": self.take.states, "agent_present": !self.take.states.is_empty(), "enter": self.take.enter,
            "draft": more("draft", json!("")), "ghost": more("ghost", json!("")), "queued": more("queued", json!(0)),
        })
    }
}

fn hostname() -> Option<String> {
    fs::read_to_string("/proc/sys/kernel/hostname").ok().map(|name| name.trim().to_owned())
}

fn cut(stream: &[u8]) -> Vec<u8> {
    if stream.len() <= HEAD + TAIL {
        return stream.to_vec();
    }
    [&stream[..HEAD], b"<<<LAB-CUT>>>", &stream[stream.len() - TAIL..]].concat()
}

fn scrubbed(value: &Value, scrub: &Scrub) -> Value {
    each_text(value, &|text| scrub.text(text))
}

fn shortened(value: &Value) -> Value {
    each_text(value, &|text| text.chars().take(LONGEST_TEXT).collect())
}

fn each_text(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| each_text(item, change)).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), each_text(field, change))).collect(),
        _ => value.clone(),
    }
}
