//! The agents that can be set up, the files in which, and the events they are asked to tell us of.

/// An agent whose configuration `agtmux setup` knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// OpenAI Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cursor, from its documented hooks.
    Cursor,
}

/// For whom an agent is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Every project of this user.
    User,
    /// One project.
    Project,
}

/// The folder that a file lies in. Which folder that is on a machine, the caller knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// `$CLAUDE_CONFIG_DIR` or `~/.claude`.
    ClaudeConfig,
    /// `$CODEX_HOME` or `~/.codex`.
    CodexHome,
    /// `~/.gemini`.
    GeminiHome,
    /// `$XDG_CONFIG_HOME/opencode` or `~/.config/opencode`.
    OpencodeConfig,
    /// `$COPILOT_HOME` or `~/.copilot`.
    CopilotHome,
    /// `~/.cursor`.
    CursorHome,
    /// The root of the project.
    Project,
}

/// A file that is written for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileSpec {
    /// The folder.
    pub base: Base,
    /// The path below it.
    pub path: &'static str,
}

impl Agent {
    /// Every agent, in the order in which they are listed.
    pub const ALL: [Self; 6] = [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Copilot, Self::Cursor];

    /// The agent's word in every list.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
        }
    }

    /// The agent of that word.
    pub fn from_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.id() == id)
    }

    /// The folder in which this user's configuration of the agent lies.
    pub const fn home(self) -> Base {
        match self {
            Self::Claude => Base::ClaudeConfig,
            Self::Codex => Base::CodexHome,
            Self::Gemini => Base::GeminiHome,
            Self::Opencode => Base::OpencodeConfig,
            Self::Copilot => Base::CopilotHome,
            Self::Cursor => Base::CursorHome,
        }
    }

    /// The files that are edited, hooks first.
    ///
    /// The path of the program differs between machines, so that in a project those files are chosen that an agent keeps
    /// for one person, where it has such. Codex keeps what it trusts in the user's configuration for projects too.
    pub const fn files(self, scope: Scope) -> &'static [FileSpec] {
        const fn file(base: Base, path: &'static str) -> FileSpec {
            FileSpec { base, path }
        }
        match (self, scope) {
            (Self::Claude, Scope::User) => const { &[file(Base::ClaudeConfig, "settings.json")] },
            (Self::Claude, Scope::Project) => const { &[file(Base::Project, ".claude/settings.local.json")] },
            (Self::Codex, Scope::User) => {
                const { &[file(Base::CodexHome, "hooks.json"), file(Base::CodexHome, "config.toml")] }
            }
            (Self::Codex, Scope::Project) => {
                const { &[file(Base::Project, ".codex/hooks.json"), file(Base::CodexHome, "config.toml")] }
            }
            (Self::Gemini, Scope::User) => const { &[file(Base::GeminiHome, "settings.json")] },
            (Self::Gemini, Scope::Project) => const { &[file(Base::Project, ".gemini/settings.json")] },
            (Self::Opencode, Scope::User) => const { &[file(Base::OpencodeConfig, "plugins/agtmux.js")] },
            (Self::Opencode, Scope::Project) => const { &[file(Base::Project, ".opencode/plugins/agtmux.js")] },
            (Self::Copilot, Scope::User) => const { &[file(Base::CopilotHome, "hooks/agtmux.json")] },
            (Self::Copilot, Scope::Project) => const { &[file(Base::Project, ".github/hooks/agtmux.json")] },
            (Self::Cursor, Scope::User) => const { &[file(Base::CursorHome, "hooks.json")] },
            (Self::Cursor, Scope::Project) => const { &[file(Base::Project, ".cursor/hooks.json")] },
        }
    }

    /// The events that are asked for: those that say something about a state. What fires for every piece of a reply is
    /// left out, and so is what would replace a step of the agent instead of telling about it.
    pub const fn events(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                "SessionStart",
                "SessionEnd",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PostToolUseFailure",
                "PostToolBatch",
                "PermissionRequest",
                "Notification",
                "Stop",
                "StopFailure",
                "SubagentStart",
                "SubagentStop",
                "PreCompact",
                "PostCompact",
                "Elicitation",
                "ElicitationResult",
            ],
            Self::Codex => &[
                "SessionStart",
                "SessionEnd",
                "UserPromptSubmit",
                "PreToolUse",
                "PermissionRequest",
                "PostToolUse",
                "PreCompact",
                "PostCompact",
                "SubagentStart",
                "SubagentStop",
                "Stop",
            ],
            Self::Gemini => {
                &["SessionStart", "SessionEnd", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification"]
            }
            Self::Opencode => &[
                "session.created",
                "session.status",
                "session.idle",
                "session.error",
                "session.compacted",
                "permission.asked",
                "permission.replied",
                "question.asked",
                "question.replied",
                "question.rejected",
            ],
            Self::Copilot => &[
                "sessionStart",
                "sessionEnd",
                "userPromptSubmitted",
                "userPromptTransformed",
                "preToolUse",
                "postToolUse",
                "postToolUseFailure",
                "permissionRequest",
                "notification",
                "agentStop",
                "subagentStart",
                "subagentStop",
                "preCompact",
                "errorOccurred",
            ],
            Self::Cursor => &[
                "beforeSubmitPrompt",
                "beforeShellExecution",
                "afterShellExecution",
                "beforeMCPExecution",
                "afterMCPExecution",
                "afterFileEdit",
                "stop",
            ],
        }
    }
}
