//! The hook socket: many hooks at once, each for a moment, and none that holds up another.

use std::sync::Arc;
use std::time::Duration;

use agtmux_core::id::ProcessKey;
use agtmux_wire::hook::{HELD, HookHead, MESSAGE_LIMIT, TAKEN};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Hooks;
use super::taking::Waiting;
use crate::platform;

/// How many hooks are heard at once; the others wait at the door.
const AT_ONCE: usize = 256;

/// How long a hook may take to say what it has to say. It writes all of it at once.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long to wait when there is no room for another connection.
const RELIEF: Duration = Duration::from_millis(50);

pub(super) async fn serve(hooks: &Arc<Hooks>, listener: UnixListener) {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let hooks = Arc::clone(hooks);
                tokio::spawn(async move {
                    let waits = hear(&hooks, stream).await;
                    // One that waits is in nobody's way.
                    drop(place);
                    match waits {
                        Some((stream, Waiting::Question(question))) => hooks.hold(stream, question).await,
                        Some((stream, Waiting::Mail(mailing))) => hooks.give(stream, mailing).await,
                        Some((mut stream, Waiting::Refusal(answer))) => {
                            stream.write_all(&[&[HELD], answer.as_bytes()].concat()).await.ok();
                        }
                        None => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a hook cannot be heard");
                sleep(RELIEF).await;
            }
        }
    }
}

/// Hears one hook. Without an answer it goes to the spool, so silence is always safe. Gives the hook back if it has a
/// question and would wait.
async fn hear(hooks: &Hooks, mut stream: UnixStream) -> Option<(UnixStream, Waiting)> {
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::getuid().as_raw() {
        return None;
    }
    let message = timeout(PATIENCE, read(&mut stream)).await.ok()??;
    // Read while the sender waits for its answer, and so is still there.
    let lineage = peer.pid().and_then(|pid| u32::try_from(pid).ok()).map(platform::ancestors).unwrap_or_default();
    let lineage = lineage.into_iter().map(|(pid, start)| ProcessKey { pid, start }).collect();
    let (head, payload) = HookHead::parse(&message)?;
    let would_wait = head.waits.is_some();
    match hooks.take_in(head, payload, lineage).await {
        Ok(Some(Waiting::Question(question))) if would_wait && !hooks.patience.is_zero() => {
            Some((stream, Waiting::Question(question)))
        }
        // Only one that has said that it waits is given these.
        Ok(Some(waiting @ (Waiting::Mail(_) | Waiting::Refusal(_)))) => Some((stream, waiting)),
        Ok(_) => {
            // A hook that no longer waits has told the spool as well, and will be known there.
            stream.write_all(&[TAKEN]).await.ok();
            None
        }
        Err(_) => None,
    }
}

/// Reads one message: up to the end, or as much as its head says.
async fn read(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut message = Vec::with_capacity(16 * 1024);
    let mut wanted = None;
    while wanted.is_none_or(|wanted| message.len() < wanted) {
        if message.len() > MESSAGE_LIMIT {
            return None;
        }
        let had = message.len();
        if stream.read_buf(&mut message).await.ok()? == 0 {
            return (wanted.is_none()).then_some(message);
        }
        // The head is whole with the first line end.
        if wanted.is_none()
            && !message[..had].contains(&b'\n')
            && let Some((HookHead { waits: Some(length), .. }, rest)) = HookHead::parse(&message)
        {
            wanted = Some(message.len() - rest.len() + length.min(MESSAGE_LIMIT));
        }
    }
    (message.len() <= MESSAGE_LIMIT).then_some(message)
}
