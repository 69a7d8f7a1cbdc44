//! From a snapshot to a guard: what tmux and the kernel say of the agent right now, to be compared once more in the act.

use std::path::Path;
use std::time::Duration;

use agtmux_core::action::Snapshot;
use agtmux_tmux::act::{Guard, Mismatch};
use agtmux_tmux::client::ClientError;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::{PaneId, Plain};
use agtmux_wire::error::ErrorCode;

use super::Hands;
use crate::error::CommandError;
use crate::platform;

/// How long tmux may take for one step of an action.
pub const STEP_DEADLINE: Duration = Duration::from_secs(5);

/// A pane that an action is aimed at.
pub struct Mark {
    /// Clients of its server.
    pub plain: Plain,
    /// What has to be so when something is done to it.
    pub guard: Guard,
}

/// Finds the pane of a snapshot and what must not change about it. The agent's process is there, and is below the pane's own.
///
/// # Errors
/// Refused if the server, the pane or the agent is not the one of the snapshot any more.
pub async fn mark(hands: &Hands, snapshot: &Snapshot) -> Result<Mark, CommandError> {
    let plain = Plain::new(&hands.tmux, Path::new(&snapshot.socket));
    let pane = PaneId(snapshot.pane.pane.0);
    let (server, _) = list::identity(&plain, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
    if (server.pid, server.start_time) != (snapshot.server_pid, snapshot.server_start) {
        return Err(missed(&Mismatch::Server { pid: server.pid, start: server.start_time }));
    }
    let row = list::pane(&plain, pane, Detail::Full, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
    let row = row.ok_or_else(|| missed(&Mismatch::PaneGone))?;
    if row.pane_dead {
        return Err(missed(&Mismatch::Dead));
    }
    if let Some(aimed) = &snapshot.runtime {
        let lineage = platform::ancestors(aimed.process.pid);
        let is_it = lineage.first().is_some_and(|(_, start)| *start == aimed.process.start);
        if !is_it || !lineage.iter().any(|(pid, _)| *pid == row.pane_pid) {
            let message = format!("{} does not live in pane {pane} any more", aimed.runtime);
            return Err(CommandError::new(ErrorCode::RuntimeStale, message).hint(STALE_HINT));
        }
    }
    let guard = Guard {
        server_pid: server.pid,
        server_start: server.start_time,
        pane,
        pane_pid: row.pane_pid,
        command: snapshot.runtime.as_ref().and(row.command),
        out_of_mode: false,
        quiet_since: None,
    };
    Ok(Mark { plain, guard })
}

/// What to do when somebody is not there any more.
pub const STALE_HINT: &str = "nothing was done; `agtmux list panes` shows the runtimes there are";

/// The refusal that a mismatch means.
pub fn missed(mismatch: &Mismatch) -> CommandError {
    let (code, hint) = match mismatch {
        Mismatch::Server { .. }
        | Mismatch::PaneGone
        | Mismatch::Respawned { .. }
        | Mismatch::Dead
        | Mismatch::Command { .. } => (ErrorCode::RuntimeStale, STALE_HINT),
        Mismatch::InMode => (ErrorCode::PreconditionFailed, "leave copy mode in that pane first: press q there"),
        Mismatch::InputOff => (ErrorCode::PreconditionFailed, "let it take input first: `tmux select-pane -e`"),
        Mismatch::Synchronized => {
            (ErrorCode::PreconditionFailed, "keys would reach its neighbours too: turn synchronize-panes off first")
        }
        Mismatch::NotQuiet => (ErrorCode::PreconditionFailed, "try again when nobody types there"),
        Mismatch::Fleeting => (ErrorCode::PreconditionFailed, "try again"),
    };
    CommandError::new(code, mismatch.to_string()).hint(hint)
}

/// tmux did not answer as it should when it was asked something, or the act could not be begun.
pub fn tmux_failed(error: &ClientError) -> CommandError {
    match error {
        ClientError::Closed { .. } => {
            CommandError::new(ErrorCode::RuntimeStale, "the tmux server is gone").hint(STALE_HINT)
        }
        ClientError::Timeout => CommandError::new(ErrorCode::Timeout, "tmux did not answer in time")
            .hint("whether it was done is not known; look before you try again"),
        other => CommandError::internal(other),
    }
}

/// tmux did not answer as it should in the act itself, which may have been done.
pub fn act_failed(error: &ClientError) -> CommandError {
    match error {
        ClientError::Closed { .. } => {
            CommandError::new(ErrorCode::Unconfirmed, "the tmux server ended in the middle of it")
                .hint("the agent ended with it; whether it was done before is not known")
        }
        other => tmux_failed(other),
    }
}
