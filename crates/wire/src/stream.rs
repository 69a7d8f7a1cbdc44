//! `WS /v1/stream?after=SEQ`: a snapshot, then every change, without gap, repeat or going back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::list::{PaneIdentity, PaneItem, Summary};
use crate::mail::MessageParty;

/// A frame of the stream. `seq` grows strictly from frame to frame; a client that was cut off passes the last one it
/// saw as `after` and misses nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Frame {
    /// Everything, as of `seq`. Comes first unless the changes after `after` are still at hand, and again whenever the
    /// client was too slow to be served changes.
    Snapshot {
        /// Version of the document.
        schema_version: u32,
        /// The state of the stream that this is.
        seq: u64,
        /// When it was made, RFC 3339.
        at: String,
        /// All panes, those without an agent too.
        panes: Vec<PaneItem>,
        /// Counts over all runtimes.
        summary: Summary,
        /// The steps of messages after `after`, where that was given: what a client missed while it was away.
        #[serde(default)]
        messages: Vec<MessageEvent>,
    },
    /// What changed from the previous frame to `seq`.
    Change {
        /// Version of the document.
        schema_version: u32,
        /// The state of the stream after this change.
        seq: u64,
        /// When it happened, RFC 3339.
        at: String,
        /// Panes that are new or different.
        panes: Vec<PaneItem>,
        /// Panes that are gone, or are no longer called so.
        removed: Vec<RemovedPane>,
        /// Calls for attention that began with this change.
        attention: Vec<AttentionCall>,
        /// The steps that messages took, in their order.
        #[serde(default)]
        messages: Vec<MessageEvent>,
    },
}

/// A pane that is gone. Servers on several sockets may have panes of the same identity, hence the socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RemovedPane {
    /// What named it.
    pub identity: PaneIdentity,
    /// The socket of its tmux server.
    pub tmux_socket: String,
}

/// A step of a message. Never its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageEvent {
    /// The message.
    pub id: String,
    /// Who wrote it.
    pub from: MessageParty,
    /// Who gets it.
    pub to: MessageParty,
    /// `mail`, `notice` or `reminder`.
    pub category: String,
    /// When it may be delivered.
    pub delivery_mode: String,
    /// Where in the log the step is.
    pub seq: u64,
    /// When it was taken, RFC 3339.
    pub at: String,
    /// Where the message is since: `queued`, `leased` and so on, as in a message's `status`.
    pub status: String,
    /// Why, or on what evidence.
    pub why: String,
}

/// A runtime calls for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttentionCall {
    /// Which runtime.
    pub runtime_id: String,
    /// The dedupe key together with the runtime.
    pub nudge_seq: u64,
    /// error, approval, input, mail_waiting or completion.
    pub kind: String,
    /// Text for the person.
    pub message: Option<String>,
}

impl Frame {
    /// The state of the stream after this frame.
    pub const fn seq(&self) -> u64 {
        match self {
            Self::Snapshot { seq, .. } | Self::Change { seq, .. } => *seq,
        }
    }
}
