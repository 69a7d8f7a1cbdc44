//! One recording: its files, read.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A state of an agent as it was recorded.
pub(crate) struct Recording {
    pub(crate) agent: String,
    pub(crate) name: String,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) meta: Value,
    pub(crate) truth: Value,
    pub(crate) raw: Vec<u8>,
}

/// One run of a hook.
pub(crate) struct Hook {
    /// The name that it was installed for; Claude's recordings have it in the payload alone.
    pub(crate) event: Option<String>,
    pub(crate) payload: Value,
    /// Seconds of the wall clock.
    pub(crate) at: f64,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings")
}

/// Every recording of an agent, by name.
pub(crate) fn of(agent: &str) -> Vec<Recording> {
    let mut names: Vec<_> = fs::read_dir(root().join(agent))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.into_iter().map(|name| read(agent, name)).collect()
}

pub(crate) fn json_lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read(agent: &str, name: String) -> Recording {
    let directory = root().join(agent).join(&name);
    let json = |file: &str| serde_json::from_slice(&fs::read(directory.join(file)).unwrap()).unwrap();
    Recording {
        agent: agent.to_owned(),
        hooks: json_lines(&directory.join("hooks.jsonl")).into_iter().map(hook).collect(),
        meta: json("meta.json"),
        truth: json("truth.json"),
        raw: fs::read(directory.join("raw.bin")).unwrap_or_default(),
        name,
    }
}

/// A notify command has its payload as an argument.
fn hook(line: Value) -> Hook {
    let payload = if line["payload"].is_null() { &line["argv"][0] } else { &line["payload"] };
    Hook { event: line["hook"].as_str().map(str::to_owned), payload: payload.clone(), at: line["t"].as_f64().unwrap() }
}

impl Recording {
    /// The operating system commands of the stream, number and text, in order.
    pub(crate) fn oscs(&self) -> Vec<(String, String)> {
        let text = String::from_utf8_lossy(&self.raw);
        let commands = text.split("\u{1b}]").skip(1).filter_map(|rest| {
            let end = rest.find(['\u{7}', '\u{1b}'])?;
            let (number, text) = rest[..end].split_once(';')?;
            Some((number.to_owned(), text.to_owned()))
        });
        commands.collect()
    }

    /// The states that are right, by name; none where no agent is in the pane.
    pub(crate) fn right(&self) -> Vec<String> {
        self.truth["states"].as_array().unwrap().iter().map(|state| state.as_str().unwrap().to_owned()).collect()
    }
}
