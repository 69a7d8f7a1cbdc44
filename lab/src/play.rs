//! Plays a story: does what it says, and compares what agtmux says with what is true.

mod letters;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process};

use crate::follower::{Follower, Word};
use crate::install::Packages;
use crate::stage::Stage;
use crate::story::{Step, Story, Truth, Verb};

/// States that call a person. One that is shown without cause on the way to the truth is a false alarm.
const ALARMS: [&str; 3] = ["error", "waiting_approval", "waiting_input"];

/// How long an agent may take to be there, and to draw what is typed.
const START: Duration = Duration::from_secs(60);
const DRAWN: Duration = Duration::from_secs(30);

/// How long an agent that takes Enter may take to show it.
const TAKEN: Duration = Duration::from_secs(3);

/// What the first pane is called.
const FIRST: &str = "a";

/// Between two looks at what an agent made of it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Keys that come closer together are taken for one: Escape and a letter for Alt and that letter.
const BETWEEN_KEYS: Duration = Duration::from_millis(150);

/// How stories are played.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The agents.
    pub packages: Packages,
    /// The binary under test.
    pub agtmux: PathBuf,
    /// Whether each step is told as it happens.
    pub verbose: bool,
    /// Whether a story that fails is left standing, to be looked at.
    pub keep: bool,
    /// Whether agtmux is not asked, to see whether the story itself happens as written.
    pub rehearsal: bool,
}

/// How a story went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was expected and seen, in order.
    pub sights: Vec<Sight>,
    /// Requests that were meant for the world.
    pub outside: Vec<String>,
    /// How long it took.
    pub took: Duration,
    /// Why it failed, with what there was to see, if it did.
    pub failure: Option<String>,
}

/// A truth that agtmux said.
#[derive(Clone, Debug)]
pub struct Sight {
    /// What was done before.
    pub after: String,
    /// The state and the reason.
    pub state: String,
    /// The source that decided.
    pub source: Option<String>,
    /// From what was done to the moment it was visible. Nothing if it was so before.
    pub visible: Duration,
    /// From the moment it was drawn, if the story waited for that, to the moment it was visible, in milliseconds. Less
    /// than nothing if agtmux was first.
    pub drawn: Option<i64>,
}

/// Plays a story.
///
/// # Errors
/// Fails when the stage cannot be set or taken down; a story that goes wrong is an outcome.
pub async fn play(story: &Story, manner: &Manner) -> Result<Outcome> {
    let started = Instant::now();
    let mut stage = Stage::set(&[story.agent], &manner.packages, &manner.agtmux, &story.settings).await?;
    let mut player = Player::new(story, &mut stage, manner);
    let mut failure = None;
    for step in &story.steps {
        player.tell(&step.text);
        if let Err(error) = player.step(step).await {
            failure = Some(format!("{story}: {}: {error:#}\n{}", step.text, evidence(player.stage).await));
            break;
        }
    }
    let sights = std::mem::take(&mut player.sights);
    let outside = stage.model().asked().into_iter().filter(|asked| asked.outside).map(|asked| asked.request).collect();
    if let Some(failure) = failure.as_mut().filter(|_| manner.keep) {
        let root = stage.keep();
        let _ = writeln!(failure, "--- kept: {}; tmux -S {}/t attach", root.display(), root.display());
    } else {
        let log = stage.daemon_log();
        // A daemon that does not end is a failure like any other, and no reason to leave the other stories out.
        if let Err(error) = stage.strike().await {
            failure.get_or_insert(format!("{story}: at its end: {error:#}\n--- the daemon's log\n{log}"));
        }
    }
    Ok(Outcome { sights, outside, took: started.elapsed(), failure })
}

/// What there is to see when something is not as it should be.
async fn evidence(stage: &Stage) -> String {
    let pane = stage.terminal.pane.as_str();
    let explained = stage.agtmux(&["explain", pane]).await.unwrap_or_else(|error| format!("{error:#}\n"));
    let events = stage.agtmux(&["events"]).await.unwrap_or_else(|error| format!("{error:#}\n"));
    let screen = stage.terminal.screen().await.unwrap_or_else(|error| format!("{error:#}"));
    let words: String = stage.follower.since(0).iter().map(|word| format!("{}\n", spoken(word))).collect();
    let asked: String =
        stage.model().asked().iter().map(|asked| format!("{} -> {}\n", asked.request, asked.answer)).collect();
    format!(
        "--- explain\n{explained}--- said\n{words}--- events\n{events}--- screen\n{}\n--- asked of the model\n{asked}\
         --- the daemon's log\n{}",
        screen.trim_end(),
        stage.daemon_log()
    )
}

