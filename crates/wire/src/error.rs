//! Errors: a stable code, a message for people and a hint that says what to do next.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The body of every answer that is not a success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What went wrong.
    pub error: ErrorDetail,
}

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorDetail {
    /// Stable code, for scripts.
    pub code: ErrorCode,
    /// For people; may change.
    pub message: String,
    /// What to do next.
    pub hint: Option<String>,
}

macro_rules! error_codes {
    ($($variant:ident = $code:literal, exit $exit:literal, status $status:literal, $meaning:literal;)*) => {
        /// Stable error codes. Each has one exit code of the command line and one HTTP status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum ErrorCode {
            $(#[doc = $meaning] #[serde(rename = $code)] $variant,)*
        }

        impl ErrorCode {
            /// All codes, in the order of the reference page.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The code as scripts see it.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// The exit code of a command that fails with it.
            pub const fn exit_code(self) -> u8 {
                match self { $(Self::$variant => $exit),* }
            }

            /// The HTTP status of an answer that carries it.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),* }
            }

            /// What it means, in one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }
        }
    };
}

error_codes! {
    Usage = "E_USAGE", exit 2, status 400, "The command line or a query parameter is not understood.";
    BadJson = "E_BAD_JSON", exit 2, status 400, "The body is not the JSON that the route takes.";
    UnknownState = "E_UNKNOWN_STATE", exit 2, status 400, "No state has that name.";
    BadText = "E_BAD_TEXT", exit 2, status 400, "The text cannot be typed at the agent as it is; nothing was typed.";
    BadName = "E_BAD_NAME", exit 2, status 400, "A name has characters that names must not have.";
    NameTaken = "E_NAME_TAKEN", exit 4, status 409, "Another runtime has that name.";
    RefMalformed = "E_REF_MALFORMED", exit 2, status 400, "The reference does not follow the grammar.";
    Config = "E_CONFIG", exit 2, status 500, "The configuration file cannot be read or parsed.";
    TooLarge = "E_TOO_LARGE", exit 2, status 413, "The request is larger than the daemon takes.";
    NotInPane = "E_NOT_IN_PANE", exit 2, status 400, "The command has to run inside a tmux pane, or be told which one.";
    DaemonUnreachable = "E_DAEMON_UNREACHABLE", exit 3, status 503, "The daemon does not answer and could not be started.";
    SocketNotASocket = "E_SOCKET_NOT_A_SOCKET", exit 3, status 503, "Something that is not a socket lies where the daemon's socket belongs.";
    RefNotFound = "E_REF_NOT_FOUND", exit 4, status 404, "Nothing matches the reference.";
    RefAmbiguous = "E_REF_AMBIGUOUS", exit 4, status 409, "Several things match the reference; nothing was done.";
    RuntimeStale = "E_RUNTIME_STALE", exit 4, status 409, "The runtime has ended or was never known.";
    PreconditionFailed = "E_PRECONDITION_FAILED", exit 4, status 412, "What the request takes for granted is not so.";
    SnapshotExpired = "E_SNAPSHOT_EXPIRED", exit 4, status 410, "What the action was decided on is too old to act on; nothing was done.";
    Blocked = "E_BLOCKED", exit 4, status 409, "The agent shows a dialog or question that typed text would answer; nothing was typed.";
    Draft = "E_DRAFT", exit 4, status 409, "Somebody's unsent text is in the agent's composer; nothing was typed.";
    NotAllowed = "E_NOT_ALLOWED", exit 4, status 403, "An agent asked for something that only a person may do, or an agent that was granted it.";
    TargetNotFound = "E_TARGET_NOT_FOUND", exit 4, status 404, "No target has that name.";
    TargetExists = "E_TARGET_EXISTS", exit 4, status 409, "A target of that name exists with other settings.";
    TargetUnreachable = "E_TARGET_UNREACHABLE", exit 4, status 502, "The target cannot be reached.";
    ForeignPane = "E_FOREIGN_PANE", exit 4, status 403, "The pane belongs to another user's tmux server.";
    Forbidden = "E_FORBIDDEN", exit 4, status 403, "The daemon serves only the user it runs as.";
    RateLimited = "E_RATE_LIMITED", exit 1, status 429, "Too many requests or messages in a short time; nothing was done.";
    NoSuchRoute = "E_NO_SUCH_ROUTE", exit 1, status 404, "The daemon has no such route; it may be older than the client.";
    StoreFull = "E_STORE_FULL", exit 1, status 507, "The disk is full; nothing new is accepted until there is room.";
    StoreReadOnly = "E_STORE_READ_ONLY", exit 1, status 507, "The state directory cannot be written.";
    StoreCorrupt = "E_STORE_CORRUPT", exit 1, status 500, "The database is damaged.";
    StoreNewer = "E_STORE_NEWER", exit 1, status 500, "The database was written by a newer agtmux.";
    StoreOwned = "E_STORE_OWNED", exit 1, status 500, "Another daemon owns the state directory.";
    StateDirForeign = "E_STATE_DIR_FOREIGN", exit 1, status 500, "The state directory belongs to somebody else or is open to others.";
    AuditBroken = "E_AUDIT_BROKEN", exit 1, status 500, "The record of what was done to agents was changed, or a part of it is gone.";
    Store = "E_STORE", exit 1, status 500, "The database failed.";
    SetupRefused = "E_SETUP_REFUSED", exit 4, status 409, "An agent's configuration cannot be edited safely and was left as it is.";
    NotSetUp = "E_NOT_SET_UP", exit 1, status 409, "An agent does not have the hooks or instructions that it should have.";
    TmuxMissing = "E_TMUX_MISSING", exit 1, status 503, "No tmux program is installed.";
    TmuxTooOld = "E_TMUX_TOO_OLD", exit 1, status 503, "The installed tmux is older than 3.2.";
    NobodyWaits = "E_NOBODY_WAITS", exit 1, status 404, "No agent waits for a person.";
    StillRunning = "E_STILL_RUNNING", exit 1, status 409, "The agent was signalled and did not end.";
    Unconfirmed = "E_UNCONFIRMED", exit 1, status 502, "It was done, and nothing shows that the agent took it.";
    OutcomeUnknown = "E_OUTCOME_UNKNOWN", exit 1, status 502, "The daemon ended before it answered; whether it was done is not known. Look before doing it again.";
    AgentUnknown = "E_AGENT_UNKNOWN", exit 2, status 400, "No agent and no model has that name.";
    AgentMissing = "E_AGENT_MISSING", exit 1, status 409, "The agent's program is not installed, or not on the path.";
    SpawnFailed = "E_SPAWN_FAILED", exit 1, status 500, "The agent was started and ended at once, or could not be started.";
    Worktree = "E_WORKTREE", exit 4, status 409, "Git cannot make the worktree, or work would be lost by removing it; nothing was changed.";
    Cancelled = "E_CANCELLED", exit 1, status 400, "The person said no.";
    Internal = "E_INTERNAL", exit 1, status 500, "Something failed that should not have; the daemon's log says what.";
    Timeout = "E_TIMEOUT", exit 5, status 504, "It took longer than it may.";
}

impl ErrorCode {
    /// Whether nothing was done where this is the answer: it was refused, or not even understood. With any other code
    /// something may have been done.
    pub const fn is_refusal(self) -> bool {
        matches!(self.exit_code(), 2 | 4) || matches!(self, Self::RateLimited)
    }

    /// The code of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.name() == name)
    }
}
