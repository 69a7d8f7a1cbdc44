//! Waiting for an agent that was started: until it is found, and takes prompts, or shows something first.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agtmux_agents::Registry;
use agtmux_core::id::{PaneId, RuntimeId};
use agtmux_core::signal::{Blocking, Composer, Evidence, Source};
use agtmux_core::state::State;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::open::Opened;
use agtmux_tmux::{Command, Plain, Script, Transport};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::spawn::SpawnStatus;

use crate::act::Hands;
use crate::act::aim::STEP_DEADLINE;
use crate::daemon::capabilities::Capability;
use crate::daemon::world::World;
use crate::error::CommandError;
use crate::store::redact;

/// How often the pane itself is looked at, for an agent that ended before it was ever found.
const LOOK: Duration = Duration::from_millis(500);

/// How long an agent has to look ready, and no shorter than it took to come to that: some draw their composer before they ask
/// whether the folder is trusted, and whatever is typed then answers that.
const STANDING: Duration = Duration::from_secs(1);
const LONGEST_STANDING: Duration = Duration::from_secs(4);

/// How long a command that nobody said to be an agent has to be found to be one.
const COMMAND: Duration = Duration::from_secs(5);

/// How many lines of a failed agent's last words are told.
const LAST_WORDS: usize = 5;

/// Where an agent stands that was started.
#[derive(Debug)]
pub(super) struct Settled {
    /// In a word.
    pub status: SpawnStatus,
    /// Its runtime, if it was found.
    pub runtime: Option<RuntimeId>,
    /// Its state, if it was found.
    pub state: Option<State>,
    /// Why it is in that state.
    pub reason: Option<String>,
    /// What is worth knowing besides.
    pub note: Option<String>,
    /// What the pane of an agent that ended shows; none if the pane is gone too.
    last_words: Option<String>,
}

impl Settled {
    fn only(status: SpawnStatus) -> Self {
        Self { status, runtime: None, state: None, reason: None, note: None, last_words: None }
    }

    /// What is not as it should be.
    pub(super) fn problem(&self, agent: &str, is_command: bool, opened: &Opened) -> Option<CommandError> {
        let pane = opened.pane;
        match self.status {
            // Nobody said that it is an agent.
            SpawnStatus::Unrecognised if is_command => None,
            SpawnStatus::Ready | SpawnStatus::WaitingInput | SpawnStatus::Starting => None,
            SpawnStatus::Unrecognised => {
                let message = format!("something runs in {pane}, and nothing of it is known as {agent}");
                Some(CommandError::new(ErrorCode::SpawnFailed, message).hint("look at it there; it was left running"))
            }
            SpawnStatus::Ended => {
                let (shown, hint) = match &self.last_words {
                    Some(words) => (format!(": {words}"), format!("its pane {pane} was left for you to look at")),
                    None => (String::new(), "nothing of it is left; start it by hand to see why".to_owned()),
                };
                let shown = if shown == ": " { String::new() } else { shown };
                Some(CommandError::new(ErrorCode::SpawnFailed, format!("{agent} ended at once{shown}")).hint(hint))
            }
        }
    }
}

/// What is known of the agent in a pane.
struct Sight {
    runtime: RuntimeId,
    state: State,
    reason: String,
    ready: bool,
    /// Whether that is told by one who knows: the agent itself, or what tells every edge of it.
    told: bool,
    asks: Option<&'static str>,
}

