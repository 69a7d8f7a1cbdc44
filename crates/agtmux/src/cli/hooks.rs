//! Sessions that run without the hooks that were put in after they started.

use agtmux_wire::list::{PaneItem, PaneList};

use super::Context;
use super::output::{self, printable};

/// The sessions that have not loaded the hooks, by name or id, with their panes.
pub(super) fn unloaded<'i>(items: impl IntoIterator<Item = &'i PaneItem>) -> Vec<String> {
    items.into_iter().filter(|item| item.hooks_loaded == Some(false)).map(named).collect()
}

/// A session by its name or id, with its pane.
pub(super) fn named(item: &PaneItem) -> String {
    let name = item.name.as_deref().or(item.runtime_id.as_deref()).unwrap_or("an agent");
    format!("{name} ({} in {})", item.agent.as_deref().unwrap_or("?"), item.identity.pane_id)
}

/// Tells of sessions that have not loaded them.
pub(super) fn remark(items: &[PaneItem]) {
    for session in unloaded(items) {
        output::remark(&printable(&format!("{session}: hooks not loaded by this session; restart it to load them")));
    }
}

/// The agents that run, of a daemon that runs. Nobody starts one for this.
pub(super) async fn sessions(context: &Context) -> Vec<PaneItem> {
    context.quiet_client().get::<PaneList>("/v1/panes").await.map_or_else(|_| Vec::new(), |list| list.items)
}
