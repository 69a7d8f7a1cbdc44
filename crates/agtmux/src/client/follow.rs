//! Following the stream of changes through restarts of the daemon.
//!
//! A stream that breaks is opened again after the last frame that was seen, so nothing is missed. A daemon that died is
//! started again, as by any other command. One that was stopped is not: somebody wanted that, and may start another.

use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::stream::Frame;
use futures_util::{SinkExt, StreamExt};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

use super::Client;
use super::patience::Notice;
use crate::error::CommandError;

/// How long a follower waits for a daemon to come back, unless it was told otherwise.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// Pause between two attempts to connect again.
const PAUSE: Duration = Duration::from_millis(100);

/// After this long without a frame the daemon is asked whether it is still there.
const QUIET: Duration = Duration::from_secs(5);

/// How long it may take to say so.
const PONG_DEADLINE: Duration = Duration::from_millis(1_500);

/// A follower of the stream of changes.
pub struct Follower {
    client: Client,
    stream: Option<WebSocketStream<UnixStream>>,
    /// The last frame that was seen.
    after: Option<u64>,
    lost: Option<Lost>,
    patience: Duration,
    /// What was asked with [`QUIET`] is not answered yet.
    pinged: bool,
}

/// A stream that broke.
#[derive(Clone, Copy, Debug)]
struct Lost {
    since: Instant,
    /// The daemon said goodbye.
    in_order: bool,
}

impl Follower {
    /// Follows from a place, or from now on.
    ///
    /// # Errors
    /// Fails when there is no daemon to follow.
    pub async fn open(client: Client, after: Option<u64>) -> Result<Self, CommandError> {
        let stream = client.stream(after).await?;
        Ok(Self { client, stream: Some(stream), after, lost: None, patience: PATIENCE, pinged: false })
    }

    /// The same, waiting longer or shorter for a daemon to come back.
    #[must_use]
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Whether there is no daemon at the moment.
    pub const fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// The next frame. May be cancelled and called again; nothing is lost by that.
    ///
    /// # Errors
    /// Fails when the daemon is gone and does not come back.
    pub async fn next(&mut self) -> Result<Frame, CommandError> {
        loop {
            while self.stream.is_none() {
                self.reconnect().await?;
            }
            match self.receive().await? {
                Some(frame) => {
                    self.after = Some(frame.seq());
                    return Ok(frame);
                }
                None => self.stream = None,
            }
        }
    }

    /// The next frame of the stream as it is; none if it broke.
    async fn receive(&mut self) -> Result<Option<Frame>, CommandError> {
        let Some(stream) = &mut self.stream else { return Ok(None) };
        let in_order = loop {
            let wait = if self.pinged { PONG_DEADLINE } else { QUIET };
            match timeout(wait, stream.next()).await {
                Err(_elapsed) => {
                    if std::mem::replace(&mut self.pinged, true) {
                        self.client.tell(Notice::Waiting("the daemon does not answer; waiting for it …"));
                    }
                    if stream.send(Message::Ping(Vec::new().into())).await.is_err() {
                        break false;
                    }
                }
                Ok(Some(Ok(Message::Text(text)))) => {
                    self.pinged = false;
                    return serde_json::from_str(&text).map(Some).map_err(CommandError::internal);
                }
                Ok(Some(Ok(Message::Close(_)))) => break true,
                Ok(Some(Ok(_))) => self.pinged = false,
                Ok(None | Some(Err(_))) => break false,
            }
        };
        self.pinged = false;
        self.lost.get_or_insert_with(|| Lost { since: Instant::now(), in_order });
        Ok(None)
    }

    async fn reconnect(&mut self) -> Result<(), CommandError> {
        let lost = *self.lost.get_or_insert_with(|| Lost { since: Instant::now(), in_order: false });
        let client = if lost.in_order { self.client.clone().never_starting() } else { self.client.clone() };
        match client.stream(self.after).await {
            Ok(stream) => (self.stream, self.lost) = (Some(stream), None),
            Err(error) if !is_gone(&error) => return Err(error),
            Err(_) if lost.since.elapsed() >= self.patience => return Err(ended(lost)),
            Err(_) => sleep(PAUSE).await,
        }
        Ok(())
    }
}

/// Whether an error says that there is no daemon, or one that is ending.
pub fn is_gone(error: &CommandError) -> bool {
    matches!(error.code, ErrorCode::DaemonUnreachable | ErrorCode::StoreOwned)
}

fn ended(lost: Lost) -> CommandError {
    let how = if lost.in_order { "was stopped" } else { "ended" };
    CommandError::new(ErrorCode::DaemonUnreachable, format!("the daemon {how}, and none has come back"))
        .hint("run the command again to start it")
}
