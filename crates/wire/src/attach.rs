//! `POST /v1/actions/attach`: shows an agent's pane to a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::{Aim, Snapshot};

/// Which pane, and to whom.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachRequest {
    /// Which, and if what is so.
    #[serde(flatten)]
    pub aim: Aim,
    /// The terminal that is to show it, if that is attached to the same tmux server already. Without it the answer has the
    /// command by which a new terminal attaches.
    #[serde(default)]
    pub caller: Option<Caller>,
    /// The new terminal only looks.
    #[serde(default)]
    pub read_only: bool,
}

/// Where a request comes from, inside tmux.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Caller {
    /// The terminal, as `#{client_name}` has it. It decides where it is given.
    pub client: Option<String>,
    /// The pane in which the request was made, `%3`.
    pub pane: Option<String>,
    /// The session in which it was made, `$1`.
    pub session: Option<String>,
}

/// Where the pane is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attached {
    /// What it was decided on.
    pub snapshot: Snapshot,
    /// The session, `$1`.
    pub session_id: String,
    /// The window, `@2`.
    pub window_id: String,
    /// The terminal that shows it now, if one was switched.
    pub client: Option<String>,
    /// What a new terminal has to run, if none was. It compares once more in the moment in which it attaches.
    pub command: Option<Vec<String>>,
}
