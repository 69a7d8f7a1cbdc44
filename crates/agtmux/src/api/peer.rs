//! Who is at the other end, as the kernel says.

use agtmux_wire::error::ErrorCode;
use axum::extract::connect_info::Connected;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::serve::IncomingStream;
use tokio::net::UnixListener;

use super::answer::Failure;
use crate::error::CommandError;

/// The process that made a connection.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// Its user; none when the kernel would not say.
    pub uid: Option<u32>,
    /// Its process, where the platform tells.
    pub pid: Option<u32>,
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, UnixListener>) -> Self {
        match stream.io().peer_cred() {
            Ok(credentials) => {
                Self { uid: Some(credentials.uid()), pid: credentials.pid().and_then(|pid| u32::try_from(pid).ok()) }
            }
            Err(_) => Self { uid: None, pid: None },
        }
    }
}

/// Serves only the user the daemon runs as: the directory keeps others out, and this holds where it does not.
pub async fn same_user(ConnectInfo(peer): ConnectInfo<Peer>, request: Request, next: Next) -> Response {
    if peer.uid == Some(rustix::process::getuid().as_raw()) {
        return next.run(request).await;
    }
    Failure(
        CommandError::new(ErrorCode::Forbidden, "this daemon serves only the user it runs as")
            .hint("run agtmux as that user, or a daemon of your own"),
    )
    .into_response()
}
