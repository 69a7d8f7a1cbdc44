//! What the plugin inside an agent and the daemon say to each other: JSON over HTTP, on a socket of its own.
//!
//! The plugin waits for orders and answers each of them. It names no agent: the daemon asks the kernel which process has connected.

use serde::{Deserialize, Serialize};

/// The longest request. A plugin repeats a text that it was given.
pub const REQUEST_LIMIT: usize = 1024 * 1024;

/// `POST /wait`: the plugin is there and has nothing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// One load of the plugin; a later one in the same process has another.
    pub instance: String,
    /// The version of this protocol.
    pub protocol: u32,
    /// The version of the agent.
    pub version: String,
}

/// The answer to that, at once or after a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waited {
    /// What to do now, if anything.
    #[serde(default)]
    pub order: Option<Order>,
    /// Nothing will ever be asked of this load of the plugin.
    #[serde(default)]
    pub stop: bool,
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its number, which the answer repeats.
    pub number: u64,
    /// What.
    pub task: Task,
}

/// What a plugin can be asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Task {
    /// Say what the agent is at.
    Look,
    /// Submit a prompt.
    Submit {
        /// The conversation it is for; in any other it is refused.
        session: String,
        /// The text.
        text: String,
    },
}

/// `POST /answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The load of the plugin that was asked.
    pub instance: String,
    /// The number of the order.
    pub number: u64,
    /// What came of it.
    pub reply: Reply,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reply {
    /// What the agent is at.
    Look {
        /// The conversation that is shown.
        session: String,
        /// What goes on in it.
        at: PluginAt,
    },
    /// The prompt has entered the conversation.
    Entered {
        /// The text that entered.
        text: String,
    },
    /// The prompt has not entered and never will.
    Refused {
        /// Why, for people.
        why: String,
    },
    /// The agent keeps the prompt until it can take it.
    Waiting,
    /// Nobody can say.
    Failed {
        /// What is known, for people.
        why: String,
    },
}

/// What an agent is at, as its plugin sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginAt {
    /// Nothing.
    Rest,
    /// A turn, or a compaction.
    Turn,
    /// A dialog has the keyboard.
    Dialog,
    /// There is no prompt box.
    Unknown,
}
