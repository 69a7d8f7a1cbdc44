//! Messages between people and agents.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::ErrorDetail;

/// Asks for a message to be delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMessage {
    /// To whom: a reference to an agent.
    #[serde(default)]
    pub to: String,
    /// The text, up to 64 KiB.
    pub text: String,
    /// `sequential`, when the agent has nothing left to do; `important`, when its turn has ended; or `urgent`, at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery_mode: Option<String>,
    /// An id of one's own: asked again with it, nothing is sent twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// It is not delivered after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Tell the agent that sends it when it was delivered.
    #[serde(default)]
    pub notify_on_delivery: bool,
    /// Tell the agent that sends it so many seconds after it was delivered, to look what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_after_seconds: Option<u64>,
    /// It is a reminder, and not delivered before so many seconds have passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<u64>,
    /// The reminder comes again every so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u64>,
    /// It is words, though it begins like a command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words: bool,
}

/// Asks for a message to be delivered to several agents: those that are named, and those that are meant by `all`, `agent` and
/// `state`, of whom the one that asks is none. Each gets a message of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PostMessages {
    /// To whom: references to agents.
    #[serde(default)]
    pub to: Vec<String>,
    /// To all agents.
    #[serde(default)]
    pub all: bool,
    /// To all agents of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// To all agents in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The message, without a recipient. Of its id each one gets one of its own, the same each time.
    pub message: PostMessage,
}

/// What became of a message to several agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedMessages {
    /// Version of this document.
    pub schema_version: u32,
    /// One for each that was meant.
    pub items: Vec<PostedMessage>,
}

/// What became of a message to one of several agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedMessage {
    /// Who was meant, as it was asked for.
    pub to: String,
    /// The message, if it was accepted.
    pub message: Option<Message>,
    /// Why it was not.
    pub error: Option<ErrorDetail>,
}

/// Asks for a reminder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemindRequest {
    /// Whom to remind: a reference to an agent; the agent that asks, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// In how many seconds.
    pub delay_seconds: u64,
    /// Of what.
    pub message: String,
    /// Again and again.
    #[serde(default)]
    pub recurring: bool,
    /// It is words, though it begins like a command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub words: bool,
    /// An id of one's own: asked again with it, nothing is sent twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// A message and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Version of this document.
    pub schema_version: u32,
    /// Its id.
    pub id: String,
    /// Where it is: `queued`, `leased`, `started`, `submitted`, `confirmed`, `unconfirmed`, `expired`, `cancelled` or `dead`; in the
    /// answer to whoever sends something urgent, `delivered` once it is at least submitted.
    pub status: String,
    /// What it came to: `confirmed`, `unconfirmed` or `not_delivered`; none while it is under way.
    pub verdict: Option<String>,
    /// Its place among those that were not delivered yet, counted from one.
    pub queue_position: Option<u64>,
    /// When it may be delivered.
    pub delivery_mode: String,
    /// What it waits for; `now` if for nothing, none once it was delivered.
    pub estimated_delivery: Option<String>,
    /// What exactly it waits for, for people, where there is more to say: why the last try came to nothing, for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_because: Option<String>,
    /// Whether a turn was interrupted for it.
    #[serde(default)]
    pub interrupted: bool,
    /// To whom.
    pub to: MessageParty,
    /// From whom.
    pub from: MessageParty,
    /// When it was accepted.
    pub queued_at: String,
    /// It is not delivered after this.
    pub timeout_at: Option<String>,
    /// It is not delivered before this.
    pub not_before: Option<String>,
    /// It comes again every so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_seconds: Option<u64>,
    /// `mail`, `notice` of agtmux itself, or `reminder`.
    pub category: String,
    /// Whether the agent that sent it is told when it was delivered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notify_on_delivery: bool,
    /// The agent that sent it is told so many seconds after it was delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify_after_seconds: Option<u64>,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// Whether that one is not remembered any more, if it ever was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reply_to_forgotten: bool,
    /// How long it is.
    pub bytes: u64,
    /// How it begins.
    pub preview: String,
    /// Whether it is a command such as `/compact`, which the agent is to run: a line of a person that begins with a slash and a word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub command: bool,
    /// By which way it came to the agent, `wrapper` for instance; none before that.
    #[serde(default)]
    pub channel: Option<String>,
    /// Why by that one, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel_reason: Option<String>,
    /// The message that it is, if it was sent anew to an agent that goes on with a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_of: Option<String>,
    /// Whether the agent may have been given it before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redelivered: bool,
    /// What it was sent as anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_again_as: Option<String>,
    /// What happened to it.
    pub steps: Vec<MessageStep>,
}

/// Who wrote a message, or gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageParty {
    /// What they are called.
    pub name: String,
    /// The runtime of an agent, the user of a person.
    pub id: String,
}

/// A step that a message took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageStep {
    /// Where in the log.
    #[serde(default)]
    pub seq: u64,
    /// When.
    pub at: String,
    /// Where to.
    pub to: String,
    /// Why, or on what evidence.
    pub why: String,
}

/// What of a list of messages is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageQuery {
    /// Only those for this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Those that are over too.
    #[serde(default)]
    pub all: bool,
}

/// How long to wait for what becomes of a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageWait {
    /// Until it is over, or for so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Until it was submitted, or it is known what it waits for, or for so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settle_ms: Option<u64>,
}

/// Messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageList {
    /// Version of this document.
    pub schema_version: u32,
    /// The messages, in the order in which they will be delivered; those that are over last.
    pub items: Vec<Message>,
}

/// The messages that wait for one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SendQueue {
    /// The agent's runtime.
    pub session_id: String,
    /// Whether the agent has nothing left to do.
    pub is_idle: bool,
    /// How many were not delivered yet.
    pub pending_count: u64,
    /// Those that were not delivered yet, the next one first.
    pub pending_messages: Vec<PendingMessage>,
    /// A person's text that was put aside for a delivery and is not back yet. Agents are not told.
    pub saved_user_input: Option<String>,
}

/// A message that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingMessage {
    /// Its id.
    pub id: String,
    /// Who wrote it.
    pub sender: String,
    /// When it was accepted.
    pub queued_at: String,
    /// It is not delivered after this.
    pub timeout_at: Option<String>,
}
