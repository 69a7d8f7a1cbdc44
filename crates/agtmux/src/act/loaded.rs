//! Which sessions have loaded the hooks by which agents tell what they do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agtmux_core::id::RuntimeId;
use agtmux_core::runtime::Runtime;
use agtmux_core::signal::Source;
use agtmux_wire::list::PaneItem;

use super::Hands;
use crate::daemon::world::World;
use crate::setup::loading;

/// How long an answer counts. Lists are asked for often, and files are read for it.
const FRESH: Duration = Duration::from_secs(5);

/// The latest answers.
#[derive(Debug, Default)]
pub struct HooksLoaded(Mutex<BTreeMap<RuntimeId, (Instant, Option<bool>)>>);

/// A session to look at.
#[derive(Debug)]
pub struct Session {
    runtime: RuntimeId,
    agent: String,
    pid: u32,
    start: u64,
    heard: bool,
}

impl Session {
    /// The sessions of some panes.
    pub fn of<'i>(items: impl Iterator<Item = &'i PaneItem>, world: &World) -> Vec<Self> {
        let topology = &world.engine.state().topology;
        let runtimes = items.filter_map(|item| topology.live(&RuntimeId::new(item.runtime_id.as_deref()?)));
        runtimes.map(Self::new).collect()
    }

    fn new(runtime: &Runtime) -> Self {
        let told = [Source::Hook, Source::Notify];
        Self {
            runtime: runtime.id.clone(),
            agent: runtime.agent.to_string(),
            pid: runtime.process.pid,
            start: runtime.process.start,
            heard: told.iter().any(|source| runtime.sources.contains_key(source)),
        }
    }
}

impl Hands {
    /// Says of panes whether their sessions have loaded the hooks.
    pub async fn tell_hooks(&self, items: &mut [PaneItem], sessions: Vec<Session>) {
        let known = Arc::clone(&self.hooks_loaded);
        // What hangs on a slow disk hangs there and nowhere else.
        let found = tokio::task::spawn_blocking(move || known.of(&sessions)).await.unwrap_or_default();
        for item in items {
            item.hooks_loaded = item.runtime_id.as_deref().and_then(|id| *found.get(id)?);
        }
    }
}

impl HooksLoaded {
    fn of(&self, sessions: &[Session]) -> BTreeMap<String, Option<bool>> {
        let now = Instant::now();
        let is_fresh = |(at, _): &(Instant, Option<bool>)| now.duration_since(*at) < FRESH;
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        known.retain(|_, answer| is_fresh(answer));
        for session in sessions {
            let answer = || loading::has_hooks(&session.agent, session.pid, session.start, session.heard);
            if session.heard {
                known.insert(session.runtime.clone(), (now, Some(true)));
            } else {
                known.entry(session.runtime.clone()).or_insert_with(|| (now, answer()));
            }
        }
        let answers = known.iter().map(|(runtime, (_, answer))| (runtime.to_string(), *answer)).collect();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = known;
        answers
    }
}
