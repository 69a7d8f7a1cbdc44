//! A look at an agent's screen, right before something is typed at it and right after.
//!
//! What the daemon knows of a screen is a moment old, and for some agents nobody looks at the screen at all. Whoever types
//! looks himself.

use agtmux_agents::screen::{self, ComposerRules, Cursor, Screen, ScreenReading};
use agtmux_core::action::AimedAt;
use agtmux_tmux::act::Guard;
use agtmux_tmux::{PaneId, Plain, capture};
use agtmux_wire::error::ErrorCode;

use super::aim::{STALE_HINT, STEP_DEADLINE, tmux_failed};
use crate::error::CommandError;
use crate::target::capture::context;
use crate::target::manifests::Manifests;

/// An agent at its pane, to be looked at.
#[derive(Clone)]
pub struct Eye {
    /// Clients of the pane's server.
    pub plain: Plain,
    /// The pane.
    pub pane: PaneId,
    /// The first process of the pane when the action began: another one's screen says nothing about this agent.
    pub pane_pid: u32,
    /// The agent.
    pub aimed: AimedAt,
    /// What agents look like.
    pub manifests: Manifests,
}

impl Eye {
    /// For the agent and the pane that an action is aimed at.
    pub fn of(plain: &Plain, guard: &Guard, aimed: &AimedAt, manifests: &Manifests) -> Self {
        Self {
            plain: plain.clone(),
            pane: guard.pane,
            pane_pid: guard.pane_pid,
            aimed: aimed.clone(),
            manifests: manifests.clone(),
        }
    }

    /// What the screen says now. The agent's process lives, and the pane is still that of the same first process: an old process
    /// may outlive its pane, and what is seen there is its successor.
    ///
    /// # Errors
    /// Refused if the agent is gone.
    pub async fn look(&self) -> Result<ScreenReading, CommandError> {
        Ok(self.see().await?.0)
    }

    /// The same, with the screen itself, and the cursor where that is in the composer.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub async fn see(&self) -> Result<(ScreenReading, Screen, Option<Cursor>), CommandError> {
        let gone = || {
            let message = format!("{} is not in pane {} any more", self.aimed.runtime, self.pane);
            CommandError::new(ErrorCode::RuntimeStale, message).hint(STALE_HINT)
        };
        let captured = capture::capture(&self.plain, self.pane, STEP_DEADLINE);
        let captured = captured.await.map_err(|error| tmux_failed(&error))?;
        let captured = captured.filter(|captured| captured.pane_pid == self.pane_pid).ok_or_else(gone)?;
        let context = context(&captured, self.aimed.process).ok_or_else(gone)?;
        let registry = self.manifests.now();
        let manifest = registry.get(self.aimed.agent.as_str()).ok_or_else(|| {
            CommandError::new(ErrorCode::PreconditionFailed, format!("nobody knows {}", self.aimed.agent))
                .hint("`agtmux agents list` shows the agents that are known")
        })?;
        let seen = Screen::parse(&captured.text);
        let shows_cursor = manifest.composer.as_ref().is_some_and(ComposerRules::shows_cursor);
        let cursor = context.cursor.filter(|_| shows_cursor);
        Ok((screen::read(manifest, &seen, &context), seen, cursor))
    }
}
