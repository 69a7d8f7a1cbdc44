//! Lists of panes, windows and sessions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::action::PromptItem;
use crate::agent::AdapterItem;
use crate::busy::BusyItem;

/// A list with what was asked for, what it adds up to, and what could not be asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct List<T> {
    /// Version of the document.
    pub schema_version: u32,
    /// When it was made, RFC 3339.
    pub generated_at: String,
    /// The filters that were in force; those not given are null.
    pub filters: Filters,
    /// Counts over the agent panes that matched.
    pub summary: Summary,
    /// The rows.
    pub items: Vec<T>,
    /// Targets that could not answer. The rest of the list stands.
    pub errors: Vec<TargetError>,
}

/// A list of panes.
pub type PaneList = List<PaneItem>;
/// A list of windows.
pub type WindowList = List<WindowItem>;
/// A list of sessions.
pub type SessionList = List<SessionItem>;

/// What a list was narrowed to. Also the query parameters of the list routes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Filters {
    /// Only this target.
    pub target: Option<String>,
    /// Only this session of this target, as `target/session`.
    pub target_session: Option<String>,
    /// Only sessions of this name, on any target.
    pub session: Option<String>,
    /// Only runtimes in this state; several with commas.
    pub state: Option<String>,
    /// Only this agent.
    pub agent: Option<String>,
    /// Only those that a person has to act on.
    pub needs_action: bool,
    /// Panes without an agent too.
    pub all: bool,
    /// How sessions are grouped.
    pub group_by: Option<GroupBy>,
    /// The order of panes; by their places unless given.
    pub sort: Option<Sort>,
}

/// The order of a list of panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// By target, session, window and pane.
    Place,
    /// Those that need a person first, then by state and by how long that has been so.
    Urgency,
    /// The latest change of state first.
    Since,
    /// By the agent's kind.
    Agent,
    /// By name, agents without one last.
    Name,
}

/// How sessions are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// One row per session of each target.
    TargetSession,
    /// Sessions of one name merged over all targets.
    SessionName,
}

/// Counts of runtimes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many runtimes.
    pub total: u64,
    /// By state; every state is present.
    pub by_state: BTreeMap<String, u64>,
    /// By agent.
    pub by_agent: BTreeMap<String, u64>,
    /// By target.
    pub by_target: BTreeMap<String, u64>,
}

/// A target that could not answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TargetError {
    /// Which.
    pub target: String,
    /// Stable code.
    pub code: String,
    /// For people.
    pub message: String,
}

/// What names a pane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct PaneIdentity {
    /// The target.
    pub target: String,
    /// The session's name.
    pub session_name: String,
    /// The window's id, `@1`.
    pub window_id: String,
    /// The pane's id, `%3`.
    pub pane_id: String,
}

