//! Everything the daemon knows, as the main loop owns it: the engine's state, what tmux shows of each pane, and how
//! the connections stand.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use agtmux_agents::Capabilities;
use agtmux_core::engine::Engine;
use agtmux_core::event::TargetKind;
use agtmux_core::id::{PaneId, PaneKey, RuntimeId, ServerId, TargetName};
use agtmux_core::mail::MailPolicy;
use agtmux_core::permission::Permissions;
use agtmux_core::query::{self, PaneFilter, PaneRow};
use agtmux_core::time::Timestamp;
use agtmux_wire::error::ErrorCode;

use super::roster::Conversation;
use crate::error::CommandError;
use crate::platform::Program;
use crate::target::manifests::Manifests;
use crate::target::observation::{Connection, StreamFigures, Surface};

/// The name of the target that is this host.
pub const LOCAL: &str = "local";

/// What the main loop owns.
pub struct World {
    /// The truth.
    pub engine: Engine,
    /// The newest place of the stream and the log.
    pub seq: u64,
    /// What there is to show of each pane.
    pub surfaces: BTreeMap<PaneKey, Surface>,
    /// The conversations of living agents. Learned anew after a restart, from the next hook or record.
    pub conversations: BTreeMap<RuntimeId, Conversation>,
    /// The tmux servers that are watched, by socket.
    pub servers: BTreeMap<PathBuf, ServerWatch>,
    /// What is not as it should be with the store, if anything.
    pub store_problem: Option<CommandError>,
    /// What keeps readers of the daemon's own from their work, by reader.
    pub troubles: BTreeMap<&'static str, String>,
    /// What agents may do to agents.
    pub permissions: Permissions,
    /// Whom agents may write to.
    pub mail_policy: MailPolicy,
    /// What agents look like.
    pub manifests: Manifests,
    /// What was odd at the start: warnings on configuration and manifests.
    pub start_notes: Vec<String>,
    /// Fixed facts about this daemon.
    pub about: About,
}

/// Fixed facts about a daemon.
#[derive(Clone, Debug)]
pub struct About {
    /// When it started.
    pub started_at: Timestamp,
    /// Counts the starts on this state directory.
    pub epoch: u64,
    /// Its socket.
    pub socket: PathBuf,
    /// Where its database is.
    pub state_dir: PathBuf,
    /// The program that it runs.
    pub program: Option<Program>,
}

/// A watched tmux server.
#[derive(Clone, Debug, Default)]
pub struct ServerWatch {
    /// How the connection stands; unknown before the first report.
    pub connection: Option<Connection>,
    /// Whether the first look at panes and agents is done, or there is nothing to look at.
    pub synced: bool,
    /// How often it was connected.
    pub connects: u64,
    /// Its pane streams.
    pub streams: StreamFigures,
    /// The panes whose pipe another program has.
    pub taken: BTreeSet<PaneId>,
}

/// A pane with everything there is to show of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneView {
    /// What core knows.
    pub row: PaneRow,
    /// What tmux shows.
    pub surface: Surface,
    /// The socket of its server.
    pub socket: String,
    /// What can be known of the agent in it, if its manifest is there.
    pub capabilities: Option<Capabilities>,
}

impl World {
    /// The panes that a filter lets through, in their order.
    pub fn panes(&self, filter: &PaneFilter) -> Vec<PaneView> {
        query::panes(&self.engine, filter).into_iter().map(|row| self.view(row)).collect()
    }

    /// Whether another program reads the output of a pane.
    pub fn is_taken(&self, pane: &PaneKey) -> bool {
        let is_on = |watch: &&ServerWatch| matches!(&watch.connection, Some(Connection::Connected { server, .. }) if *server == pane.server);
        self.servers.values().filter(is_on).any(|watch| watch.taken.contains(&pane.pane))
    }

    /// One pane.
    pub fn pane(&self, pane: &PaneKey) -> Option<PaneView> {
        query::pane(&self.engine, pane).map(|row| self.view(row))
    }

    fn view(&self, row: PaneRow) -> PaneView {
        let surface = self.surfaces.get(&row.pane).cloned().unwrap_or_default();
        let socket = self.socket_of(&row.pane.server).unwrap_or_default();
        let agent = row.runtime.as_ref().map(|runtime| runtime.agent.as_str());
        let capabilities = agent.and_then(|agent| self.manifests.now().get(agent).map(Capabilities::of));
        PaneView { row, surface, socket, capabilities }
    }

    fn socket_of(&self, server: &ServerId) -> Option<String> {
        self.engine.state().topology.servers.get(server).map(|server| server.socket.clone())
    }

    /// The life of the server that is watched on a socket now.
    pub fn server_on(&self, socket: &Path) -> Option<&ServerId> {
        match self.servers.get(socket)?.connection.as_ref()? {
            Connection::Connected { server, .. } => Some(server),
            Connection::NotRunning | Connection::Connecting { .. } | Connection::Unusable { .. } => None,
        }
    }

    /// The target that a name means. Earlier releases took further local targets; they still mean this host.
    ///
    /// # Errors
    /// Fails for a name that no target has.
    pub fn target(&self, name: &str) -> Result<TargetName, CommandError> {
        let targets = query::targets(&self.engine);
        let found = targets.iter().find(|target| target.target.as_str() == name).ok_or_else(|| {
            let known: Vec<_> = targets.iter().map(|target| target.target.as_str()).collect();
            CommandError::new(ErrorCode::TargetNotFound, format!("no target is named {name:?}"))
                .hint(format!("there is {}; `agtmux target add` makes another known", known.join(", ")))
        })?;
        Ok(match found.kind {
            TargetKind::Local => TargetName::new(LOCAL),
            TargetKind::Ssh => found.target.clone(),
        })
    }

    /// Whether every watched server has been looked at once, so that a list is the truth and not a beginning (F43).
    pub fn is_synced(&self) -> bool {
        self.servers.values().all(|server| server.synced)
    }

    /// What is not as it should be, for people.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.start_notes.clone();
        problems.extend(self.store_problem.as_ref().map(ToString::to_string));
        problems.extend(self.troubles.values().cloned());
        for (socket, server) in &self.servers {
            match &server.connection {
                Some(Connection::Unusable { why } | Connection::Connecting { why: Some(why) }) => {
                    problems.push(format!("{}: {why}", socket.display()));
                }
                Some(Connection::NotRunning | Connection::Connecting { why: None } | Connection::Connected { .. })
                | None => {}
            }
        }
        problems
    }
}
