//! What speaks against a take: the model's log, the processes, the vendor's own status file.

use serde_json::Value;

use super::capture::Process;
use super::takes::Take;
use crate::agent::Agent;
use crate::model::Turn;

/// What is known besides the screen.
#[derive(Clone, Debug)]
pub(super) struct Evidence {
    /// The newest answer of the model.
    pub(super) turn: Option<Turn>,
    /// The processes of the pane.
    pub(super) processes: Vec<Process>,
    /// Claude's status file, of a process that runs.
    pub(super) status: Option<Value>,
}

impl Evidence {
    /// Why the take cannot be true.
    pub(super) fn against(&self, agent: Agent, take: &Take) -> Option<String> {
        let is = |state: &str| take.states.iter().any(|one| one == state);
        let runs = self.processes.iter().any(|process| process.is(agent));
        if runs == take.states.is_empty() {
            return Some(format!("the agent {}", if runs { "runs" } else { "does not run" }));
        }
        if take.states.is_empty() || is("unknown") {
            return None;
        }
        // A take of several kinds of states is a menu or a view: it says nothing of the turn.
        let kinds =
            ["running", "waiting_approval", "waiting_input", "idle"].into_iter().filter(|kind| is(kind)).count();
        if kinds <= 1 && !take.more.contains_key("aside") {
            let agrees = match self.turn {
                Some(Turn::Answering) => is("running"),
                // The tool runs, waits to be allowed, or was refused.
                Some(Turn::Used) => !is("completed") || is("idle"),
                // A failure may be tried again; a summary is asked for aside of the turn.
                Some(Turn::Failed | Turn::Cut) => true,
                Some(Turn::Ended | Turn::HungUp) | None => !is("waiting_approval") && !is("error") && !is("running"),
            };
            if !agrees {
                return Some(format!("the model's answer is {:?}", self.turn));
            }
        }
        let status = self.status.as_ref()?.get("status")?.as_str()?;
        let agrees = match status {
            "idle" => is("idle") || is("completed") || is("error"),
            "busy" => is("running"),
            "waiting" => is("waiting_approval") || is("waiting_input"),
            "shell" => is("idle") || is("running"),
            _ => true,
        };
        (!agrees).then(|| format!("the agent's own file says {status}"))
    }
}
