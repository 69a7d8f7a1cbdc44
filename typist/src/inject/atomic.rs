//! One command queue of tmux: nothing a person types comes between looking and sending. What was typed but is not drawn yet
//! is not seen all the same.

use anyhow::Result;

use super::{Attempt, Injector};
use crate::stage::Tmux;

pub(super) struct Atomic {
    pub(super) tmux: Tmux,
    pub(super) pane: String,
}

impl Injector for Atomic {
    fn attempt(&mut self, id: &str, text: &str) -> Result<Attempt> {
        let pane = self.pane.as_str();
        let empty = "#{&&:#{==:#{cursor_x},2},#{&&:#{==:#{cursor_y},2},#{==:#{pane_in_mode},0}}}";
        self.tmux.run_with(&["load-buffer", "-b", id, "-"], text.as_bytes())?;
        let send =
            format!("paste-buffer -p -r -d -b {id} -t {pane} ; send-keys -t {pane} Enter ; display-message -p sent");
        let answer = self.tmux.run(&["if-shell", "-F", "-t", pane, empty, &send, "display-message -p busy"])?;
        if answer.trim() == "sent" {
            return Ok(Attempt::Sent);
        }
        self.tmux.run(&["delete-buffer", "-b", id])?;
        Ok(Attempt::Busy)
    }
}
