//! Where an agent's window is: in the session that is named, made if need be, or in that of whoever asks.

use std::fs::DirBuilder;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;

use agtmux_tmux::client::ClientError;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::open::{self, Opened, Room, is_plain_name};
use agtmux_tmux::{PaneId, Plain, SessionId, server};
use agtmux_wire::error::ErrorCode;

use super::order::Order;
use crate::act::Hands;
use crate::act::aim::{STEP_DEADLINE, tmux_failed};
use crate::error::CommandError;
use crate::target::socket;

/// Two who make the same session at once: one of them comes second and finds it there.
const TRIES: usize = 3;

impl Order {
    /// Makes the folder of the tmux socket, as tmux does when it is run without a path. Before the first server of a user there is
    /// none.
    pub(super) fn make_room_for_server(&mut self) -> Result<(), CommandError> {
        let Some(folder) = self.socket.parent().filter(|folder| !folder.exists()) else { return Ok(()) };
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                let message = format!("no tmux server can be started: cannot make {}: {error}", folder.display());
                return Err(CommandError::new(ErrorCode::SpawnFailed, message)
                    .hint("nothing was started; name a socket in a folder that exists, with --socket"));
            }
            _ => {}
        }
        // Its name can be told only now.
        self.socket = socket::normal(&self.socket);
        Ok(())
    }

    /// Opens the window, with a placeholder in it.
    pub(super) async fn open(&self, hands: &Hands, plain: &Plain) -> Result<Opened, CommandError> {
        let window = self.name.as_ref().map(|promise| promise.name.as_str()).filter(|name| is_plain_name(name));
        let window = window.unwrap_or(&self.agent);
        let mut last = None;
        for _ in 0..TRIES {
            if !server::is_alive(plain.socket()) {
                return self.start_server(hands, plain, window).await;
            }
            let session = self.session_id(plain).await?;
            let room = session.map_or(Room::NewSession(&self.session), Room::Session);
            match open::open(plain, room, window, STEP_DEADLINE).await {
                Ok(opened) => return Ok(opened),
                Err(error @ (ClientError::Refused(_) | ClientError::Closed { .. })) => last = Some(error),
                Err(error) => return Err(tmux_failed(&error)),
            }
        }
        let why = last.map_or_else(String::new, |error| error.to_string());
        Err(CommandError::new(ErrorCode::SpawnFailed, format!("tmux opened no window: {why}"))
            .hint("nothing was started"))
    }

    /// The session, if it is there.
    async fn session_id(&self, plain: &Plain) -> Result<Option<SessionId>, CommandError> {
        let Some(pane) = self.beside.as_deref().and_then(|pane| pane.parse::<PaneId>().ok()) else {
            let sessions = open::sessions(plain, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
            return Ok(sessions.into_iter().find(|(_, name)| *name == self.session).map(|(id, _)| id));
        };
        let row = list::pane(plain, pane, Detail::Light, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
        let row = row.ok_or_else(|| {
            CommandError::new(ErrorCode::NotInPane, format!("there is no pane {pane} on that tmux server"))
                .hint("name a session with --session")
        })?;
        Ok(Some(row.session_id))
    }

    /// Starts the tmux server. What it has in its environment all its panes have, so it gets nothing that is only ours.
    async fn start_server(&self, hands: &Hands, plain: &Plain, window: &str) -> Result<Opened, CommandError> {
        let registry = hands.manifests.now();
        let own = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        let own: Vec<_> = own.filter(|name| name.starts_with("AGTMUX_") || name.starts_with("SCHMUX_")).collect();
        let without = agtmux_agents::launch::marks(&registry).into_iter().chain(own.iter().map(String::as_str));
        let opened = open::start_server(plain, &self.session, window, without, STEP_DEADLINE).await;
        opened.map_err(|error| {
            CommandError::new(ErrorCode::SpawnFailed, format!("no tmux server could be started: {error}"))
                .hint("nothing was started; `agtmux doctor` looks for what is wrong")
        })
    }
}