/// A pane, with the agent in it if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PaneItem {
    /// What names it.
    pub identity: PaneIdentity,
    /// The socket of its tmux server.
    pub tmux_socket: String,
    /// The window's name.
    pub window_name: String,
    /// The window's place in the session.
    pub window_index: u32,
    /// The pane's place in the window.
    pub pane_index: u32,
    /// One life of one agent process.
    pub runtime_id: Option<String>,
    /// Counts the runtimes of the pane.
    pub pane_epoch: Option<u32>,
    /// The program kind.
    pub agent: Option<String>,
    /// The agent's process.
    pub pid: Option<u32>,
    /// A friendly name bound to the runtime.
    pub name: Option<String>,
    /// The state.
    pub state: Option<String>,
    /// Why, as a stable code.
    pub reason_code: Option<String>,
    /// high, medium or low.
    pub confidence: Option<String>,
    /// reported, recorded, observed or guessed.
    pub evidence: Option<String>,
    /// The source that decided.
    pub source: Option<String>,
    /// Since when, RFC 3339.
    pub since: Option<String>,
    /// When the row last changed, RFC 3339.
    pub updated_at: Option<String>,
    /// Grows with every visible change of the state.
    pub state_version: Option<u64>,
    /// Whether and how it calls the person.
    pub attention: AttentionItem,
    /// What it asks permission for, where it waits for that. `approve` and `deny` can be bound to the hash.
    #[serde(default)]
    pub prompt: Option<PromptItem>,
    /// The messages that wait for it.
    #[serde(default)]
    pub mail: Option<MailItem>,
    /// What it says it has to do between its turns.
    #[serde(default)]
    pub busy: Option<BusyItem>,
    /// Somebody's unsent text is in its composer.
    #[serde(default)]
    pub draft: bool,
    /// Why it does not move, or what goes on beside the turn: `529 Overloaded · Retrying · attempt 4/10`, `compacting`, `1 background task`.
    #[serde(default)]
    pub detail: Option<String>,
    /// What can be known of the agent, and how that works out.
    #[serde(default)]
    pub adapter: Option<AdapterItem>,
    /// Whether its session has loaded the hooks that `agtmux setup` put in: true if one was heard from it, false if it started
    /// before they were there and has to be restarted to load them; null if neither is known.
    #[serde(default)]
    pub hooks_loaded: Option<bool>,
    /// The working directory of the pane's foreground process.
    pub cwd: Option<String>,
    /// The pane's title.
    pub title: Option<String>,
    /// The name of the pane's foreground process.
    pub command: Option<String>,
}

/// Messages that wait for an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MailItem {
    /// How many.
    pub waiting: u64,
    /// Since when the first of them waits, RFC 3339.
    pub since: String,
    /// What the next one waits for, as in `estimated_delivery` of a message; `now` if it is about to be delivered.
    pub waits_for: String,
    /// Who wrote them, each once.
    #[serde(default)]
    pub from: Vec<String>,
}

/// Whether and how a runtime calls the person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionItem {
    /// A person has to do something before the agent can go on.
    pub needs_action: bool,
    /// Grows only when attention really changes; the dedupe key of every notification.
    pub nudge_seq: u64,
    /// Text for the person.
    pub message: Option<String>,
    /// A turn was completed and nobody has looked yet.
    pub unseen: bool,
    /// What it calls for: error, approval, input, mail_waiting or completion.
    #[serde(default)]
    pub kind: Option<String>,
}

/// What names a window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct WindowIdentity {
    /// The target.
    pub target: String,
    /// The session's name.
    pub session_name: String,
    /// The window's id, `@1`.
    pub window_id: String,
}

/// A window and what its agents add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowItem {
    /// What names it.
    pub identity: WindowIdentity,
    /// Its name.
    pub window_name: String,
    /// Its place in the session.
    pub window_index: u32,
    /// The most urgent state in it.
    pub top_state: Option<String>,
    /// How many wait for a person.
    pub waiting: u64,
    /// How many run.
    pub running: u64,
    /// How many panes it has.
    pub panes: u64,
    /// How many runtimes by state; every state is present.
    pub by_state: BTreeMap<String, u64>,
}

/// What names a session. The target is null where sessions of several targets were merged.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SessionIdentity {
    /// The target.
    pub target: Option<String>,
    /// The session's name.
    pub session_name: String,
}

/// A session and what its agents add up to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionItem {
    /// What names it.
    pub identity: SessionIdentity,
    /// The most urgent state in it.
    pub top_state: Option<String>,
    /// How many runtimes it has.
    pub total: u64,
    /// How many runtimes by state; every state is present.
    pub by_state: BTreeMap<String, u64>,
    /// How many runtimes by agent.
    pub by_agent: BTreeMap<String, u64>,
    /// The same by target.
    pub by_target: BTreeMap<String, SessionOnTarget>,
}

/// What a session's agents on one target add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOnTarget {
    /// How many runtimes.
    pub total: u64,
    /// How many by state; every state is present.
    pub by_state: BTreeMap<String, u64>,
}
