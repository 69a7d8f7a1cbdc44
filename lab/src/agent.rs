//! The agents of the lab: what each is called, when it is ready, and what it takes to type into it.

use std::fmt;
use std::time::Duration;

/// A real agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// GitHub Copilot CLI.
    Copilot,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Copilot];

    /// The name of its program, which is also what agtmux calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
        }
    }

    /// The agent of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.name() == name)
    }

    /// What a person types into a shell to start it.
    pub const fn command(self) -> &'static str {
        match self {
            // A daemon shared by all panes would outlive the story and answer for another pane.
            Self::Codex => "codex --no-daemon",
            _ => self.name(),
        }
    }

    /// What a person types to start several of it side by side: Codexes then share a server, as they do unless told otherwise.
    pub(crate) const fn shared_command(self) -> &'static str {
        match self {
            Self::Codex => "sed -i /daemon_auto_start/d $HOME/.codex/config.toml; codex",
            _ => self.name(),
        }
    }

    /// What the screen shows, its title included, once it is worth trying to type.
    pub(crate) const fn ready(self) -> &'static str {
        match self {
            Self::Claude => "manual mode on|plan mode on|accept edits on",
            // The composer is drawn before there is a session; then the title is that of the folder.
            Self::Codex => r"(?s)\A[^\n]*work\s*\n.*Ask Codex to do anything",
            Self::Gemini => "Type your message or @path/to/file",
            Self::Opencode => "Ask anything",
            Self::Copilot => "/ commands",
        }
    }

    /// What the screen shows while its composer is empty, of an agent that may drop Enter though its screen goes on changing.
    pub(crate) const fn emptied(self) -> Option<&'static str> {
        match self {
            Self::Gemini => Some("Type your message or @path/to/file"),
            _ => None,
        }
    }

    /// How long a pasted text has to rest before Enter is taken as Enter, and how long a fresh dialog takes no keys, so
    /// that nobody answers what they have not read.
    pub(crate) const fn rest(self) -> Duration {
        match self {
            Self::Claude => Duration::from_millis(350),
            _ => Duration::from_millis(250),
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}