struct Player<'a> {
    story: &'a Story,
    stage: &'a mut Stage,
    manner: &'a Manner,
    started: Instant,
    /// What was done last, when, and how much agtmux had said by then.
    done: (String, Instant),
    position: usize,
    /// Whether what stood before no longer counts: a prompt changes the state, if only for a moment.
    fresh: bool,
    /// When what the story waited for was drawn.
    drawn: Option<Instant>,
    /// What agtmux sent.
    sent: Vec<String>,
    /// Whether agtmux started the agent, in the wrapper.
    wrapped: bool,
    sights: Vec<Sight>,
    /// The pane where the story is, and those that it has left.
    pane: String,
    left: BTreeMap<String, Left>,
}

/// A pane that the story has left.
struct Left {
    pane: String,
    follower: Follower,
    position: usize,
}

impl<'a> Player<'a> {
    fn new(story: &'a Story, stage: &'a mut Stage, manner: &'a Manner) -> Self {
        let now = Instant::now();
        let done = (String::new(), now);
        Self {
            story,
            stage,
            manner,
            started: now,
            done,
            position: 0,
            fresh: false,
            drawn: None,
            sent: Vec::new(),
            wrapped: false,
            sights: Vec::new(),
            pane: FIRST.to_owned(),
            left: BTreeMap::new(),
        }
    }

