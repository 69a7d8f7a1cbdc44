//! Where a message can be, and what it can come to.

use serde::{Deserialize, Serialize};

/// Where a message is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Stage {
    /// It waits.
    Queued,
    /// It is chosen for a delivery.
    Leased,
    /// It may have been typed.
    Started,
    /// The agent seems to have taken it.
    Submitted,
    /// It is over.
    Ended {
        /// How.
        how: Ended,
    },
}

/// What a message came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The agent says that it was given it.
    Confirmed,
    /// It may have arrived.
    Unconfirmed,
    /// It was too late for it.
    Expired,
    /// Somebody took it back.
    Cancelled,
    /// The agent ended before.
    Dead,
}

impl Ended {
    /// What the sender is told: one of three.
    pub const fn verdict(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Unconfirmed => "unconfirmed",
            Self::Expired | Self::Cancelled | Self::Dead => "not_delivered",
        }
    }
}

impl Stage {
    /// The name used in the API.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Started => "started",
            Self::Submitted => "submitted",
            Self::Ended { how } => match how {
                Ended::Confirmed => "confirmed",
                Ended::Unconfirmed => "unconfirmed",
                Ended::Expired => "expired",
                Ended::Cancelled => "cancelled",
                Ended::Dead => "dead",
            },
        }
    }

    /// Whether a delivery of it is under way, of which nobody can say yet whether it comes to anything.
    pub const fn is_tried(&self) -> bool {
        matches!(self, Self::Leased | Self::Started)
    }

    /// Whether the agent was surely not given it, or nobody can say yet.
    pub const fn is_undelivered(&self) -> bool {
        matches!(self, Self::Queued) || self.is_tried()
    }

    /// What it came to.
    pub const fn ended(&self) -> Option<Ended> {
        match self {
            Self::Ended { how } => Some(*how),
            Self::Queued | Self::Leased | Self::Started | Self::Submitted => None,
        }
    }
}
