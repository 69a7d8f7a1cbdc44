//! Puts what several files of one agent say into the order in which it was said.

use std::collections::BTreeMap;

use agtmux_agents::Reading;
use agtmux_core::id::RuntimeId;
use agtmux_core::signal::{Signal, Source};

use super::trace::{News, Told};
use crate::daemon::said::Said;

/// Remembers, of each runtime, when its vendor's files last told that a turn began. A record may be read a little later
/// than the session file beside it; that the turn before was interrupted is then no news, and would seem to be about
/// the new one.
#[derive(Debug, Default)]
pub(super) struct Order(BTreeMap<RuntimeId, u64>);

impl Order {
    /// Orders news, and leaves out ends of turns that have been followed by others.
    pub(super) fn arrange(&mut self, news: &mut News) {
        news.0.sort_by_key(|told| match told {
            Told::Said(said) => said.boot_ns.unwrap_or_default(),
            Told::Conversation(..) | Told::Given(..) | Told::Trouble(_) => 0,
        });
        news.0.retain(|told| match told {
            Told::Said(said) if said.source == Source::VendorFile => self.is_news(said),
            Told::Said(_) | Told::Conversation(..) | Told::Given(..) | Told::Trouble(_) => true,
        });
    }

    /// Forgets everybody who is not there any more.
    pub(super) fn keep(&mut self, is_there: impl Fn(&RuntimeId) -> bool) {
        self.0.retain(|runtime, _| is_there(runtime));
    }

    fn is_news(&mut self, said: &Said) -> bool {
        let (Some(runtime), Some(moment)) = (&said.claim.runtime, said.boot_ns) else {
            return true;
        };
        let begins = |reading: &Reading| reading.signal == Signal::TurnStarted;
        let ends = |reading: &Reading| matches!(reading.signal, Signal::TurnEnded { .. } | Signal::Idle);
        let began = self.0.get(runtime).copied().unwrap_or_default();
        if said.readings.iter().any(begins) {
            self.0.insert(runtime.clone(), began.max(moment));
        }
        moment >= began || !said.readings.iter().any(ends)
    }
}
