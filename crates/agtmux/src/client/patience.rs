//! Waiting for a daemon: a person is told soon when it does not answer, and a daemon that answers nobody is given up.
//!
//! Some answers take long by their nature, so the clock alone proves nothing. After a moment the daemon is asked a small
//! question on another connection. If that is not answered either, the daemon hangs.

use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use hyper::body::Bytes;
use hyper::{Method, Uri};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::Client;
use crate::error::CommandError;

/// An answer that took longer than this raises the question whether the daemon answers at all.
const DOUBT_AFTER: Duration = Duration::from_millis(1_000);

/// How long the small question may take. With [`DOUBT_AFTER`] less than the two seconds after which a person is told.
const PROBE_DEADLINE: Duration = Duration::from_millis(700);

/// Pause before the next small question to a daemon that answered the last one.
const PROBE_AGAIN: Duration = Duration::from_secs(5);

/// A daemon that answered nobody for this long is given up.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

impl Client {
    /// Waits for an answer, as long as this client may and the daemon answers anybody.
    ///
    /// # Errors
    /// Fails when the answer took too long, or the daemon hangs.
    pub(super) async fn patiently<T>(&self, answer: impl Future<Output = T>) -> Result<T, CommandError> {
        let began = Instant::now();
        let (deadline, mut probe_at, mut silent_since) = (began + self.deadline, began + DOUBT_AFTER, None);
        let mut answer = std::pin::pin!(answer);
        loop {
            tokio::select! {
                answer = &mut answer => return Ok(answer),
                () = sleep_until(deadline) => return Err(overdue()),
                () = sleep_until(probe_at) => {}
            }
            let is_responsive = tokio::select! {
                answer = &mut answer => return Ok(answer),
                is_responsive = self.is_responsive() => is_responsive,
            };
            if is_responsive {
                (silent_since, probe_at) = (None, Instant::now() + PROBE_AGAIN);
                continue;
            }
            let since = match silent_since {
                Some(since) => since,
                None => {
                    self.tell(Notice::Waiting("the daemon does not answer yet; waiting for it …"));
                    *silent_since.insert(probe_at - DOUBT_AFTER)
                }
            };
            if since.elapsed() >= GIVE_UP_AFTER {
                return Err(self.hangs().await);
            }
            probe_at = Instant::now() + DOUBT_AFTER;
        }
    }

    /// Whether the daemon answers a small question in time.
    async fn is_responsive(&self) -> bool {
        let asked = async {
            let stream = self.connect_only().await.ok()?;
            self.ask(stream, &Method::GET, Uri::from_static("/v1/health"), &Bytes::new()).await.ok()
        };
        matches!(timeout(PROBE_DEADLINE, asked).await, Ok(Some(_)))
    }

    /// Waits for a daemon to start, and says so when that takes long.
    pub(super) async fn starting<T>(&self, start: impl Future<Output = T>) -> T {
        let mut start = std::pin::pin!(start);
        tokio::select! {
            started = &mut start => return started,
            () = sleep(DOUBT_AFTER + PROBE_DEADLINE) => {}
        }
        self.tell(Notice::Waiting("the daemon is starting …"));
        start.await
    }

    async fn hangs(&self) -> CommandError {
        let peer =
            self.connect_only().await.ok().and_then(|stream| stream.peer_cred().ok()).and_then(|peer| peer.pid());
        let who = peer.map_or_else(|| "the daemon".to_owned(), |pid| format!("the daemon, pid {pid},"));
        CommandError::new(ErrorCode::Timeout, format!("{who} runs and does not answer")).hint(
            "its log says what it does; if it stays like this, end its process, and the next command starts another",
        )
    }
}

/// Something to tell a person while a command goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<'a> {
    /// Why it takes so long.
    Waiting(&'a str),
    /// Something worth doing, which can wait.
    Hint(&'a str),
}

fn overdue() -> CommandError {
    CommandError::new(ErrorCode::Timeout, "the daemon did not answer in time")
        .hint("`agtmux daemon status` and the daemon's log say what it is doing")
}
