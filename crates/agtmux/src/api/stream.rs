//! `WS /v1/stream?after=SEQ`.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;

use super::answer::{Failure, Params};
use super::{Api, convert};
use crate::daemon::Handle;
use crate::daemon::handle::{Start, Subscription};
use crate::daemon::publish::Change;
use crate::error::CommandError;

/// Query parameters of the stream.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct StreamQuery {
    /// The last `seq` that was seen.
    after: Option<u64>,
}

pub async fn follow(
    State(api): State<Api>,
    Params(query): Params<StreamQuery>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Failure> {
    let handle = api.synced().await.clone();
    Ok(upgrade.on_upgrade(move |mut socket| async move {
        // A follower that goes away is no error. One that stays learns that the daemon did not die.
        if matches!(serve(&mut socket, &handle, query.after).await, Err(Ended::DaemonEnding)) {
            let goodbye = CloseFrame { code: close_code::AWAY, reason: "the daemon is stopping".into() };
            socket.send(Message::Close(Some(goodbye))).await.ok();
        }
    }))
}

/// How a conversation with a follower ended.
enum Ended {
    FollowerGone,
    DaemonEnding,
}

impl From<axum::Error> for Ended {
    fn from(_: axum::Error) -> Self {
        Self::FollowerGone
    }
}

impl From<CommandError> for Ended {
    fn from(_: CommandError) -> Self {
        Self::DaemonEnding
    }
}

async fn serve(socket: &mut WebSocket, handle: &Handle, after: Option<u64>) -> Result<(), Ended> {
    let mut subscription = handle.subscribe(after).await?;
    let mut last = send_start(socket, &subscription, after).await?;
    loop {
        tokio::select! {
            change = subscription.changes.recv() => match change {
                Ok(change) if Some(change.seq) <= last => {}
                Ok(change) => {
                    send(socket, encoded(&change)).await?;
                    last = Some(change.seq);
                }
                // Too slow for the changes: everything anew, which takes it forward all the same.
                Err(RecvError::Lagged(_)) => {
                    subscription = handle.subscribe(last).await?;
                    last = send_start(socket, &subscription, last).await?;
                }
                Err(RecvError::Closed) => return Err(Ended::DaemonEnding),
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Ended::FollowerGone),
                Some(Ok(_)) => {}
            },
        }
    }
}

async fn send_start(
    socket: &mut WebSocket,
    subscription: &Subscription,
    after: Option<u64>,
) -> Result<Option<u64>, Ended> {
    match &subscription.start {
        Start::Snapshot(change) => {
            let text = serde_json::to_string(&convert::snapshot(change)).unwrap_or_default();
            send(socket, &text).await?;
            Ok(Some(change.seq))
        }
        Start::Changes(changes) => {
            for change in changes {
                send(socket, encoded(change)).await?;
            }
            Ok(changes.last().map(|change| change.seq).or(after))
        }
    }
}

/// The change as text: made once, however many follow.
fn encoded(change: &Arc<Change>) -> &str {
    change.encoded.get_or_init(|| serde_json::to_string(&convert::change(change)).unwrap_or_default())
}

async fn send(socket: &mut WebSocket, text: &str) -> Result<(), Ended> {
    socket.send(Message::text(text)).await.map_err(Ended::from)
}
