//! The recorded screens, with what was known about the pane and what is right.

use std::fmt;

use agtmux_agents::screen::{Cursor, Foreground, Screen, ScreenContext};
use serde_json::Value;

/// One recorded state of one agent.
pub(crate) struct Recording {
    pub(crate) agent: String,
    pub(crate) case: String,
    pub(crate) capture: Vec<u8>,
    pub(crate) context: ScreenContext,
    /// Every state that is right; none where there is no agent.
    pub(crate) states: Vec<String>,
    pub(crate) enter: String,
    pub(crate) draft: String,
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.agent, self.case)
    }
}

impl Recording {
    pub(crate) fn screen(&self) -> Screen {
        Screen::parse(&self.capture)
    }
}

/// All recordings and all screens in other circumstances, in order.
pub(crate) fn all() -> Vec<Recording> {
    let mut recordings = of("recordings");
    recordings.extend(of("screens"));
    recordings
}

/// What a folder of the fixtures holds.
#[expect(clippy::disallowed_methods, reason = "the test reads its cases; the crate itself reads nothing")]
pub(crate) fn of(folder: &str) -> Vec<Recording> {
    let root = format!("{}/fixtures/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut recordings = Vec::new();
    for agent in names(&root) {
        for case in names(&format!("{root}/{agent}")) {
            let folder = format!("{root}/{agent}/{case}");
            let json = |file: &str| -> Value {
                let text = std::fs::read_to_string(format!("{folder}/{file}")).expect("a readable file");
                serde_json::from_str(&text).expect("JSON")
            };
            let truth = json("truth.json");
            let word = |key: &str| truth[key].as_str().unwrap_or_default().to_owned();
            recordings.push(Recording {
                capture: std::fs::read(format!("{folder}/screen.ansi")).expect("a capture"),
                context: context(&json("meta.json"), &agent),
                states: states(&truth),
                enter: word("enter"),
                draft: word("draft"),
                agent: agent.clone(),
                case,
            });
        }
    }
    recordings
}

fn states(truth: &Value) -> Vec<String> {
    let states = truth["states"].as_array().expect("states").iter();
    states.map(|state| state.as_str().expect("a state").to_owned()).collect()
}

fn context(meta: &Value, agent: &str) -> ScreenContext {
    let formats = meta.get("tmux").unwrap_or(meta);
    let text = |key: &str| formats[key].as_str().unwrap_or_default();
    let number = |key: &str| text(key).parse::<usize>().expect("a number");
    let command = text("pane_current_command");
    let runs = command == agent || command == "node";
    ScreenContext {
        size: Some((number("pane_width"), number("pane_height"))),
        cursor: Some(Cursor {
            column: number("cursor_x"),
            row: number("cursor_y"),
            visible: text("cursor_flag") == "1",
        }),
        title: Some(text("pane_title").to_owned()),
        dead: text("pane_dead") == "1",
        foreground: Foreground::of(Some(runs), Some(command)),
    }
}

fn names(folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder of recordings").map(|entry| entry.expect("an entry"));
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
