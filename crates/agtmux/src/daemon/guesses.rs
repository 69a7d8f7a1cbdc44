//! Has a language model look at the agents that nobody speaks for, where the configuration names one.
//!
//! This task moves things between the state, the screens, the books and the provider; each decision is made elsewhere. It
//! waits for providers and tmux, and the main loop never waits for it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agtmux_agents::Reading;
use agtmux_agents::guess::Guess;
use agtmux_agents::screen::Row;
use agtmux_core::engine::Engine;
use agtmux_core::id::{PaneId, RuntimeId, TargetName};
use agtmux_core::signal::{Claim, Source};
use agtmux_core::silence::{Silence, silences};
use agtmux_core::time::Span;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use super::clock::Clock;
use super::handle::Handle;
use super::said::Said;
use super::world::{LOCAL, World};
use crate::classify::{AskError, Client, Ledger, Screen, ScreenHash, Step};
use crate::config::ClassifyConfig;
use crate::error::CommandError;
use crate::platform;
use crate::target::capture::capture;

/// The name under which `agtmux doctor` shows what is wrong here.
pub(super) const PART: &str = "classify";

/// How many requests may be under way at a time.
const AT_ONCE: usize = 2;

/// How long tmux may take to show a screen.
const SCREEN_DEADLINE: Duration = Duration::from_secs(2);

/// The longest time between two looks at the state.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// The task and what it owns.
pub(super) struct Guesses {
    handle: Handle,
    clock: Clock,
    tmux: PathBuf,
    client: Arc<Client>,
    ledger: Ledger,
    look_every: Duration,
    asking: JoinSet<Asked>,
    /// The runtimes that requests are under way about.
    asked_about: BTreeSet<RuntimeId>,
    problem: Option<String>,
}

/// A runtime that nobody speaks for, and where its screen is.
struct Silent {
    runtime: RuntimeId,
    agent: String,
    silence: Silence,
    socket: PathBuf,
    pane: PaneId,
}

/// What came of a request.
struct Asked {
    runtime: RuntimeId,
    screen: ScreenHash,
    /// When the screen was looked at, on the boot clock: whatever was said later is newer than the answer.
    looked_ns: u64,
    outcome: Result<Guess, AskError>,
}

impl Guesses {
    /// Takes up the books where the state says that they were left.
    pub(super) fn new(
        handle: Handle,
        clock: Clock,
        tmux: PathBuf,
        client: Client,
        config: &ClassifyConfig,
        engine: &Engine,
    ) -> Self {
        let after = Duration::from_secs(u64::from(config.after_seconds));
        let guessed = silences(engine).filter_map(|(_, silence)| silence.guessed_at);
        Self {
            handle,
            clock,
            tmux,
            client: Arc::new(client),
            ledger: Ledger::new(Span::seconds(i64::from(config.after_seconds)), config.per_hour, guessed),
            look_every: (after / 5).min(LOOK_EVERY),
            asking: JoinSet::new(),
            asked_about: BTreeSet::new(),
            problem: None,
        }
    }

    /// Looks, asks and says until the daemon ends.
    pub(super) async fn run(mut self) {
        // What the log says to live may be over, and its pane another's.
        self.handle.synced().await;
        let mut ticks = tokio::time::interval(self.look_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let outcome = tokio::select! {
                Some(asked) = self.asking.join_next() => match asked {
                    Ok(asked) => self.answered(asked).await,
                    // Nobody can tell whose request it was; the books keep the others from being asked about at once.
                    Err(_panicked) => {
                        self.asked_about.clear();
                        Ok(())
                    }
                },
                _ = ticks.tick() => self.look_around().await,
            };
            if outcome.is_err() {
                return;
            }
        }
    }

    async fn look_around(&mut self) -> Result<(), CommandError> {
        let silent: Vec<_> = self.handle.read(|world| silent(world).collect()).await?;
        self.ledger.retain(|runtime| silent.iter().any(|silent| silent.runtime == *runtime));
        for silent in silent {
            let is_free = self.asking.len() < AT_ONCE && !self.asked_about.contains(&silent.runtime);
            if is_free && self.ledger.is_due(&silent.runtime, &silent.silence, self.clock.now()) {
                self.look_at(silent).await?;
            }
        }
        self.tell_problem().await
    }

