//! The circumstances in which agents are recorded.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use regex::Regex;
use serde_json::Value;

use crate::agent::Agent;
use crate::install::Release;

/// How an agent is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    /// By its name.
    Bare,
    /// In a terminal of its own inside the pane.
    Script,
    /// In agtmux's wrapper.
    Wrapped,
}

/// Circumstances.
#[derive(Debug)]
pub struct Variant {
    /// Their name.
    pub name: &'static str,
    /// What they are, in a few words.
    pub about: &'static str,
    pub(super) release: Release,
    /// Columns and lines.
    pub(super) size: (u16, u16),
    pub(super) launch: Launch,
    pub(super) variables: &'static [(&'static str, &'static str)],
    /// Options of tmux, set on the window.
    pub(super) options: &'static [(&'static str, &'static str)],
    /// Changes of the agents' settings: the agent, the file in its home, and what goes in.
    pub(super) settings: &'static [(Agent, &'static str, &'static str)],
    /// The agents that have it; all if empty.
    pub(super) agents: &'static [Agent],
    /// A text that somebody types, and words before a prompt.
    pub(super) draft: &'static str,
    pub(super) lead: &'static str,
    /// The title that somebody gave the pane.
    pub(super) title: Option<&'static str>,
}

const PLAIN: Variant = Variant {
    name: "default",
    about: "120×40, the agents' own defaults",
    release: Release::Current,
    size: (120, 40),
    launch: Launch::Bare,
    variables: &[],
    options: &[],
    settings: &[],
    agents: &[],
    draft: "half a thought",
    lead: "",
    title: None,
};

/// A status line that shows what such lines show.
const STATUS_LINE: &str =
    r#"{"statusLine":{"type":"command","command":"printf 'main +3 | ctx 42%% | $0.10\\nlab@box ~/work'"}}"#;
/// One that shows what the agent itself shows while it works or asks.
const IMITATION: &str = r#"{"statusLine":{"type":"command","command":"printf '  esc to interrupt\\n Do you want to proceed?\\n ❯ 1. Yes   2. No\\n✻ Thinking… (3s · esc to interrupt)'"}}"#;

