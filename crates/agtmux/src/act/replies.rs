//! Notices that a person answers in the pane what an agent has declared it needs. Some agents have no hook that tells of a
//! prompt, and none tells of an answer that is no prompt.
//!
//! The wrapper knows what the person types and whether it was sent. Where there is none, the screen shows the composer.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::{Signal, Source};
use agtmux_core::time::Timestamp;
use tokio::time::sleep;

use super::shim::Shim;
use crate::daemon::Handle;
use crate::daemon::roster::Member;
use crate::daemon::said::Said;

/// How often a wrapper is asked while its agent needs something.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// A need that stands, of an agent in a wrapper.
struct Need {
    since: Timestamp,
    shim: Option<Shim>,
    /// How much the person had typed when the need was noticed.
    typed: Option<u64>,
}

/// Watches for answers until the daemon ends.
pub async fn run(handle: Handle, shims: PathBuf) {
    let mut roster = handle.roster();
    let mut needs: BTreeMap<RuntimeId, Need> = BTreeMap::new();
    loop {
        let members = roster.borrow_and_update().clone();
        let waiting: Vec<_> = members.values().filter(|member| member.declares_a_need()).cloned().collect();
        needs.retain(|runtime, need| {
            waiting.iter().any(|member| member.runtime == *runtime && member.verdict.since == need.since)
        });
        for member in waiting {
            if !needs.contains_key(&member.runtime) {
                needs.insert(member.runtime.clone(), Need::of(&shims, &member).await);
            }
            if let Some(need) = needs.get_mut(&member.runtime)
                && need.is_answered().await
            {
                needs.remove(&member.runtime);
                tell(&handle, &member).await;
            }
        }
        let is_asking = needs.values().any(|need| need.shim.is_some());
        let changed = tokio::select! {
            changed = roster.changed() => changed,
            () = sleep(ASK_EVERY), if is_asking => Ok(()),
        };
        if changed.is_err() {
            return;
        }
    }
}

async fn tell(handle: &Handle, member: &Arc<Member>) {
    let answered = vec![Reading::new(Signal::Unblocked)];
    handle.said(Said::now(Source::Wrapper, member.claim(), answered)).await.ok();
}

impl Need {
    async fn of(shims: &Path, member: &Member) -> Self {
        Self { since: member.verdict.since, shim: Shim::of(shims, member.process).await, typed: None }
    }

    /// Whether the person has typed something since, and sent it.
    async fn is_answered(&mut self) -> bool {
        let Some(shim) = &self.shim else { return false };
        let Ok(status) = shim.status().await else { return false };
        let typed = *self.typed.get_or_insert(status.input);
        status.input > typed && !status.draft
    }
}
