//! Only the daemon's own user is served.

use agtmux_wire::error::ErrorCode;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::answer::Failure;
use crate::error::CommandError;
pub use crate::peer::Peer;

/// Refuses whoever is not the user the daemon runs as.
pub async fn same_user(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    if peer.is_same_user() {
        return next.run(request).await;
    }
    Failure(
        CommandError::new(ErrorCode::Forbidden, "this daemon serves only the user it runs as")
            .hint("run agtmux as that user, or a daemon of your own"),
    )
    .into_response()
}