    async fn step(&mut self, step: &Step) -> Result<()> {
        let agent = self.story.agent;
        let terminal = self.stage.terminal.clone();
        match &step.verb {
            Verb::Start(arguments) => {
                let mut line = format!("{} {arguments}", agent.command());
                if line.contains("PORT") {
                    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
                    line = line.replace("PORT", &port.to_string());
                }
                terminal.type_text(line.trim_end()).await?;
                self.act(step);
                terminal.keys(&["Enter"]).await?;
                terminal.wait_for(&Regex::new(agent.ready())?, true, START).await?;
                terminal.wait_until_keys_count(DRAWN).await?;
            }
            Verb::Spawn { again, folder, prompt, refused } => {
                self.spawn(step, *again, folder.as_deref(), prompt, refused.as_deref()).await?;
            }
            Verb::Prompt(text) => {
                self.paste(text).await?;
                tokio::time::sleep(agent.rest()).await;
                self.submit(step, text).await?;
            }
            Verb::Type(text) => {
                self.act(step);
                self.paste(text).await?;
            }
            Verb::Send(text) => self.send(step, text).await?,
            Verb::Received => self.received().await?,
            Verb::Key(keys) => {
                for (index, key) in keys.iter().enumerate() {
                    if index > 0 {
                        tokio::time::sleep(BETWEEN_KEYS).await;
                    }
                    self.act(step);
                    terminal.keys(&[key]).await?;
                }
            }
            Verb::KeyUntil(key, pattern) => self.press_until(step, key, pattern).await?,
            Verb::Shell(line) => {
                terminal.type_text(line).await?;
                self.act(step);
                terminal.keys(&["Enter"]).await?;
            }
            Verb::Signal(name) => {
                self.act(step);
                self.signal(name)?;
            }
            Verb::Screen { pattern, shown, within } => {
                let drawn = terminal.wait_for(pattern, *shown, *within).await?;
                // What was said before counts only if it stood when this was drawn.
                self.position = self.position.max(self.stage.follower.position_at(drawn));
                self.drawn = Some(drawn);
                self.fresh = false;
                tokio::time::sleep(agent.rest()).await;
            }
            Verb::Expect(_) | Verb::Holds(_) if self.manner.rehearsal => {}
            Verb::Agtmux { words, refused, says, waits } => {
                let words: Vec<_> = words.iter().map(|word| self.with_panes(word)).collect();
                let words: Vec<_> = words.iter().map(String::as_str).collect();
                self.act(step);
                let started = Instant::now();
                let said = loop {
                    let said = self.stage.agtmux(&words).await;
                    let is_said = matches!((&said, says), (Ok(said), Some(says)) if says.is_match(said));
                    if !waits || is_said || started.elapsed() > DRAWN {
                        break said.map_err(|error| format!("{error:#}"));
                    }
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                };
                match (said, refused) {
                    (Ok(said), None) if says.as_ref().is_none_or(|says| says.is_match(&said)) => {
                        self.tell(&format!("    {}", said.trim_end()))
                    }
                    (Err(said), Some(code)) if said.contains(&format!("[{code}]")) => self.tell(&format!("    {said}")),
                    (Ok(said) | Err(said), _) => bail!("agtmux says {said}"),
                }
            }
            Verb::Pane(name) => self.go_to(name).await?,
            Verb::Never(_) if self.manner.rehearsal => {}
            Verb::Never(states) => {
                let words = self.stage.follower.since(self.position);
                let said = words.iter().find(|word| word.state.as_ref().is_some_and(|state| states.contains(state)));
                ensure!(said.is_none(), "agtmux said {}", said.map(spoken).unwrap_or_default());
            }
            Verb::File { name, there } => {
                let file = self.stage.workspace().join(name);
                let started = Instant::now();
                while *there && !file.exists() && started.elapsed() < DRAWN {
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
                ensure!(file.exists() == *there, "{name} is {}there", if *there { "not " } else { "" });
            }
            Verb::Told(pattern) => {
                let started = Instant::now();
                while !self.stage.model().asked().iter().any(|asked| pattern.is_match(&asked.body)) {
                    ensure!(started.elapsed() < DRAWN, "the model was not told that");
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
            }
            Verb::Expect(truth) => self.expect(truth).await?,
            Verb::Holds(time) => self.holds(*time).await?,
        }
        Ok(())
    }

    /// Goes on in the pane of that name. What agtmux has said of it since the story left it counts.
    async fn go_to(&mut self, name: &str) -> Result<()> {
        let (position, before) = (self.stage.follower.position(), std::mem::replace(&mut self.pane, name.to_owned()));
        if name == before {
            return Ok(());
        }
        let (pane, follower) = match self.left.remove(name) {
            Some(left) => {
                self.position = left.position;
                self.stage.swap_pane(left.pane, left.follower)
            }
            None => {
                self.position = 0;
                self.stage.open_pane().await?
            }
        };
        self.left.insert(before, Left { pane, follower, position });
        (self.drawn, self.fresh) = (None, false);
        Ok(())
    }

    /// A word with the ids of the panes that it names.
    fn with_panes(&self, word: &str) -> String {
        let mut word = word.to_owned();
        for (name, left) in &self.left {
            word = word.replace(&format!("PANE:{name}"), &left.pane);
        }
        word = word.replace(&format!("PANE:{}", self.pane), &self.stage.terminal.pane);
        word.replace("PANE", &self.stage.terminal.pane)
    }

    /// Pastes a text and waits until it is drawn, once more than it was.
    async fn paste(&self, text: &str) -> Result<()> {
        let terminal = &self.stage.terminal;
        let end: String = text.chars().skip(text.chars().count().saturating_sub(20)).collect();
        let drawn = terminal.screen().await?.matches(&end).count();
        terminal.paste(text).await?;
        let once_more = format!("(?s)({}.*){{{}}}", regex::escape(&end), drawn + 1);
        terminal.wait_for(&Regex::new(&once_more)?, true, DRAWN).await.map(drop)
    }

    /// Some agents want a key twice, but not too slowly, which a busy machine cannot promise.
    async fn press_until(&mut self, step: &Step, key: &str, pattern: &Regex) -> Result<()> {
        let terminal = self.stage.terminal.clone();
        let started = Instant::now();
        while started.elapsed() < DRAWN {
            self.act(step);
            terminal.keys(&[key]).await?;
            if terminal.wait_for(pattern, true, BETWEEN_KEYS).await.is_ok() {
                return Ok(());
            }
        }
        bail!("{key} does nothing")
    }

    /// Presses Enter until something happens: an agent that is still busy with its start may drop the first.
    async fn submit(&mut self, step: &Step, text: &str) -> Result<()> {
        let terminal = self.stage.terminal.clone();
        let before = Regex::new(&format!(r"\A{}\z", regex::escape(&terminal.screen().await?)))?;
        // A command may open a dialog, which hides the composer and would take the next Enter.
        let emptied = self.story.agent.emptied().filter(|_| !text.starts_with('/')).map(Regex::new).transpose()?;
        let asked = self.stage.model().asked().len();
        self.act(step);
        for _ in 0..5 {
            // What was said since the first press counts: that one may be what the agent took.
            (self.done.1, self.fresh) = (Instant::now(), true);
            terminal.keys(&["Enter"]).await?;
            if terminal.wait_for(&before, false, TAKEN).await.is_ok() {
                let Some(emptied) = &emptied else { return Ok(()) };
                let started = Instant::now();
                while started.elapsed() < TAKEN {
                    if self.stage.model().asked().len() > asked || emptied.is_match(&terminal.screen().await?) {
                        return Ok(());
                    }
                    tokio::time::sleep(BETWEEN_LOOKS).await;
                }
            }
        }
        bail!("Enter does nothing")
    }

    /// Notes that something is being done now.
    fn act(&mut self, step: &Step) {
        self.done = (step.text.clone(), Instant::now());
        self.position = self.stage.follower.position();
        self.drawn = None;
        self.fresh = false;
    }

    async fn expect(&mut self, truth: &Truth) -> Result<()> {
        let follower = &self.stage.follower;
        let found =
            follower.wait(self.position + usize::from(self.fresh), truth.within, |word| is_true(truth, word)).await;
        let Some((position, word)) = found else {
            let last = follower.last().map_or_else(|| "nothing".to_owned(), |word| spoken(&word));
            bail!("agtmux says {last}");
        };
        let passed = follower.since(self.position).into_iter().take_while(|passed| passed.at < word.at);
        if let Some(alarm) = passed.filter(|word| is_false_alarm(word, truth) && !self.is_known(word)).last() {
            bail!("a false alarm on the way: {}", spoken(&alarm));
        }
        (self.position, self.fresh) = (position, false);
        let since = |moment: Instant| match word.at.checked_duration_since(moment) {
            Some(later) => i64::try_from(later.as_millis()).unwrap_or(i64::MAX),
            None => -i64::try_from(moment.duration_since(word.at).as_millis()).unwrap_or(i64::MAX),
        };
        let sight = Sight {
            after: self.done.0.clone(),
            state: spoken(&word),
            source: word.source.clone(),
            visible: word.at.saturating_duration_since(self.done.1),
            drawn: self.drawn.map(since),
        };
        self.tell(&format!(
            "    {} after {:?} ({})",
            sight.state,
            sight.visible,
            sight.source.as_deref().unwrap_or("-")
        ));
        self.sights.push(sight);
        Ok(())
    }

    /// Whether a word says what was expected last, which may stand for a moment longer.
    fn is_known(&self, word: &Word) -> bool {
        self.sights.last().is_some_and(|sight| sight.state == spoken(word))
    }

    async fn holds(&self, time: Duration) -> Result<()> {
        let follower = &self.stage.follower;
        let standing = follower.last().context("agtmux says nothing yet")?;
        let changed = follower.wait(follower.position(), time, |word| word.state != standing.state).await;
        match changed {
            Some((_, word)) => bail!("{} did not hold: {}", spoken(&standing), spoken(&word)),
            None => Ok(()),
        }
    }

    fn signal(&self, name: &str) -> Result<()> {
        let signal = match name {
            "KILL" => Signal::KILL,
            "TERM" => Signal::TERM,
            "STOP" => Signal::STOP,
            "CONT" => Signal::CONT,
            _ => bail!("the lab does not know the signal {name}"),
        };
        let pid = self.stage.follower.last().and_then(|word| word.pid).context("agtmux knows no process")?;
        let pid = Pid::from_raw(i32::try_from(pid)?).context("no such process")?;
        ensure!(kill_process(pid, signal).is_ok(), "the process is already gone");
        Ok(())
    }

    #[expect(clippy::print_stderr, reason = "it is the lab's command line that asked for this")]
    fn tell(&self, what: &str) {
        if self.manner.verbose {
            eprintln!("{:>8.3}s  {}  {what}", self.started.elapsed().as_secs_f64(), self.story);
        }
    }
}

fn is_true(truth: &Truth, word: &Word) -> bool {
    let state = match &word.state {
        None => truth.states.is_empty(),
        Some(state) => truth.states.contains(state),
    };
    state && truth.reason.as_ref().is_none_or(|reason| word.reason.as_ref() == Some(reason))
}

/// Whether a word calls a person for nothing. The right state with a reason that is not known yet does not.
fn is_false_alarm(word: &Word, truth: &Truth) -> bool {
    word.state.as_ref().is_some_and(|state| ALARMS.contains(&state.as_str()) && !truth.states.contains(state))
}

fn spoken(word: &Word) -> String {
    match (&word.state, &word.reason) {
        (None, _) => "nobody".to_owned(),
        (Some(state), None) => state.clone(),
        (Some(state), Some(reason)) => format!("{state} ({reason})"),
    }
}

/// The agtmux that was built beside this program.
///
/// # Errors
/// Fails when there is none.
pub fn agtmux_beside_us() -> Result<PathBuf> {
    let lab = std::env::current_exe()?;
    let agtmux = lab.parent().unwrap_or(Path::new(".")).join("agtmux");
    ensure!(agtmux.exists(), "{} is not there: cargo build --package agtmux --bins", agtmux.display());
    Ok(agtmux)
}
