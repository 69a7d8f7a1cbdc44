//! How long a server is waited for, when it was asked for something that it does in its own time.

use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// How long a turn may take to end, and a prompt to show up in a conversation.
const PATIENCE: Duration = Duration::from_secs(3);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Looks again and again until it is so; says whether it ever was.
pub(super) async fn becomes<L: Future<Output = bool>>(is_so: impl Fn() -> L) -> bool {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if is_so().await {
            return true;
        }
        sleep(PAUSE).await;
    }
    false
}
