//! `POST /v1/actions/spawn`: an agent in a window of its own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use agtmux_wire::TMUX_SOCKET_HEADER;
use agtmux_wire::spawn::{SpawnRequest, Spawned};
use axum::extract::{ConnectInfo, State};
use axum::http::HeaderMap;

use super::super::Api;
use super::super::answer::{Answer, Body, Json};
use super::super::peer::Peer;
use super::actor;
use crate::act::spawn::{self, Meant};
use crate::target::socket;

pub async fn make(
    State(api): State<Api>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    headers: HeaderMap,
    Body(request): Body<SpawnRequest>,
) -> Answer<Spawned> {
    let actor = actor::of(&api, peer).await?;
    let meant = Meant { socket: meant_socket(&headers), conversation: None };
    api.synced().await;
    Ok(Json(spawn::spawn(&api.hands, request, meant, actor).await?))
}

/// The tmux server that whoever asks means: their own, else the user's default one.
pub fn meant_socket(headers: &HeaderMap) -> PathBuf {
    let named = headers.get(TMUX_SOCKET_HEADER).map(|value| PathBuf::from(OsStr::from_bytes(value.as_bytes())));
    socket::normal(&named.unwrap_or_else(socket::default_socket))
}
