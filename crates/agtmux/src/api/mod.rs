//! The API: axum on the daemon's unix socket. One file per verb, one table of routes.
//!
//! It knows the wire types and the daemon's [`Handle`]; every rule lives behind that.

pub mod actions;
pub mod agents;
pub mod answer;
pub mod audit;
pub mod busy;
pub mod convert;
pub mod daemon;
pub mod events;
pub mod explain;
pub mod inbox;
pub mod limits;
pub mod mail;
pub mod mailings;
pub mod metrics;
pub mod next;
pub mod openapi;
pub mod panes;
pub mod peer;
pub mod routes;
pub mod sessions;
pub mod stream;
pub mod targets;
pub mod windows;
pub mod worktrees;

use std::sync::Arc;
use std::time::Duration;

use tokio::net::UnixListener;

use crate::act::Hands;
use crate::daemon::Handle;
use crate::error::CommandError;
use crate::platform::Program;
use limits::RateLimit;
use peer::Peer;

/// How long a list waits for the first look at tmux after a start.
const SYNC_DEADLINE: Duration = Duration::from_secs(5);

/// What every handler has.
#[derive(Clone)]
pub struct Api {
    handle: Handle,
    hands: Hands,
    limit: Arc<RateLimit>,
    program: Arc<Option<Program>>,
}

impl Api {
    /// The main loop, once it has looked at tmux; a list before that would be an empty beginning, not the truth.
    async fn synced(&self) -> &Handle {
        tokio::time::timeout(SYNC_DEADLINE, self.handle.synced()).await.ok();
        &self.handle
    }
}

/// Serves the API until the task is dropped.
///
/// # Errors
/// Fails only when the listener does.
pub async fn serve(listener: UnixListener, hands: Hands, program: Option<Program>) -> Result<(), CommandError> {
    let api = Api { handle: hands.handle.clone(), hands, limit: Arc::default(), program: Arc::new(program) };
    let service = routes::router(api).into_make_service_with_connect_info::<Peer>();
    axum::serve(listener, service).await.map_err(CommandError::internal)
}
