//! Look at the screen; if the input is empty, send the text, then Enter. Three commands, and a person in between.

use anyhow::Result;

use super::{Attempt, Injector};
use crate::stage::Tmux;

/// Longer texts do not fit into one command of tmux.
const LONGEST_ARGUMENT: usize = 4_000;

pub(super) struct Naive {
    pub(super) tmux: Tmux,
    pub(super) pane: String,
}

impl Injector for Naive {
    fn attempt(&mut self, id: &str, text: &str) -> Result<Attempt> {
        let screen = self.tmux.run(&["capture-pane", "-p", "-t", &self.pane])?;
        if !screen.lines().any(|line| line.trim_end() == ">") {
            return Ok(Attempt::Busy);
        }
        if text.len() <= LONGEST_ARGUMENT {
            // In copy mode the keys go to the mode, until one of them leaves it and tmux complains. Tools of this kind do not ask.
            self.tmux.run(&["send-keys", "-t", &self.pane, "-l", "--", text]).ok();
        } else {
            self.tmux.run_with(&["load-buffer", "-b", id, "-"], text.as_bytes())?;
            self.tmux.run(&["paste-buffer", "-p", "-r", "-d", "-b", id, "-t", &self.pane])?;
        }
        self.tmux.run(&["send-keys", "-t", &self.pane, "Enter"])?;
        Ok(Attempt::Sent)
    }
}
