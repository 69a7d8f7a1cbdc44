//! What `agtmux setup` writes into the configuration of each agent, as pure edits: bytes in, bytes out.
//!
//! A person's configuration is theirs. An edit only inserts text of ours, marks it as ours, and can be taken back to the
//! byte: what is not ours is never moved, reformatted or parsed and printed again. What cannot be understood is refused
//! with its line.
//!
//! | file | how it is edited |
//! |---|---|
//! | hooks in JSON, which people share with us | [`hook_file`], on top of [`json`] |
//! | Codex's `config.toml` | [`codex_config`] |
//! | files of our own (Copilot, opencode) | [`own_file`] |
//! | Claude's plugin, files of our own besides its hooks | [`claude_plugin`] |

mod agent;
pub mod claude_plugin;
mod codex_config;
mod codex_trust;
mod hook_entry;
mod hook_file;
mod json;
mod json_lists;
mod json_text;
mod loading;
mod own_file;
mod plan;
mod text;

pub use agent::{Agent, Base, FileSpec, Scope};
pub use hook_entry::PERMISSION_SECONDS;
pub use loading::is_loaded;
pub use plan::{FilePlan, Given, Installed, Plan, Remark, Wish, plan};

use thiserror::Error;

/// Why a file is left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{why}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct Refusal {
    /// The line that cannot be dealt with, from 1 on.
    pub line: Option<usize>,
    /// What is the matter with it.
    pub why: String,
}

impl Refusal {
    fn at(text: &str, offset: usize, why: impl Into<String>) -> Self {
        let line = text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1;
        Self { line: Some(line), why: why.into() }
    }

    fn whole(why: impl Into<String>) -> Self {
        Self { line: None, why: why.into() }
    }
}