/// All of them.
pub const VARIANTS: &[Variant] = &[
    PLAIN,
    Variant { name: "narrow", about: "50×20", size: (50, 20), ..PLAIN },
    Variant { name: "small", about: "80×24", size: (80, 24), ..PLAIN },
    Variant { name: "wide", about: "200×60", size: (200, 60), ..PLAIN },
    Variant { name: "no-color", about: "`NO_COLOR=1`", variables: &[("NO_COLOR", "1")], ..PLAIN },
    Variant {
        name: "light",
        about: "a light theme on a light terminal",
        options: &[("window-style", "bg=#ffffff,fg=#1a1a1a")],
        settings: &[
            (Agent::Claude, ".claude.json", r#"{"theme":"light"}"#),
            (Agent::Claude, ".claude/settings.json", r#"{"theme":"light"}"#),
            (Agent::Gemini, ".gemini/settings.json", r#"{"ui":{"theme":"Default Light"}}"#),
            (Agent::Opencode, ".config/opencode/tui.json", r#"{"theme":"github"}"#),
            (Agent::Copilot, ".copilot/settings.json", r#"{"theme":"light"}"#),
        ],
        ..PLAIN
    },
    Variant {
        name: "vim",
        about: "the agent's vim mode",
        settings: &[
            (Agent::Claude, ".claude.json", r#"{"editorMode":"vim"}"#),
            (Agent::Claude, ".claude/settings.json", r#"{"editorMode":"vim"}"#),
            (Agent::Gemini, ".gemini/settings.json", r#"{"general":{"vimMode":true}}"#),
            (Agent::Codex, ".codex/config.toml", "vim_mode_default = true"),
        ],
        agents: &[Agent::Claude, Agent::Gemini, Agent::Codex],
        ..PLAIN
    },
    Variant {
        name: "status-line",
        about: "a status line of the user's own",
        settings: &[
            (Agent::Claude, ".claude/settings.json", STATUS_LINE),
            (Agent::Copilot, ".copilot/settings.json", STATUS_LINE),
            (
                Agent::Codex,
                ".codex/config.toml",
                r#"status_line = ["model-with-reasoning", "context-remaining", "current-dir", "git-branch"]"#,
            ),
            (
                Agent::Gemini,
                ".gemini/settings.json",
                r#"{"ui":{"footer":{"items":["workspace","model-name","context-used"],"showLabels":false}}}"#,
            ),
        ],
        agents: &[Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Copilot],
        ..PLAIN
    },
    Variant {
        name: "status-line-imitating",
        about: "a status line that says what the agent says while it works or asks",
        settings: &[
            (Agent::Claude, ".claude/settings.json", IMITATION),
            (Agent::Copilot, ".copilot/settings.json", IMITATION),
        ],
        agents: &[Agent::Claude, Agent::Copilot],
        ..PLAIN
    },
    Variant {
        name: "classic",
        about: "the renderer without the alternate screen",
        settings: &[
            (Agent::Claude, ".claude/settings.json", r#"{"tui":"default"}"#),
            (Agent::Codex, ".codex/config.toml", r#"alternate_screen = "never""#),
        ],
        agents: &[Agent::Claude, Agent::Codex],
        ..PLAIN
    },
    Variant {
        name: "settings",
        about: "settings that hide or move parts of the screen",
        settings: &[
            (
                Agent::Claude,
                ".claude/settings.json",
                r#"{"prefersReducedMotion":true,"verbose":true,"showTurnDuration":false,"outputStyle":"Explanatory","spinnerTipsEnabled":true,"syntaxHighlightingDisabled":true}"#,
            ),
            (Agent::Claude, ".claude.json", r#"{"verbose":true,"prefersReducedMotion":true,"showTurnDuration":false}"#),
            (Agent::Codex, ".codex/config.toml", "animations = false\nstatus_line = []"),
            (
                Agent::Gemini,
                ".gemini/settings.json",
                r#"{"ui":{"hideFooter":true,"hideBanner":true,"hideContextSummary":true,"accessibility":{"enableLoadingPhrases":false}}}"#,
            ),
            (Agent::Opencode, ".config/opencode/tui.json", r#"{"theme":"system","scroll_speed":1}"#),
        ],
        agents: &[Agent::Claude, Agent::Codex, Agent::Gemini, Agent::Opencode],
        ..PLAIN
    },
    Variant {
        name: "alternate-buffer",
        about: "the renderer in the alternate screen",
        settings: &[(Agent::Gemini, ".gemini/settings.json", r#"{"ui":{"useAlternateBuffer":true}}"#)],
        agents: &[Agent::Gemini],
        ..PLAIN
    },
    Variant {
        name: "utf-8",
        about: "prompts, drafts and titles in CJK and emoji",
        draft: "半分の考え、とても長い 🦀 é",
        lead: "日本語で頼みます。これは少し長い行です 🦀 ",
        title: Some("作業中… 🦀"),
        ..PLAIN
    },
    Variant { name: "nested", about: "in a terminal of its own inside the pane", launch: Launch::Script, ..PLAIN },
    Variant { name: "wrapped", about: "in agtmux's wrapper", launch: Launch::Wrapped, ..PLAIN },
    Variant { name: "lang-c", about: "`LANG=C`", variables: &[("LANG", "C"), ("LC_ALL", "C")], ..PLAIN },
    Variant {
        name: "title",
        about: "a title of the user's own, the agent's is off",
        variables: &[("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1"), ("OPENCODE_DISABLE_TERMINAL_TITLE", "1")],
        settings: &[
            (Agent::Codex, ".codex/config.toml", r#"terminal_title = ["project"]"#),
            (Agent::Gemini, ".gemini/settings.json", r#"{"ui":{"hideWindowTitle":true,"dynamicWindowTitle":false}}"#),
        ],
        title: Some("deploy: Working… esc to interrupt"),
        ..PLAIN
    },
    Variant { name: "older-20", about: "at least 20 releases older", release: Release::Older20, ..PLAIN },
    Variant { name: "older-40", about: "at least 40 releases older", release: Release::Older40, ..PLAIN },
    Variant {
        name: "older-20-narrow",
        about: "at least 20 releases older, 50×20",
        release: Release::Older20,
        size: (50, 20),
        ..PLAIN
    },
];

impl Variant {
    /// The variant of that name.
    pub fn from_name(name: &str) -> Option<&'static Self> {
        VARIANTS.iter().find(|variant| variant.name == name)
    }

    /// Whether an agent has it.
    pub fn is_for(&self, agent: Agent) -> bool {
        self.agents.is_empty() || self.agents.contains(&agent)
    }

    /// Puts its settings into a home that is ready.
    pub(super) fn settle(&self, agent: Agent, home: &Path) -> Result<()> {
        for (_, file, change) in self.settings.iter().filter(|(of, ..)| *of == agent) {
            let path = home.join(file);
            let text = fs::read_to_string(&path).unwrap_or_default();
            let changed = if file.ends_with(".toml") {
                text.replacen("[tui]\n", &format!("[tui]\n{change}\n"), 1)
            } else {
                let mut document = if text.is_empty() { Value::Null } else { serde_json::from_str(&text)? };
                merge(&mut document, serde_json::from_str(change)?);
                format!("{document:#}\n")
            };
            fs::write(&path, changed).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }

    /// A text of a take with the words of this variant.
    pub(super) fn worded(&self, text: &str) -> String {
        text.replace("{draft}", self.draft).replace("{lead}", self.lead)
    }

    /// A pattern of a take with the words of this variant.
    pub(super) fn pattern(&self, text: &str) -> Result<Regex> {
        let (draft, lead) = (regex::escape(self.draft), regex::escape(self.lead));
        Ok(Regex::new(&text.replace("{draft}", &draft).replace("{lead}", &lead))?)
    }
}

fn merge(document: &mut Value, change: Value) {
    match (document, change) {
        (Value::Object(fields), Value::Object(changes)) => {
            for (name, change) in changes {
                merge(fields.entry(name).or_insert(Value::Null), change);
            }
        }
        (document, change) => *document = change,
    }
}
