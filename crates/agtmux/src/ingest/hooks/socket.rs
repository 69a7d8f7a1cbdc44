//! The hook socket: many hooks at once, each for a moment, and none that holds up another.

use std::sync::Arc;
use std::time::Duration;

use agtmux_core::id::ProcessKey;
use agtmux_wire::hook::{HookHead, MESSAGE_LIMIT, TAKEN};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::Hooks;
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
                    hear(&hooks, stream).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a hook cannot be heard");
                sleep(RELIEF).await;
            }
        }
    }
}

/// Hears one hook. Without an answer it goes to the spool, so silence is always safe.
async fn hear(hooks: &Hooks, mut stream: UnixStream) {
    let Ok(peer) = stream.peer_cred() else { return };
    if peer.uid() != rustix::process::getuid().as_raw() {
        return;
    }
    let mut message = Vec::new();
    let mut bounded = (&mut stream).take(MESSAGE_LIMIT as u64 + 1);
    if !timeout(PATIENCE, bounded.read_to_end(&mut message)).await.is_ok_and(|read| read.is_ok())
        || message.len() > MESSAGE_LIMIT
    {
        return;
    }
    // Read while the sender waits for its answer, and so is still there.
    let lineage = peer.pid().and_then(|pid| u32::try_from(pid).ok()).map(platform::ancestors).unwrap_or_default();
    let lineage = lineage.into_iter().map(|(pid, start)| ProcessKey { pid, start }).collect();
    let Some((head, payload)) = HookHead::parse(&message) else { return };
    if hooks.take_in(head, payload, lineage).await.is_ok() {
        // A hook that no longer waits has told the spool as well, and will be known there.
        stream.write_all(&[TAKEN]).await.ok();
    }
}
