//! Signals: what an adapter read from a hook, file, stream, screen or model, in the words of the domain.

use serde::{Deserialize, Serialize};

use crate::id::{EventId, PaneKey, ProcessKey, RuntimeId, TargetName};
use crate::time::{Stamp, Timestamp};

/// A signal with everything needed to dedupe, order and bind it. This is the envelope every source fills.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalEvent {
    /// Unique id of this ingestion.
    pub event_id: EventId,
    /// Who said it.
    pub source: Source,
    /// What the source itself calls the event, if it has a name for it.
    pub source_event_id: Option<String>,
    /// Repeats of one event carry one key; within a runtime and source the second one changes nothing (I7).
    pub dedupe_key: String,
    /// Order within one runtime and source. Without it, ingest order counts; `event_time` never does (I11).
    pub source_seq: Option<u64>,
    /// When it was said, on the host's boot clock: by the source if it stamped, else by the daemon at ingest.
    pub emitted: Stamp,
    /// The source's wall clock, for display only.
    pub event_time: Option<Timestamp>,
    /// Whom it claims to be about.
    pub claim: Claim,
    /// What it says.
    pub signal: Signal,
    /// Text for the person: the question, the summary, the error.
    pub message: Option<String>,
    /// The raw payload, redacted before it got here; kept for a while so that better rules can be tried on old logs.
    pub payload: Option<String>,
}

/// Which runtime a signal says it belongs to. A claim is a hint until [`crate::binding`] has checked it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The target it came from.
    pub target: TargetName,
    /// The runtime, when the sender knows it.
    pub runtime: Option<RuntimeId>,
    /// The pane, usually from `TMUX_PANE`.
    pub pane: Option<PaneKey>,
    /// The agent's process, when the sender knows it.
    pub process: Option<ProcessKey>,
    /// The sender's own ancestors as the daemon read them from the kernel: proof, where the others are hearsay.
    /// `None` when the sender is not a local process; an empty list when it was gone before it could be read.
    pub ancestors: Option<Vec<ProcessKey>>,
}

impl Claim {
    /// The claim of a reader that knows whose traces it reads.
    pub const fn of_runtime(target: TargetName, runtime: RuntimeId) -> Self {
        Self { target, runtime: Some(runtime), pane: None, process: None, ancestors: None }
    }
}

/// Where a signal came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A hook the agent runs.
    Hook,
    /// The agent's notify command or plugin.
    Notify,
    /// Our PTY wrapper.
    Wrapper,
    /// The agent's own server protocol.
    AppServer,
    /// `agtmux signal`, run inside a pane.
    Signal,
    /// `POST /v1/events`.
    Api,
    /// The one-line status file.
    StatusFile,
    /// The append-only events file.
    EventsFile,
    /// A file the agent's vendor writes: session file, transcript, rollout.
    VendorFile,
    /// A text marker or `OSC 777` in the pane's stream.
    Marker,
    /// An operating system command sequence, title or bell in the pane's stream.
    Osc,
    /// Rules over the captured screen.
    Screen,
    /// A marker that was found on the screen when nobody had been listening: whether it still holds is anybody's guess.
    Scrollback,
    /// A language model's reading of the screen.
    Llm,
}

/// How far a source is to be trusted. The order is the rank: later is stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// A guess: a model's, or what was left standing on a screen.
    Guessed,
    /// Seen in the pane's stream or on its screen.
    Observed,
    /// Read from a file that the agent or its vendor wrote.
    Recorded,
    /// Said by the agent itself.
    Reported,
}

impl Source {
    /// All sources, in order of declaration.
    pub const ALL: [Self; 14] = [
        Self::Hook,
        Self::Notify,
        Self::Wrapper,
        Self::AppServer,
        Self::Signal,
        Self::Api,
        Self::StatusFile,
        Self::EventsFile,
        Self::VendorFile,
        Self::Marker,
        Self::Osc,
        Self::Screen,
        Self::Scrollback,
        Self::Llm,
    ];

    /// The trust class of everything this source says.
    pub const fn evidence(self) -> Evidence {
        match self {
            Self::Hook | Self::Notify | Self::Wrapper | Self::AppServer | Self::Signal | Self::Api => {
                Evidence::Reported
            }
            Self::StatusFile | Self::EventsFile | Self::VendorFile => Evidence::Recorded,
            Self::Marker | Self::Osc | Self::Screen => Evidence::Observed,
            Self::Scrollback | Self::Llm => Evidence::Guessed,
        }
    }

    /// Whether the agent, or a person for it, says in so many words how it stands with its task. The other sources tell of
    /// turns and dialogs, which begin and end without regard to the task.
    pub const fn declares(self) -> bool {
        match self {
            Self::Signal | Self::Api | Self::StatusFile | Self::EventsFile | Self::Marker => true,
            Self::Hook
            | Self::Notify
            | Self::Wrapper
            | Self::AppServer
            | Self::VendorFile
            | Self::Osc
            | Self::Screen
            | Self::Scrollback
            | Self::Llm => false,
        }
    }

    /// Whether an "unblocked" of this source means that the person was seen to answer. Elsewhere it may only mean that
    /// a tool returned.
    pub const fn sees_replies(self) -> bool {
        matches!(self, Self::Wrapper | Self::Screen)
    }

    /// The name used in the log, the API and configuration.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Notify => "notify",
            Self::Wrapper => "wrapper",
            Self::AppServer => "app_server",
            Self::Signal => "signal",
            Self::Api => "api",
            Self::StatusFile => "status_file",
            Self::EventsFile => "events_file",
            Self::VendorFile => "vendor_file",
            Self::Marker => "marker",
            Self::Osc => "osc",
            Self::Screen => "screen",
            Self::Scrollback => "scrollback",
            Self::Llm => "llm",
        }
    }

    /// The source of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.name() == name)
    }
}