/// Waits for the agent in a pane. From when it is found the capability is its.
///
/// # Errors
/// Fails only when the daemon is ending.
pub(super) async fn settle(
    hands: &Hands,
    plain: &Plain,
    opened: &Opened,
    capability: &Capability,
    patience: Duration,
    is_command: bool,
) -> Result<Settled, CommandError> {
    let started = Instant::now();
    let until = started + patience;
    let found_by = if is_command { until.min(started + COMMAND) } else { until };
    let registry = hands.manifests.now();
    let mut ready_since: Option<Instant> = None;
    let mut roster = hands.handle.roster();
    let (socket, pane) = (plain.socket().display().to_string(), PaneId(opened.pane.0));
    let server_pid = opened.guard.server_pid;
    let mut last: Option<Sight> = None;
    while Instant::now() < until {
        let (socket, registry) = (socket.clone(), Arc::clone(&registry));
        let sight = hands.handle.read(move |world| look(world, &registry, &socket, server_pid, pane)).await?;
        if let Some(sight) = &sight {
            hands.handle.capabilities().bind(capability, &sight.runtime);
        }
        match sight {
            Some(sight) if sight.asks.is_some() => return Ok(asking(sight)),
            Some(sight) if sight.ready => {
                let since = *ready_since.get_or_insert_with(Instant::now);
                let standing = (since - started).clamp(STANDING, LONGEST_STANDING);
                if sight.told || since.elapsed() >= standing {
                    return Ok(seen(sight, SpawnStatus::Ready));
                }
                last = Some(sight);
            }
            Some(sight) => {
                ready_since = None;
                last = Some(sight);
            }
            // It was there and is not any more.
            None if last.is_some() => return Ok(ended(plain, opened).await),
            None => {}
        }
        if last.is_none() && Instant::now() >= found_by {
            break;
        }
        let wait = LOOK.min(until.saturating_duration_since(Instant::now()));
        if !matches!(tokio::time::timeout(wait, roster.changed()).await, Ok(Ok(()))) && last.is_none() {
            let row = list::pane(plain, opened.pane, Detail::Light, STEP_DEADLINE).await;
            if matches!(&row, Ok(row) if row.as_ref().is_none_or(|row| row.pane_dead)) {
                return Ok(ended(plain, opened).await);
            }
        }
    }
    Ok(match last {
        Some(sight) => seen(sight, SpawnStatus::Starting),
        None => Settled::only(SpawnStatus::Unrecognised),
    })
}

fn look(world: &World, registry: &Registry, socket: &str, server_pid: u32, pane: PaneId) -> Option<Sight> {
    let engine = &world.engine;
    let topology = &engine.state().topology;
    let is_server = |server: &agtmux_core::topology::Server| server.socket == socket && server.pid == server_pid;
    let (server, _) = topology.servers.iter().find(|(_, server)| is_server(server))?;
    let key = agtmux_core::id::PaneKey { server: server.clone(), pane };
    let runtime = topology.living_in(&key)?;
    let verdict = &runtime.verdict;
    let asks = engine.blocking(runtime).map(|blocking| match blocking {
        Blocking::Approval { .. } => "asks for permission",
        Blocking::Input { .. } => "asks a question",
        Blocking::Dialog { .. } => "shows a dialog",
    });
    let composer = engine.composer(runtime);
    let at_rest = matches!(verdict.state, State::Idle | State::Completed);
    let knows = |source: Source| {
        let manifest = registry.get(runtime.agent.as_str());
        source.evidence() == Evidence::Reported || manifest.is_some_and(|manifest| manifest.complete.contains(&source))
    };
    Some(Sight {
        runtime: runtime.id.clone(),
        state: verdict.state,
        reason: verdict.reason.clone(),
        ready: at_rest || matches!(composer, Some(Composer::Ready | Composer::Ghost)),
        told: at_rest && verdict.source.is_some_and(knows),
        asks,
    })
}

fn seen(sight: Sight, status: SpawnStatus) -> Settled {
    Settled {
        runtime: Some(sight.runtime),
        state: Some(sight.state),
        reason: Some(sight.reason),
        ..Settled::only(status)
    }
}

fn asking(sight: Sight) -> Settled {
    let what = sight.asks.unwrap_or_default();
    let note =
        format!("it {what} before it takes prompts: answer it in its pane, with `agtmux attach {}`", sight.runtime);
    Settled { note: Some(note), ..seen(sight, SpawnStatus::WaitingInput) }
}

async fn ended(plain: &Plain, opened: &Opened) -> Settled {
    let capture = Command::new("capture-pane").flag("-p").flag("-J").opt("-S", "-50").target(opened.pane);
    let shown = match plain.run_script(&Script::from(&capture), STEP_DEADLINE).await {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines =
                text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Pane is dead"));
            let lines: Vec<_> = lines.collect();
            let words = lines[lines.len().saturating_sub(LAST_WORDS)..].join(" / ");
            Some(redact::redact(&words).into_owned())
        }
        Err(_gone) => None,
    };
    Settled { last_words: shown, ..Settled::only(SpawnStatus::Ended) }
}
