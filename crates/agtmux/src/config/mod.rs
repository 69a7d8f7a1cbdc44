//! `config.toml`: what a person may set. Defaults < file < environment < flags.

mod classify;
mod mail;
mod policy;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_agents::setup::PERMISSION_SECONDS;
use agtmux_wire::error::ErrorCode;
use serde::Deserialize;

pub use classify::{ClassifyConfig, Dialect, Provider, is_loopback};
pub use mail::MailConfig;
pub use policy::PolicyConfig;

use crate::error::CommandError;

/// The settings of an instance. Every key is documented in `docs/configuration.md`, which a test compares.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Config {
    /// How states are decided.
    pub state: StateConfig,
    /// Which tmux servers are watched.
    pub tmux: TmuxConfig,
    /// How things are kept.
    pub store: StoreConfig,
    /// How agents are taught to signal.
    pub provision: ProvisionConfig,
    /// How agents are started.
    pub spawn: SpawnConfig,
    /// Which language model is asked about agents that say nothing.
    pub classify: ClassifyConfig,
    /// How questions are answered.
    pub approve: ApproveConfig,
    /// What agents may do to agents.
    pub policy: PolicyConfig,
    /// Who may write to whom, and how messages are delivered.
    pub mail: MailConfig,
    /// What is peculiar to one agent.
    pub agents: AgentsConfig,
}

/// `[agents]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AgentsConfig {
    /// Claude Code.
    pub claude: ClaudeConfig,
}

/// `[agents.claude]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaudeConfig {
    /// Whether a plugin inside Claude Code hands it its messages, where its version is known to do that well.
    pub plugin: bool,
}

/// `[approve]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ApproveConfig {
    /// Seconds for which a hook of an agent that takes answers from its hooks waits for one.
    pub hold_seconds: u32,
}

impl ApproveConfig {
    /// The hook must have ended by itself before its agent gives up on it.
    const MOST: u32 = PERMISSION_SECONDS - 60;

    /// How long a hook waits.
    pub fn hold(&self) -> Duration {
        Duration::from_secs(u64::from(self.hold_seconds.min(Self::MOST)))
    }
}

/// `[state]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StateConfig {
    /// Seconds for which a finished turn is shown as `completed` before it becomes `idle`.
    pub completed_seconds: u32,
    /// Seconds for which an event waits for an agent to be found that it belongs to.
    pub bind_seconds: u32,
}

/// `[tmux]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TmuxConfig {
    /// Servers to watch besides the one the daemon was started for: names as for `tmux -L`, paths as for `tmux -S`,
    /// or `"*"` for every server of this user.
    pub sockets: Vec<String>,
    /// The tmux program.
    pub program: Option<PathBuf>,
    /// How the daemon talks to tmux: `plain`, or `control` for a tmux that survives control clients (3.8 and newer).
    pub link: Link,
}

/// How the daemon talks to tmux.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// By ordinary clients.
    #[default]
    Plain,
    /// By control clients on a hidden session.
    Control,
}

/// `[store]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct StoreConfig {
    /// `normal` survives a crash of the daemon, `full` a loss of power too.
    pub synchronous: Synchronous,
    /// Days for which events are kept.
    pub events_days: u32,
    /// Days for which raw payloads are kept.
    pub payload_days: u32,
    /// Days for which it is kept who did what to agents.
    pub audit_days: u32,
}

/// `[provision]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProvisionConfig {
    /// Which agent runs a model, by the name of the model.
    pub models: BTreeMap<String, String>,
}

/// `[spawn]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SpawnConfig {
    /// The agent that is started where none is named, or a model.
    pub agent: String,
    /// Whether the workspace of an agent that is started is taught to signal.
    pub provision: bool,
    /// Whether agents that are started run in the wrapper.
    pub wrap: bool,
    /// The session for agents that are started from outside of tmux.
    pub session: String,
    /// Seconds to wait for an agent to be ready.
    pub wait_seconds: u32,
    /// Where worktrees are made; beside their repository unless set.
    pub worktrees: Option<PathBuf>,
}

/// How hard a commit tries to reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Synchronous {
    /// Survives a crash of the daemon.
    Normal,
    /// Survives a loss of power.
    Full,
}

impl Default for ApproveConfig {
    fn default() -> Self {
        Self { hold_seconds: 3_300 }
    }
}

impl Default for ClaudeConfig {
    fn default() -> Self {
        Self { plugin: true }
    }
}

