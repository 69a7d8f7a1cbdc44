//! `/v1/daemon` and `/v1/health`.

use agtmux_core::query::{self, PaneFilter};
use agtmux_wire::daemon::{DaemonStatus, Health, HookFigures, TmuxServer};
use axum::extract::State;

use super::answer::{Answer, Json};
use super::{Api, convert};
use crate::daemon::Handle;
use crate::daemon::hook_figures::HookCounts;
use crate::daemon::world::{ServerWatch, World};
use crate::error::CommandError;
use crate::platform::Program;
use crate::target::observation::Connection;
use agtmux_core::time::Timestamp;

pub async fn status(State(api): State<Api>) -> Answer<DaemonStatus> {
    let handle = api.synced().await;
    Ok(Json(describe(handle).await?))
}

pub async fn stop(State(api): State<Api>) -> Answer<DaemonStatus> {
    let status = describe(&api.handle).await?;
    api.handle.stop().await;
    Ok(Json(status))
}

pub async fn health(State(api): State<Api>) -> Answer<Health> {
    let problems = api.handle.read(World::problems).await?;
    let status = if problems.is_empty() { "ok" } else { "degraded" };
    Ok(Json(Health { status: status.to_owned(), problems }))
}

async fn describe(handle: &Handle) -> Result<DaemonStatus, CommandError> {
    let hooks = handle.hooks().now();
    let now = handle.now();
    handle.read(move |world| status_of(world, hooks, now)).await
}

fn status_of(world: &World, hooks: HookCounts, now: Timestamp) -> DaemonStatus {
    let program = world.about.program.as_ref();
    let uptime_ms = now.0 - world.about.started_at.0;
    DaemonStatus {
        pid: std::process::id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        socket: world.about.socket.display().to_string(),
        uptime_s: u64::try_from(uptime_ms / 1_000).unwrap_or(0),
        state_dir: world.about.state_dir.display().to_string(),
        epoch: world.about.epoch,
        seq: world.seq,
        tmux_servers: world
            .servers
            .iter()
            .map(|(socket, watch)| server(world, &socket.display().to_string(), watch))
            .collect(),
        hooks: hook_figures(hooks),
        problems: world.problems(),
        program: program.map(|program| program.path().display().to_string()),
        program_replaced: program.is_some_and(Program::is_replaced),
    }
}

fn hook_figures(counts: HookCounts) -> HookFigures {
    let HookCounts { taken, spooled, passed_over, passed_over_last, unread, dropped } = counts;
    HookFigures { taken, spooled, passed_over, passed_over_last, unread, dropped }
}

fn server(world: &World, socket: &str, watch: &ServerWatch) -> TmuxServer {
    let (status, identity) = match &watch.connection {
        Some(Connection::Connected { server, pid, start_time, version }) => {
            ("connected", Some((server, *pid, *start_time, version.clone())))
        }
        Some(Connection::NotRunning) => ("not_running", None),
        Some(Connection::Connecting { .. }) | None => ("connecting", None),
        Some(Connection::Unusable { .. }) => ("unsupported", None),
    };
    let rows = query::panes(&world.engine, &PaneFilter { all: true, ..PaneFilter::default() });
    let on_server = |row: &&query::PaneRow| identity.as_ref().is_some_and(|(server, ..)| row.pane.server == **server);
    TmuxServer {
        socket: socket.to_owned(),
        status: status.to_owned(),
        pid: identity.as_ref().map(|(_, pid, ..)| *pid),
        started_at: identity.as_ref().map(|(_, _, start, _)| convert::time(Timestamp(start * 1_000))),
        version: identity.as_ref().map(|(.., version)| version.clone()),
        panes: rows.iter().filter(on_server).count() as u64,
        agents: rows.iter().filter(on_server).filter(|row| row.runtime.is_some()).count() as u64,
        streams: watch.streams.open,
        taken: watch.streams.taken,
        stream_bytes: watch.streams.bytes,
        reconnects: watch.connects.saturating_sub(1),
    }
}
