//! What an observer reports. Reports are levels, not edges: each says how things are, so that a lost or refused one
//! is made good by the next.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use agtmux_agents::Reading;
use agtmux_agents::detector::Statement;
use agtmux_core::id::{PaneId, PaneKey, ServerId};
use agtmux_core::reconcile::{AgentSight, ServerSight};
use agtmux_core::signal::{Claim, Source};
use tokio::sync::oneshot;

/// A report to the daemon's main loop.
#[derive(Clone, Debug)]
pub enum Observation {
    /// How the connection to a tmux server stands.
    Connection {
        /// The server's socket.
        socket: PathBuf,
        /// How it stands.
        status: Connection,
    },
    /// All panes of a server, as tmux says.
    Panes {
        /// The server and where its panes are.
        sight: ServerSight,
        /// What else there is to show of each pane. Without command and directory where those were not asked for.
        surfaces: Vec<(PaneKey, Surface)>,
    },
    /// Which agents some panes hold, as the process table says.
    Agents {
        /// One entry per pane that was looked at.
        sights: Vec<AgentSight>,
    },
    /// The surface of one pane changed.
    Surface {
        /// Which pane.
        pane: PaneKey,
        /// What there is to show of it.
        surface: Surface,
    },
    /// Something was said in a pane's stream or is on its screen.
    Heard(Box<Heard>),
    /// How many pane streams are read.
    Streams {
        /// Whose.
        server: ServerId,
        /// The figures.
        figures: StreamFigures,
        /// The panes whose pipe somebody else has.
        taken: BTreeSet<PaneId>,
    },
}

/// What an observer read itself, just now.
#[derive(Clone, Debug)]
pub struct Heard {
    /// Where.
    pub source: Source,
    /// Whom it is about.
    pub claim: Claim,
    /// What it says, in order.
    pub readings: Vec<Reading>,
}

/// A pane was painted. Told once until somebody [takes](Self::take) it.
#[derive(Clone, Debug)]
pub struct Paint {
    /// Which pane.
    pub pane: PaneKey,
    /// Whether it was painted since that was last taken.
    pub fresh: Arc<AtomicBool>,
}

impl Paint {
    /// Notes new paint. Says whether that is news.
    pub fn put(&self) -> bool {
        !self.fresh.swap(true, Ordering::AcqRel)
    }

    /// Whether it was painted since this was last asked.
    pub fn take(&self) -> bool {
        self.fresh.swap(false, Ordering::AcqRel)
    }

    /// Whether anybody but the holder still has it, as the reader of the pane's stream does until the stream ends.
    pub fn is_read(&self) -> bool {
        Arc::strong_count(&self.fresh) > 1
    }
}

/// A pane in whose history markers may stand that nobody has heard.
#[derive(Debug)]
pub struct Gap {
    /// Which pane.
    pub pane: PaneKey,
    /// Why nobody may have heard them.
    pub why: Missed,
}

/// Why markers may stand in a pane that nobody has heard.
#[derive(Debug)]
pub enum Missed {
    /// Its stream is read from now on. The reader takes no marker for news before it was given those that stand there.
    Attached(oneshot::Sender<Vec<Statement>>),
    /// The marker that was said last was written again.
    Repeated,
    /// Somebody else has its pipe.
    Taken,
}

/// How the connection to a tmux server stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No server listens.
    NotRunning,
    /// A server listens; the connection is being made, or made again.
    Connecting {
        /// Why it is not made yet.
        why: Option<String>,
    },
    /// Watched.
    Connected {
        /// Which life of the server.
        server: ServerId,
        /// Its process.
        pid: u32,
        /// When it started, in seconds since the epoch.
        start_time: i64,
        /// Its version.
        version: String,
    },
    /// The server, or the tmux program, cannot be used.
    Unusable {
        /// Why.
        why: String,
    },
}

/// What there is to show of a pane beyond its place. Never decides a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surface {
    /// Its title.
    pub title: Option<String>,
    /// The directory of its foreground process.
    pub cwd: Option<String>,
    /// The name of its foreground process.
    pub command: Option<String>,
}

/// Figures on the pane streams of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamFigures {
    /// Open streams.
    pub open: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Panes whose pipe somebody else has.
    pub taken: u64,
}