impl Default for StateConfig {
    fn default() -> Self {
        Self { completed_seconds: 120, bind_seconds: 10 }
    }
}

impl Default for SpawnConfig {
    fn default() -> Self {
        Self {
            agent: "claude".to_owned(),
            provision: true,
            wrap: true,
            session: "agents".to_owned(),
            wait_seconds: 60,
            worktrees: None,
        }
    }
}

impl Default for StoreConfig {
    fn default() -> Self {
        Self { synchronous: Synchronous::Normal, events_days: 30, payload_days: 7, audit_days: 365 }
    }
}

/// A configuration and what was odd about its file.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Keys that nobody reads, one message each.
    pub warnings: Vec<String>,
}

/// Reads `config.toml` from the configuration directory. A missing file means defaults.
///
/// # Errors
/// Fails on a file that cannot be read or is not the TOML that is expected; the message has line and column.
pub fn load(config_dir: &Path) -> Result<Loaded, CommandError> {
    let file = config_dir.join("config.toml");
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Loaded::default()),
        Err(error) => {
            return Err(CommandError::new(ErrorCode::Config, format!("cannot read {}: {error}", file.display())));
        }
    };
    parse(&text).map_err(|message| {
        CommandError::new(ErrorCode::Config, format!("{}: {message}", file.display()))
            .hint("docs/configuration.md lists the keys and their values")
    })
}

fn parse(text: &str) -> Result<Loaded, String> {
    let mut warnings = Vec::new();
    let deserializer = toml::Deserializer::parse(text).map_err(|error| error.to_string())?;
    let config = serde_ignored::deserialize(deserializer, |key| {
        warnings.push(format!("unknown key `{key}` is ignored"));
    })
    .map_err(|error: toml::de::Error| error.to_string())?;
    Ok(Loaded { config, warnings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_gives_the_defaults() {
        let loaded = parse("").unwrap();
        assert_eq!(loaded.config, Config::default());
        assert!(loaded.warnings.is_empty());
    }

    #[test]
    fn an_unknown_key_is_warned_of_and_the_rest_counts() {
        let loaded = parse("colour = 1\n[state]\ncompleted_seconds = 5\nfoo = 2\n").unwrap();
        assert_eq!(loaded.config.state.completed_seconds, 5);
        assert_eq!(loaded.warnings, ["unknown key `colour` is ignored", "unknown key `state.foo` is ignored"]);
    }

    #[test]
    fn a_key_in_the_wrong_place_is_not_repeated() {
        let error = parse("[classify]\nprovider = \"openai\"\nmodel = \"m\"\napi_key_env = \"sk-1234\"\n").unwrap_err();
        assert!(error.contains("line 1") && error.contains("api_key_env") && !error.contains("sk-1234"), "{error}");
    }

    /// The document shows every key with its default, or as an example behind a `#`.
    #[test]
    fn the_document_has_every_key_and_its_default() {
        let document = include_str!("../../../../docs/configuration.md");
        let block = document.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
        let shown = parse(block).unwrap();
        assert_eq!(shown.config, Config::default());
        assert!(shown.warnings.is_empty(), "{:?}", shown.warnings);
        let fields = format!("{:#?}", Config::default());
        for (key, value) in fields.lines().filter_map(|line| line.trim().split_once(": ")) {
            let is_table = value.ends_with('{');
            let is_shown = |line: &str| {
                line.trim_start_matches("# ").starts_with(&format!("{key} ="))
                    || line.trim_end_matches(']').ends_with(&format!(".{key}"))
            };
            assert!(is_table || block.lines().any(is_shown), "{key} is not in docs/configuration.md");
        }
    }

    #[test]
    fn the_document_shows_examples_of_every_provider_that_work() {
        let document = include_str!("../../../../docs/configuration.md");
        let examples: Vec<_> = document.split("```toml\n[classify]\n").skip(1).collect();
        for example in &examples {
            let text = format!("[classify]\n{}", example.split("```").next().unwrap());
            let loaded = parse(&text).unwrap();
            assert!(loaded.config.classify.provider.is_some() && loaded.warnings.is_empty(), "{text}");
        }
        assert_eq!(examples.len(), 4);
    }

    #[test]
    fn a_wrong_type_is_an_error_with_its_line() {
        let error = parse("[state]\ncompleted_seconds = \"soon\"\n").unwrap_err();
        assert!(error.contains("line 2"), "{error}");
    }
}
