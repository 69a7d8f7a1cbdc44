//! Somebody types into a real agent while messages come by `sm send`. What the agent has told its model in the end says what became of
//! each line and of each message, and whether agtmux said the truth of it.

mod told;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::ops::{AddAssign, Range};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use agtmux_typist::body;
use agtmux_typist::oracle::Fate;
use agtmux_typist::person::Person;
use agtmux_typist::report::failures;
use agtmux_typist::stage::Tmux;
use agtmux_wire::mail::{Message, MessageList};
use anyhow::Result;
use fastrand::Rng;
use regex::Regex;

use crate::agent::Agent;
use crate::install::Packages;
use crate::stage::Stage;

/// How long an agent may take to be there, and to draw what is typed.
const START: Duration = Duration::from_secs(90);
const DRAWN: Duration = Duration::from_secs(30);

/// How long one burst of messages is waited for before the next one is sent; and all of them, once nobody types any more.
const BURST: Duration = Duration::from_secs(60);
const LAST: Duration = Duration::from_secs(90);

/// How many are sent in a row at most: they arrive together, or one after the other while those before are answered.
const IN_A_ROW: usize = 5;

/// Milliseconds between two bursts, at most.
const REST: u64 = 8_000;

/// Bytes of a message: with room for an id, and short enough for a conversation of many.
const SHORTEST: usize = 40;
const LONGEST: usize = 4_000;

/// What some messages make the model do, so that the next ones find the agent in a turn: it speaks, or a command runs.
const ACTS: [&str; 8] =
    ["", "", "", "", "stream:1", "stream:3", "tool:bash:sleep 1 ;; say:ok", "tool:bash:sleep 2 ;; stream:1"];

/// For how many milliseconds somebody leaves a line half written. In the wrapper that is long enough for it to be put aside for a message.
/// Without it nobody can hold the keys of who comes back in that half second, so there the line is not left for so long.
const LEFT: Range<u64> = 4_500..9_000;
const PAUSE: Range<u64> = 1_500..4_000;

/// How fast somebody types: so many times as fast as people do.
const HASTE: [f64; 4] = [0.8, 1.0, 1.5, 3.0];

/// What became of everything.
#[derive(Clone, Debug, Default)]
pub struct Mailed {
    /// Of every line.
    pub lines: Vec<Fate>,
    /// Of every message.
    pub messages: Vec<Letter>,
    /// What the model was told that has pieces of them in it and is none of them.
    pub strays: Vec<String>,
}

/// A message, and what became of it.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Its id.
    pub id: String,
    /// What the model was told of it.
    pub fate: Fate,
    /// What agtmux says of it in the end.
    pub status: String,
    /// By which way it went, if it did.
    pub channel: Option<String>,
}

impl Letter {
    /// Whether it came once and whole, or not at all, and agtmux says so. Who was told that nobody knows was told the truth.
    fn is_told_truly(&self) -> bool {
        match self.status.as_str() {
            "confirmed" => self.fate == Fate::Intact,
            "unconfirmed" => matches!(self.fate, Fate::Intact | Fate::Lost),
            "expired" | "cancelled" | "dead" => self.fate == Fate::Lost,
            _ => false,
        }
    }
}

impl Mailed {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.strays.is_empty()
            && self.lines.iter().all(|fate| *fate == Fate::Intact)
            && self.messages.iter().all(Letter::is_told_truly)
    }
}

impl AddAssign for Mailed {
    fn add_assign(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.messages.extend(other.messages);
        self.strays.extend(other.strays);
    }
}

impl fmt::Display for Mailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for letter in &self.messages {
            let way = letter.channel.as_ref().map(|way| format!(" by {way}")).unwrap_or_default();
            *counts.entry(format!("{}{way}", letter.status)).or_default() += 1;
        }
        let counts: Vec<_> = counts.iter().map(|(what, count)| format!("{count} {what}")).collect();
        let fates: Vec<_> = self.messages.iter().map(|letter| letter.fate).collect();
        writeln!(f, "{} messages: {}; not intact: {}", fates.len(), counts.join(", "), failures(&fates))?;
        let (lines, strays) = (self.lines.len(), self.strays.len());
        writeln!(f, "{lines} lines typed, not intact: {}; {strays} strays", failures(&self.lines))?;
        for letter in self.messages.iter().filter(|letter| !letter.is_told_truly()) {
            writeln!(f, "  {} is {}, and was {}", letter.id, letter.status, letter.fate.word())?;
        }
        let short = |text: &str| text.chars().take(600).collect::<String>();
        self.strays.iter().try_for_each(|stray| writeln!(f, "  stray: {:?}", short(stray)))
    }
}