impl Evidence {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Guessed => "guessed",
            Self::Observed => "observed",
            Self::Recorded => "recorded",
            Self::Reported => "reported",
        }
    }
}

/// What a source says happened, or is so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Signal {
    /// A prompt was submitted or a turn began. A turn boundary.
    TurnStarted,
    /// The turn is over. A turn boundary.
    TurnEnded {
        /// How it ended.
        outcome: Outcome,
    },
    /// No turn is under way: the agent sits at its composer. A turn boundary.
    Idle,
    /// The agent cannot go on without the person.
    Blocked {
        /// On what.
        on: Blocking,
    },
    /// What it was blocked on is settled; the turn goes on.
    Unblocked,
    /// What the agent is busy with inside the turn.
    Working {
        /// With what.
        with: Work,
    },
    /// The work inside the turn that was last told of is over.
    WorkEnded,
    /// How many background tasks run, whether or not a turn does. Stop is not idle (F20).
    Background {
        /// The number of tasks.
        count: u32,
    },
    /// What is in the agent's input box.
    Composer {
        /// Its condition.
        #[serde(rename = "input")]
        is: Composer,
    },
    /// Nothing new: what this source said last still holds. Renews its expiry.
    StillSo,
    /// The source takes back everything it said.
    Withdrawn,
    /// A trace that no rule understands. Kept as a near miss; never moves a state (I10).
    Unsupported {
        /// What was seen, shortened.
        what: String,
    },
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Outcome {
    /// The agent finished what it was doing.
    Done,
    /// The person stopped it.
    Interrupted,
    /// It is over, and how it ended is no longer of interest: the source says "idle" and means just that. Unlike
    /// [`Signal::Idle`], which a source may say right after "done" without taking that back (F9).
    Settled,
    /// It failed.
    Failed {
        /// Why.
        cause: Cause,
    },
}

/// Why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Too many requests; the provider asks to wait.
    RateLimit,
    /// The plan's allowance is used up.
    UsageLimit,
    /// Not logged in, or the key was refused.
    Auth,
    /// The provider could not be reached or failed.
    Network,
    /// The agent's process died.
    Crashed,
    /// A tool failed and ended the turn.
    Tool,
    /// The model refused.
    Refused,
    /// The agent said "error" and no more.
    Reported,
    /// Anything else.
    Other,
}

impl Cause {
    /// The name used as a reason code.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "rate_limit",
            Self::UsageLimit => "usage_limit",
            Self::Auth => "auth",
            Self::Network => "network",
            Self::Crashed => "crashed",
            Self::Tool => "tool",
            Self::Refused => "refused",
            Self::Reported => "reported",
            Self::Other => "other",
        }
    }
}

/// What the agent waits for the person to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Blocking {
    /// Allow or refuse something.
    Approval {
        /// What is to be allowed: the tool or command, as shown.
        subject: Option<String>,
        /// Hash of the prompt as shown; an answer is bound to it.
        prompt_hash: Option<String>,
    },
    /// Answer a question.
    Input {
        /// What kind of input.
        kind: InputKind,
    },
    /// Deal with a dialog of the program itself: trust, login, model choice.
    Dialog {
        /// Which one.
        name: Option<String>,
    },
}

/// What kind of answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A question to be answered in words or by choice.
    Question,
    /// The person is to try something out and say how it went.
    NeedsTesting,
}

/// What the agent is busy with inside a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Work {
    /// The model is thinking or writing.
    Thinking,
    /// A tool runs.
    Tool {
        /// Its name.
        name: String,
    },
    /// The conversation is being compacted; nothing may be typed meanwhile (F60).
    Compacting,
    /// The provider asked for patience; the agent tries again by itself.
    Retrying {
        /// Why.
        cause: Cause,
    },
}

/// What is in the agent's input box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Composer {
    /// Empty and able to take text.
    Ready,
    /// Holds a person's unsent text.
    Draft,
    /// Shows placeholder text that is not a draft.
    Ghost,
    /// Holds prompts that wait for the turn to end.
    Queued {
        /// How many.
        count: u32,
    },
    /// Not on the screen.
    Hidden,
}

/// The signal that a state name stands for, in the names of this program and of schmux.
///
/// # Errors
/// Any other name is refused with the list of those that are known.
pub fn from_state_name(name: &str) -> Result<Signal, UnknownStateName> {
    let signal = match name {
        "running" | "working" => Signal::TurnStarted,
        "waiting_input" | "needs_input" => Signal::Blocked { on: Blocking::Input { kind: InputKind::Question } },
        "needs_testing" => Signal::Blocked { on: Blocking::Input { kind: InputKind::NeedsTesting } },
        "waiting_approval" => Signal::Blocked { on: Blocking::Approval { subject: None, prompt_hash: None } },
        "completed" => Signal::TurnEnded { outcome: Outcome::Done },
        "idle" => Signal::TurnEnded { outcome: Outcome::Settled },
        "error" => Signal::TurnEnded { outcome: Outcome::Failed { cause: Cause::Reported } },
        "unknown" => Signal::Withdrawn,
        _ => {
            return Err(UnknownStateName { name: name.to_owned() });
        }
    };
    Ok(signal)
}

/// Every name that [`from_state_name`] takes.
pub const STATE_NAMES: [&str; 10] = [
    "running",
    "waiting_input",
    "waiting_approval",
    "completed",
    "idle",
    "error",
    "unknown",
    "working",
    "needs_input",
    "needs_testing",
];

/// A state name that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown state {name:?}")]
pub struct UnknownStateName {
    /// The name as it was given.
    pub name: String,
}
