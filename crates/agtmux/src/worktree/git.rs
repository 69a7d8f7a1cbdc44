//! The system's git, run so that it surprises nobody.
//!
//! Arguments are words and never a line for a shell. Hooks do not run: what a repository does after a checkout is for the
//! person who sets it up, not for whoever starts an agent. Variables that point git at another repository, as inside of a
//! hook, are taken away.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use tokio::process::Command;

use super::refused;
use crate::error::CommandError;

/// How long git may take. Files of a large repository take their time to be written.
const DEADLINE: Duration = Duration::from_secs(240);

/// git in a directory.
#[derive(Clone, Debug)]
pub struct Git {
    directory: PathBuf,
}

impl Git {
    /// git in a directory.
    pub fn at(directory: &Path) -> Self {
        Self { directory: directory.to_owned() }
    }

    /// Runs git and gives what it printed.
    ///
    /// # Errors
    /// Fails, with git's own words, if git does.
    pub async fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<Vec<u8>, CommandError> {
        let output = self.output(arguments).await?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let words = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it says nothing").trim();
        Err(refused(format!("git: {}", words.trim_start_matches("fatal: "))).hint("nothing was changed"))
    }

    /// Asks git something that it answers by its exit code.
    ///
    /// # Errors
    /// Fails only if git cannot be run.
    pub async fn says<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<bool, CommandError> {
        self.output(arguments).await.map(|output| output.status.success())
    }

    async fn output<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Result<Output, CommandError> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.directory).args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]);
        command.args(arguments);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C").env("GIT_TERMINAL_PROMPT", "0");
        command.stdin(Stdio::null()).process_group(0).kill_on_drop(true);
        let output = tokio::time::timeout(DEADLINE, command.output()).await.map_err(|_elapsed| {
            CommandError::new(ErrorCode::Timeout, "git took too long")
                .hint("look at the repository before you try again")
        })?;
        output.map_err(|error| refused(format!("git cannot be run: {error}")).hint("install git 2.36 or newer"))
    }
}
