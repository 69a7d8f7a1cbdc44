//! `GET /v1/agents`: which agents are known, what can be known of each, and how that works out.

use std::collections::BTreeMap;

use agtmux_agents::Capabilities;
use agtmux_core::query::{self, Heard, PaneFilter};
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::agent::{AgentItem, AgentList};
use axum::extract::State;

use super::answer::{Answer, Json};
use super::{Api, convert};

/// How an adapter fares. The order is from bad to good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AdapterHealth {
    /// What the agent reports is not understood.
    Unsupported,
    /// The agent could report, and only its screen tells.
    Degraded,
    /// Nothing was heard of it yet.
    Silent,
    /// All is as it should be.
    Ok,
}

impl AdapterHealth {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unsupported => "unsupported",
            Self::Degraded => "degraded",
            Self::Silent => "silent",
            Self::Ok => "ok",
        }
    }
}

/// How the adapter of a runtime fares, of which that was heard.
pub const fn adapter_health(capabilities: Capabilities, heard: Heard) -> AdapterHealth {
    match heard {
        Heard::Events => AdapterHealth::Ok,
        Heard::Screen if capabilities.event_driven => AdapterHealth::Degraded,
        Heard::Screen => AdapterHealth::Ok,
        Heard::Unread => AdapterHealth::Unsupported,
        Heard::Nothing => AdapterHealth::Silent,
    }
}

pub async fn list(State(api): State<Api>) -> Answer<AgentList> {
    let rows = api.synced().await.read(|world| query::panes(&world.engine, &PaneFilter::default())).await?;
    let mut heard: BTreeMap<String, Vec<Heard>> = BTreeMap::new();
    for runtime in rows.into_iter().filter_map(|row| row.runtime) {
        heard.entry(runtime.agent.to_string()).or_default().push(runtime.heard);
    }
    let registry = api.hands.manifests.now();
    let items = registry.list().map(|entry| {
        let manifest = &entry.manifest;
        let capabilities = Capabilities::of(manifest);
        let heard = heard.remove(&manifest.id).unwrap_or_default();
        let worst = heard.iter().map(|heard| adapter_health(capabilities, *heard)).min();
        AgentItem {
            agent: manifest.id.clone(),
            name: manifest.name.clone(),
            contract: manifest.contract,
            recorded: manifest.recorded.clone(),
            capabilities: convert::capabilities(capabilities),
            health: worst.map_or("unused", AdapterHealth::name).to_owned(),
            runtimes: heard.len() as u64,
        }
    });
    Ok(Json(AgentList {
        schema_version: SCHEMA_VERSION,
        generated_at: jiff::Timestamp::now().to_string(),
        items: items.collect(),
    }))
}