/// One conversation with an agent, in the wrapper or without it: so many messages, and lines for as long as they are under way.
///
/// # Errors
/// Fails when the agent does not start or ends; what is not as it should be is an outcome.
pub async fn converse(
    agent: Agent,
    packages: &Packages,
    agtmux: &Path,
    wrapped: bool,
    messages: usize,
    keep: Option<&Path>,
) -> Result<Mailed> {
    let stage = Stage::set(&[agent], packages, agtmux, "agents.claude.plugin = false\n").await?;
    let wrapper = if wrapped { format!("{} wrap -- ", agtmux.display()) } else { String::new() };
    stage.terminal.type_text(&format!("{wrapper}{}", command(agent))).await?;
    stage.terminal.keys(&["Enter"]).await?;
    stage.terminal.wait_for(&Regex::new(agent.ready())?, true, START).await?;
    stage.terminal.wait_until_keys_count(DRAWN).await?;
    let (tmux, pane, none) = (Tmux::at(stage.root()), stage.terminal.pane.clone(), stage.root().join("none"));
    // Characters come in pieces, and a piece of one is no key.
    tmux.run(&["set", "-s", "escape-time", "2000"])?;
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let typing = tokio::task::spawn_blocking(move || -> Result<Person> {
        let mut random = Rng::new();
        let mut person = Person::sit_down(&tmux, "lab", &pane, none, random.fork(), 1.0, 1)?.dawdling(if wrapped {
            LEFT
        } else {
            PAUSE
        });
        while !over.load(Ordering::Relaxed) {
            person.hurry(HASTE[random.usize(..HASTE.len())]);
            person.type_line()?;
            // Without the wrapper messages wait until nobody has typed for two seconds.
            if !wrapped && random.bool() {
                std::thread::sleep(Duration::from_millis(random.u64(2_500..6_000)));
            }
        }
        Ok(person)
    });
    let sent = send_all(&stage, messages).await;
    is_over.store(true, Ordering::Relaxed);
    let person = typing.await??;
    let sent = sent?;
    settle(&stage, &sent, LAST, true).await?;
    let mailed = judge(&stage, person.lines(), &sent).await?;
    if let Some(folder) = keep.filter(|_| !mailed.is_clean()) {
        preserve(&stage, folder, &person, &sent).await?;
    }
    stage.strike().await?;
    Ok(mailed)
}

/// How an agent is started so that it asks nobody before it runs the command of a message.
const fn command(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude --allowedTools 'Bash(sleep:*)'",
        Agent::Codex => "codex --no-daemon -a never -s danger-full-access",
        _ => agent.command(),
    }
}

/// Sends them, some at once, then waits for those. Gives the text of each by its id.
async fn send_all(stage: &Stage, messages: usize) -> Result<BTreeMap<String, String>> {
    let mut random = Rng::new();
    let mut sent = BTreeMap::new();
    while sent.len() < messages {
        let burst = random.usize(1..=IN_A_ROW).min(messages - sent.len());
        for _ in 0..burst {
            let number = sent.len();
            let size = body::size(&mut random).clamp(SHORTEST, LONGEST);
            let act = ACTS[random.usize(..ACTS.len())];
            let text = format!("{}\n{act}", body::message(&mut random, number, size)).trim_end().to_owned();
            let id = format!("typist-{number}");
            let mut words = vec!["sm", "send", &stage.terminal.pane, &text, "--id", &id];
            words.extend((random.u32(..4) == 0).then_some("--important"));
            stage.agtmux(&words).await?;
            sent.insert(id, text);
        }
        settle(stage, &sent, BURST, false).await?;
        // Some find the agent at rest, some in a turn.
        tokio::time::sleep(Duration::from_millis(random.u64(..REST))).await;
    }
    Ok(sent)
}

/// Waits until all of them are over. What still waits is taken back then, if it is the end.
async fn settle(stage: &Stage, sent: &BTreeMap<String, String>, patience: Duration, is_end: bool) -> Result<()> {
    let since = Instant::now();
    loop {
        let list: MessageList = serde_json::from_str(&stage.agtmux(&["sm", "queue", "--json"]).await?)?;
        if list.items.iter().all(|message| !sent.contains_key(&message.id)) {
            return Ok(());
        }
        if since.elapsed() > patience {
            for message in list.items.iter().filter(|_| is_end) {
                // It may be under way, and is what it is then.
                stage.ask_agtmux(&["sm", "cancel", &message.id]).await?;
            }
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Compares what was typed and sent with what the model was told, once that is all there.
async fn judge(stage: &Stage, typed: &[String], sent: &BTreeMap<String, String>) -> Result<Mailed> {
    let since = Instant::now();
    loop {
        let told = told::texts(&stage.model().asked());
        let mut messages = Vec::new();
        for (id, text) in sent {
            let shown: Message = serde_json::from_str(&stage.agtmux(&["sm", "show", id, "--json"]).await?)?;
            let (id, fate) = (id.clone(), told::of_message(&told, id, text));
            messages.push(Letter { id, fate, status: shown.status, channel: shown.channel });
        }
        let lines: Vec<_> = typed.iter().map(|line| told::of_line(&told, line)).collect();
        let strays = told::strays(&told, typed, sent);
        let mailed = Mailed { lines, messages, strays };
        if mailed.is_clean() || since.elapsed() > LAST {
            return Ok(mailed);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Writes down all there is to know, for somebody who wants to look.
async fn preserve(stage: &Stage, folder: &Path, person: &Person, sent: &BTreeMap<String, String>) -> Result<()> {
    let folder = &folder.join(stage.root().file_name().unwrap_or_default());
    fs::create_dir_all(folder)?;
    let write = |name: &str, text: String| fs::write(folder.join(name), text);
    write("told", format!("{:#?}", told::texts(&stage.model().asked())))?;
    write("lines", format!("{:#?}", person.lines()))?;
    write("diary", person.diary().join("\n"))?;
    write("sent", format!("{sent:#?}"))?;
    write("screen", stage.terminal.screen().await?)?;
    write("messages.json", stage.agtmux(&["sm", "queue", "--all", "--json"]).await?)?;
    write("events", stage.agtmux(&["events", "--limit", "10000"]).await?)?;
    write("log", stage.daemon_log())?;
    Ok(())
}
