//! Names of things. Every id is its own type, so that a pane can never stand where a window was meant.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text of an id that came from the log or from outside.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// The name of a target: a place where commands run.
    TargetName
);
text_id!(
    /// One life of one tmux server: derived from target, socket, pid and start time.
    ServerId
);
text_id!(
    /// One life of one agent process in one pane.
    RuntimeId
);
text_id!(
    /// The program kind: `claude`, `codex`, …
    AgentId
);
text_id!(
    /// One ingested event, unique over all time.
    EventId
);
text_id!(
    /// One boot of one host. Boot-clock readings of different boots cannot be compared.
    BootId
);
text_id!(
    /// One action, from the wish to its outcome. Random, so that nobody can name a snapshot they were not given.
    ActionId
);
text_id!(
    /// A wanted effect. Stable: the same state gives the same id, after a restart too.
    IntentId
);

macro_rules! tmux_id {
    ($(#[$doc:meta])* $name:ident, $sigil:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($sigil, "{}"), self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = MalformedId;

            fn from_str(text: &str) -> Result<Self, MalformedId> {
                text.strip_prefix($sigil)
                    .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|digits| digits.parse().ok())
                    .map(Self)
                    .ok_or_else(|| MalformedId { expected: $sigil, text: text.to_owned() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = MalformedId;

            fn try_from(text: String) -> Result<Self, MalformedId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }
    };
}

tmux_id!(
    /// A tmux pane id (`%3`). Reused after a server restart, so it names a pane only together with its server.
    PaneId, "%"
);
tmux_id!(
    /// A tmux window id (`@1`).
    WindowId, "@"
);
tmux_id!(
    /// A tmux session id (`$0`).
    SessionId, "$"
);

/// A tmux id that is not a sigil followed by digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}<number>, got {text:?}")]
pub struct MalformedId {
    expected: &'static str,
    text: String,
}

/// A pane of one life of one server: the only key under which a pane may be remembered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PaneKey {
    /// The server's life.
    pub server: ServerId,
    /// The pane within it.
    pub pane: PaneId,
}

/// A process that cannot be confused with a later one of the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// The process id.
    pub pid: u32,
    /// Start time as the platform counts it (Linux: clock ticks since boot). Opaque: compared only for equality.
    pub start: u64,
}

impl TargetName {
    /// This host: the target that is always there.
    pub fn local() -> Self {
        Self("local".to_owned())
    }

    /// Whether the name may be given to a target: `^[a-z0-9][a-z0-9._-]{0,62}$`. It goes into refs, argv and file
    /// names, so it holds nothing that any of these could take for syntax.
    pub fn is_valid(&self) -> bool {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        self.0.len() <= 63
            && self.0.bytes().next().is_some_and(plain)
            && self.0.bytes().all(|b| plain(b) || matches!(b, b'.' | b'_' | b'-'))
    }
}

impl ServerId {
    /// Derives the id of a server's life. A restarted server has another pid or start time, hence another id.
    pub fn derive(target: &TargetName, socket: &str, pid: u32, start_time: i64) -> Self {
        Self(digest("srv", &[target.as_str(), socket, &pid.to_string(), &start_time.to_string()]))
    }
}

impl RuntimeId {
    /// Derives the id of a runtime. The same process seen again, by a restarted daemon for instance, gets the same id.
    pub fn derive(pane: &PaneKey, boot: &BootId, process: ProcessKey, agent: &AgentId) -> Self {
        Self(digest(
            "rt",
            &[
                pane.server.as_str(),
                &pane.pane.to_string(),
                boot.as_str(),
                &process.pid.to_string(),
                &process.start.to_string(),
                agent.as_str(),
            ],
        ))
    }
}

/// 80 bits of SHA-256 in lower-case base 32: short enough to type, too long to meet twice.
pub(crate) fn digest(prefix: &str, parts: &[&str]) -> String {
    const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = format!("{prefix}_");
    let bytes = hash.finalize();
    for chunk in bytes[..10].chunks(5) {
        let bits = chunk.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        for place in (0..8).rev() {
            text.push(char::from(ALPHABET[(bits >> (place * 5) & 31) as usize]));
        }
    }
    text
}
