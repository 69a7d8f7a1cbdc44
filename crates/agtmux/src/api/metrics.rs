//! `GET /v1/metrics`: figures read off the daemon's state, in the text format of OpenMetrics.

use agtmux_core::query::{self, PaneFilter};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Api;
use super::answer::Failure;
use crate::daemon::hook_figures::HookCounts;
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::platform;

type Labels = Vec<(String, String)>;

pub async fn show(State(api): State<Api>) -> Result<Response, Failure> {
    let hooks = api.handle.hooks().now();
    let registry = api.handle.read(move |world| collect(world, hooks)).await?;
    let mut text = String::new();
    encode(&mut text, &registry).map_err(CommandError::internal)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn collect(world: &World, hooks: HookCounts) -> Registry {
    let mut registry = Registry::with_prefix("agtmux");
    let rows = query::panes(&world.engine, &PaneFilter::default());
    let summary = query::summary(&rows);
    let states = Family::<Labels, Gauge>::default();
    for (state, count) in summary.by_state.iter() {
        states.get_or_create(&vec![("state".to_owned(), state.name().to_owned())]).set(signed(count));
    }
    registry.register("runtimes", "Runtimes by state", states);
    let agents = Family::<Labels, Gauge>::default();
    for (agent, count) in &summary.by_agent {
        agents.get_or_create(&vec![("agent".to_owned(), agent.to_string())]).set(signed(*count));
    }
    registry.register("agents", "Runtimes by agent", agents);
    let mut gauge = |name: &str, help: &str, value: u64| {
        let gauge: Gauge = Gauge::default();
        gauge.set(signed(value));
        registry.register(name, help, gauge);
    };
    let state = world.engine.state();
    gauge("log_seq", "Newest place in the log", world.seq);
    gauge("panes", "Panes of all servers", state.topology.panes.len() as u64);
    gauge("signals_pending", "Signals that wait for their runtime", state.pending.iter().count() as u64);
    gauge("signals_dropped", "Signals for which no runtime was found in time", state.pending.dropped);
    let streams = world.servers.values().map(|server| server.streams);
    gauge("streams_open", "Pane streams that are read", streams.clone().map(|streams| streams.open).sum());
    gauge("stream_bytes", "Bytes read from pane streams", streams.map(|streams| streams.bytes).sum());
    gauge("hooks_taken", "Hooks that are in the log", hooks.taken);
    gauge("hooks_spooled", "Hooks that had waited in the spool", hooks.spooled);
    gauge("hooks_passed_over", "Hooks of no agent in a pane", hooks.passed_over);
    gauge("hooks_unread", "Hooks whose payload was garbage", hooks.unread);
    gauge("hooks_dropped", "Hooks that were lost because the spool was full", hooks.dropped);
    gauge("problems", "Things that are not as they should be", world.problems().len() as u64);
    gauge("resident_bytes", "Memory of the daemon", platform::rss_bytes(std::process::id()).unwrap_or(0));
    registry
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
