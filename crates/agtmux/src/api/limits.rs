//! How much a client may ask for: a body of one mebibyte, and a rate that only a loop gone wild reaches.

use std::sync::{Mutex, PoisonError};

use agtmux_wire::error::ErrorCode;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use super::Api;
use super::answer::Failure;
use crate::error::CommandError;

/// The largest body.
pub const BODY_LIMIT: usize = 1024 * 1024;

/// Requests per second that are served in the long run.
const RATE: f64 = 10_000.0;

/// Requests that may come at once.
const BURST: f64 = 20_000.0;

/// A token bucket.
pub struct RateLimit {
    bucket: Mutex<(f64, Instant)>,
}

impl Default for RateLimit {
    fn default() -> Self {
        Self { bucket: Mutex::new((BURST, Instant::now())) }
    }
}

impl RateLimit {
    fn take(&self) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let tokens = (bucket.0 + (now - bucket.1).as_secs_f64() * RATE).min(BURST);
        let granted = tokens >= 1.0;
        *bucket = (if granted { tokens - 1.0 } else { tokens }, now);
        granted
    }
}

/// Refuses what comes too fast.
pub async fn not_too_fast(State(api): State<Api>, request: Request, next: Next) -> Response {
    if api.limit.take() {
        return next.run(request).await;
    }
    Failure(
        CommandError::new(ErrorCode::RateLimited, "too many requests in a short time")
            .hint("follow WS /v1/stream instead of asking again and again"),
    )
    .into_response()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn granted(limit: &RateLimit, asked: usize) -> usize {
        (0..asked).filter(|_| limit.take()).count()
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_gone_wild_is_slowed_down_and_nobody_else() {
        let limit = RateLimit::default();
        assert_eq!(granted(&limit, 25_000), 20_000, "a burst, and no more");
        tokio::time::advance(Duration::from_millis(10)).await;
        assert_eq!(granted(&limit, 1_000), 100, "ten thousand a second from then on");
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(granted(&limit, 25_000), 20_000, "who pauses may burst again");
    }
}
