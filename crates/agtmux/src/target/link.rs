//! How the daemon is connected to one life of a tmux server.
//!
//! By ordinary clients unless told otherwise: a control client that is merely connected makes servers up to tmux 3.6,
//! at least, crash on ordinary commands of the user, and this daemon watches servers on which somebody's agents live. Control
//! clients are cheaper per command; who runs a tmux that survives them can choose them (`tmux.link = "control"`).

use std::time::Duration;

use agtmux_tmux::client::{Client, ClientError};
use agtmux_tmux::command::{Command, Script};
use agtmux_tmux::hook_queue::{HookBatch, HookKind, HookQueue, HookReader, InstallError, Verified};
use agtmux_tmux::janitor::{Janitor, JanitorError, PipeNotes};
use agtmux_tmux::list::{Detail, PaneRow};
use agtmux_tmux::session::{HiddenSession, SessionError};
use agtmux_tmux::{Notification, Plain, Reply, Transport, server};
use tokio::sync::mpsc;

use super::observer::{CALL_DEADLINE, Observer};

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// Nothing listens on the socket.
    #[error("no tmux server is there")]
    NoServer,
    /// The hidden session could not be opened.
    #[error(transparent)]
    Session(SessionError),
    /// Nobody would tidy up after us.
    #[error(transparent)]
    Janitor(JanitorError),
    /// tmux did not do what it was told.
    #[error(transparent)]
    Client(#[from] ClientError),
}

impl From<InstallError> for LinkError {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Janitor(error) => Self::Janitor(error),
            InstallError::Client(error) => Self::Client(error),
        }
    }
}

impl From<SessionError> for LinkError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::NoServer(_) => Self::NoServer,
            error => Self::Session(error),
        }
    }
}

/// Which clients a link is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkKind {
    /// Ordinary ones.
    Plain,
    /// Two control clients on a hidden session.
    Control,
}

/// Runs commands, whichever way.
#[derive(Clone, Debug)]
pub enum Commands {
    /// By ordinary clients.
    Plain(Plain),
    /// By a control client.
    Control(Client),
}

impl Transport for Commands {
    async fn run(&self, command: &Command, deadline: Duration) -> Result<Reply, ClientError> {
        match self {
            Self::Plain(plain) => plain.run(command, deadline).await,
            Self::Control(client) => Transport::run(client, command, deadline).await,
        }
    }

    async fn run_script(&self, script: &Script, deadline: Duration) -> Result<Vec<u8>, ClientError> {
        match self {
            Self::Plain(plain) => plain.run_script(script, deadline).await,
            Self::Control(client) => Transport::run_script(client, script, deadline).await,
        }
    }
}

/// Something that happened in the server.
pub enum LinkEvent {
    /// Hooks told of it.
    Hooks(HookBatch),
    /// Panes may have come, gone, moved, been renamed or come into view.
    Structure,
}

/// A connection to one life of a server.
pub struct Link {
    commands: Commands,
    events: HookReader,
    keeper: Keeper,
}

/// What keeps the link, and what it leaves behind when we are killed: nothing.
enum Keeper {
    Plain { hooks: HookQueue<Plain>, janitor: Box<Janitor> },
    Control { hooks: HookQueue<Client>, session: Box<HiddenSession>, notifications: mpsc::Receiver<Notification> },
}

impl Link {
    /// Connects to the server behind the observer's socket. Never starts one.
    pub async fn open(observer: &Observer) -> Result<Self, LinkError> {
        if !server::is_alive(&observer.socket) {
            return Err(LinkError::NoServer);
        }
        match observer.link {
            LinkKind::Plain => Self::open_plain(observer).await,
            LinkKind::Control => Self::open_control(observer).await,
        }
    }

    async fn open_plain(observer: &Observer) -> Result<Self, LinkError> {
        let plain = Plain::new(&observer.tmux, &observer.socket);
        let (hooks, events, janitor) = HookQueue::install_plain(&plain, &observer.janitor, CALL_DEADLINE).await?;
        let keeper = Keeper::Plain { hooks, janitor: Box::new(janitor) };
        Ok(Self { commands: Commands::Plain(plain), events, keeper })
    }

    async fn open_control(observer: &Observer) -> Result<Self, LinkError> {
        let (session, notifications) = HiddenSession::open(&observer.tmux, &observer.socket, CALL_DEADLINE).await?;
        let commands = Commands::Control(session.control().clone());
        let (hooks, events) = HookQueue::install(&session, CALL_DEADLINE).await?;
        Ok(Self { commands, events, keeper: Keeper::Control { hooks, session: Box::new(session), notifications } })
    }

    /// For commands.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Where the janitor learns which pipes to free; none where tmux frees them itself.
    pub fn pipe_notes(&self) -> Option<PipeNotes> {
        match &self.keeper {
            Keeper::Plain { janitor, .. } => Some(janitor.pipe_notes()),
            Keeper::Control { .. } => None,
        }
    }

    /// Waits for something to happen. Safe to cancel.
    pub async fn next_event(&mut self) -> Result<LinkEvent, ClientError> {
        let Keeper::Control { session, notifications, .. } = &mut self.keeper else {
            return self.events.next_batch().await.map(LinkEvent::Hooks);
        };
        loop {
            tokio::select! {
                batch = self.events.next_batch() => return batch.map(LinkEvent::Hooks),
                notification = notifications.recv() => match notification {
                    Some(notification) if concerns_structure(&notification) => return Ok(LinkEvent::Structure),
                    Some(_) => {}
                    None => return Err(ClientError::Closed { reason: session.control().closed().await }),
                },
            }
        }
    }

    /// Checks that the hooks are in place, and puts them back if not.
    pub async fn verify_and_list(&self, detail: Detail) -> Result<(Verified, Vec<PaneRow>), ClientError> {
        match &self.keeper {
            Keeper::Plain { hooks, .. } => hooks.verify_and_list(detail, CALL_DEADLINE).await,
            Keeper::Control { hooks, .. } => hooks.verify_and_list(detail, CALL_DEADLINE).await,
        }
    }

    /// Takes everything of ours out of tmux.
    pub async fn close(self) {
        match self.keeper {
            Keeper::Plain { hooks, janitor } => match hooks.remove(CALL_DEADLINE).await {
                Ok(()) => janitor.dismiss().await,
                // The janitor sees us go and tries again.
                Err(error) => tracing::debug!(%error, "the hooks are left to the janitor"),
            },
            Keeper::Control { hooks, session, .. } => {
                hooks.remove(CALL_DEADLINE).await.ok();
                session.close(CALL_DEADLINE).await;
            }
        }
    }
}

/// Whether hooks tell of more than a title or a bell.
pub fn is_structural(kind: HookKind) -> bool {
    match kind {
        HookKind::TitleChanged | HookKind::Bell => false,
        HookKind::Split | HookKind::PaneExited | HookKind::PaneDied | HookKind::LayoutChanged | HookKind::Structure => {
            true
        }
    }
}

/// Whether a notification may mean that panes came, went, moved, were renamed or are looked at by somebody else.
fn concerns_structure(notification: &Notification) -> bool {
    !matches!(
        notification,
        Notification::Output { .. }
            | Notification::ExtendedOutput { .. }
            | Notification::Pause { .. }
            | Notification::Continue { .. }
            | Notification::PaneModeChanged { .. }
            | Notification::PasteBufferChanged { .. }
            | Notification::PasteBufferDeleted { .. }
            | Notification::SubscriptionChanged { .. }
            | Notification::Message { .. }
            | Notification::ConfigError { .. }
    )
}