    async fn look_at(&mut self, silent: Silent) -> Result<(), CommandError> {
        let looked_ns = platform::boot_clock_ns();
        let text = self.screen_text(&silent).await;
        let Some(screen) = text.and_then(|text| Screen::new(&silent.agent, &text)) else {
            return Ok(());
        };
        let hash = screen.hash();
        match self.ledger.consider(&silent.runtime, &silent.silence, hash, self.clock.now()) {
            Step::Nothing => Ok(()),
            Step::Say(reading) => self.say(silent.runtime, reading, looked_ns).await,
            Step::Ask => {
                self.asked_about.insert(silent.runtime.clone());
                let client = self.client.clone();
                self.asking.spawn(async move {
                    let outcome = client.ask(&screen).await;
                    Asked { runtime: silent.runtime, screen: hash, looked_ns, outcome }
                });
                Ok(())
            }
        }
    }

    async fn answered(&mut self, asked: Asked) -> Result<(), CommandError> {
        self.asked_about.remove(&asked.runtime);
        match asked.outcome {
            Ok(guess) => {
                let runtime = asked.runtime.clone();
                let find = move |world: &World| {
                    silent(world).find(|silent| silent.runtime == runtime).map(|silent| silent.silence)
                };
                let silence = self.handle.read(find).await?;
                let now = self.clock.now();
                let reading = self.ledger.answered(&asked.runtime, silence.as_ref(), asked.screen, guess, now);
                if let Some(reading) = reading {
                    self.say(asked.runtime, reading, asked.looked_ns).await?;
                }
            }
            Err(error) => {
                let useless_for = error.is_about_the_answer().then_some(asked.screen);
                self.ledger.failed(error.to_string(), useless_for, self.clock.now());
            }
        }
        self.tell_problem().await
    }

    async fn say(&self, runtime: RuntimeId, reading: Reading, looked_ns: u64) -> Result<(), CommandError> {
        let target = TargetName::new(LOCAL);
        let claim = Claim::of_runtime(target, runtime);
        self.handle.said(Said { boot_ns: Some(looked_ns), ..Said::now(Source::Llm, claim, vec![reading]) }).await
    }

    /// Says what is wrong once, when it comes up, and once more when it is over.
    async fn tell_problem(&mut self) -> Result<(), CommandError> {
        let problem = self.ledger.problem(self.clock.now());
        if problem == self.problem {
            return Ok(());
        }
        match &problem {
            Some(problem) => tracing::warn!(problem, "the model that looks at silent agents is not asked"),
            None => tracing::info!("the model that looks at silent agents is asked again"),
        }
        self.problem.clone_from(&problem);
        self.handle.trouble(PART, problem.map(|problem| format!("{PART}: {problem}"))).await
    }

    /// The text on a pane's screen. A pane that cannot be looked at is on its way out; the observers tell.
    async fn screen_text(&self, silent: &Silent) -> Option<String> {
        let captured = capture(&self.tmux, &silent.socket, silent.pane, SCREEN_DEADLINE).await.ok()??;
        let shown = agtmux_agents::screen::Screen::parse(&captured.text);
        Some(shown.rows().iter().map(Row::text).collect::<Vec<_>>().join("\n"))
    }
}

/// The runtimes of this host that nobody speaks for.
fn silent(world: &World) -> impl Iterator<Item = Silent> {
    let servers = &world.engine.state().topology.servers;
    silences(&world.engine).filter(|(runtime, _)| runtime.target.as_str() == LOCAL).filter_map(|(runtime, silence)| {
        Some(Silent {
            runtime: runtime.id.clone(),
            agent: runtime.agent.to_string(),
            silence,
            socket: PathBuf::from(&servers.get(&runtime.pane.server)?.socket),
            pane: runtime.pane.pane,
        })
    })
}
