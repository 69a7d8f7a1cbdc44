//! Setting agents up: their files found, read, edited by the pure plans of `agtmux_agents::setup`, and written safely.
//!
//! | file | what it does |
//! |---|---|
//! | [`places`] | where each agent keeps its configuration, and which agents are here |
//! | [`advice`] | what a person has to do besides |
//! | [`change`] | one file: read, compared, replaced at once or not at all |
//! | [`job`] | one agent: its files read, planned and written |
//! | [`claude_plugin`] | whether the Claude that is here gets our plugin |
//! | [`loading`] | whether a session that runs has loaded the hooks |
//! | [`instructions`] | the block in an agent's instruction file |
//! | [`exclude`] | which of those files git is told to ignore |
//! | [`environment`] | the variables that an agent is started with |

pub mod advice;
pub mod change;
pub mod claude_plugin;
pub mod environment;
pub mod exclude;
pub mod instructions;
pub mod job;
pub mod loading;
pub mod lock;
pub mod places;

use std::path::PathBuf;

use agtmux_agents::setup::Refusal;
use agtmux_wire::error::ErrorCode;
use thiserror::Error;

use crate::error::CommandError;

/// Why a file was left as it is.
#[derive(Debug, Error)]
pub enum SetupError {
    /// It is not what an agent's configuration should be.
    #[error("{}: {refusal}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is the matter with it.
        refusal: Refusal,
    },
    /// Its block is not whole, so that nobody can say what of the file is ours.
    #[error("{}: {refusal}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is the matter with it.
        refusal: Refusal,
    },
    /// It is a link; replacing it would part it from what it points to.
    #[error("{} is a link to {}", path.display(), target.display())]
    Link {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// It is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// What lies there.
        path: PathBuf,
    },
    /// Somebody else wrote it while it was being edited.
    #[error("{} was changed by somebody else meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The operating system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Another setup runs.
    #[error("another setup runs")]
    Busy,
    /// There is no home directory.
    #[error("no home directory")]
    NoHome,
    /// The path of the program is not text, so that no configuration can hold it.
    #[error("{} is not a path that a configuration can hold", path.display())]
    UnspeakableProgram {
        /// The program.
        path: PathBuf,
    },
}

impl SetupError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused { .. } => "mend the file, or move it away, and run this again; it was left as it is",
            Self::Damaged { .. } => {
                "put the missing mark back, or delete what is left of the block, and run this again; the file was left as it is"
            }
            Self::Link { .. } => "--follow-links edits the file that it leads to",
            Self::NotAFile { .. } => "move it away and run this again",
            Self::Changed { .. } => "run this again",
            Self::Io { .. } => "give yourself the right to write there; nothing was changed",
            Self::Busy => "wait for it, and run this again",
            Self::NoHome => "set HOME",
            Self::UnspeakableProgram { .. } => "install agtmux at a path without control characters",
        }
    }
}

impl From<SetupError> for CommandError {
    fn from(error: SetupError) -> Self {
        let hint = error.hint();
        Self::new(ErrorCode::SetupRefused, error.to_string()).hint(hint)
    }
}
