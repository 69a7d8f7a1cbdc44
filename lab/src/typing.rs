//! Somebody types into a real agent that is wrapped, while messages are sent through the wrapper. What the agent then says to the
//! model tells what became of each line and each message.

use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use agtmux_typist::inject::Shim;
use agtmux_typist::oracle::{Fate, apart, judge};
use agtmux_typist::person::Person;
use agtmux_typist::sender::{Sender, together};
use agtmux_typist::stage::Tmux;
use anyhow::{Context as _, Result};
use fastrand::Rng;
use regex::Regex;

use crate::agent::Agent;
use crate::install::Packages;
use crate::stage::Stage;

/// How long an agent may take to be there, and to draw what is typed.
const START: Duration = Duration::from_secs(90);
const DRAWN: Duration = Duration::from_secs(30);

/// How long the model may wait for what was typed last.
const LAST: Duration = Duration::from_secs(30);

/// Bytes of a message: with room for an id, and short enough for a conversation of many.
const SHORTEST: usize = 40;
const LONGEST: usize = 4_000;

/// What became of everything.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// Of every line.
    pub lines: Vec<Fate>,
    /// Of every message.
    pub messages: Vec<Fate>,
    /// What the model was told that is none of them.
    pub strays: Vec<String>,
    /// How many were told to the model after one that was submitted later. Agents have queues of their own.
    pub overtaken: usize,
    /// How often a message was put off.
    pub put_off: usize,
}

impl Typed {
    /// Whether everything is as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.strays.is_empty() && self.lines.iter().chain(&self.messages).all(|fate| *fate == Fate::Intact)
    }
}

impl AddAssign for Typed {
    fn add_assign(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.messages.extend(other.messages);
        self.strays.extend(other.strays);
        self.overtaken += other.overtaken;
        self.put_off += other.put_off;
    }
}

/// One conversation with an agent: so many lines and messages at least.
///
/// # Errors
/// Fails when the agent does not start or ends; what is not intact is an outcome.
pub async fn converse(
    agent: Agent,
    packages: &Packages,
    agtmux: &Path,
    lines: usize,
    messages: usize,
    haste: f64,
) -> Result<Typed> {
    let stage = Stage::set(&[agent], packages, agtmux, "").await?;
    stage.terminal.type_text(&format!("{} wrap -- {}", agtmux.display(), agent.command())).await?;
    stage.terminal.keys(&["Enter"]).await?;
    stage.terminal.wait_for(&Regex::new(agent.ready())?, true, START).await?;
    stage.terminal.wait_until_keys_count(DRAWN).await?;
    let (root, pane) = (stage.root().to_owned(), stage.terminal.pane.clone());
    let typing = move || type_and_send(&root, &pane, lines, messages, haste);
    let (lines, messages, put_off) = tokio::task::spawn_blocking(typing).await??;
    let expected = [&lines[..], &messages[..]].concat();
    let since = Instant::now();
    let said = loop {
        let said = stage.model().said();
        let parts: usize = said.iter().map(|text| apart(&expected, text).len()).sum();
        if parts >= expected.len() || since.elapsed() > LAST {
            break said;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let said: Vec<_> = said.iter().flat_map(|text| apart(&expected, text)).collect();
    let mut verdict = judge(&lines, &messages, &said);
    let fates = verdict.lines.iter_mut().chain(&mut verdict.messages);
    let overtaken = fates.filter(|fate| **fate == Fate::Reordered).map(|fate| *fate = Fate::Intact).count();
    stage.strike().await?;
    Ok(Typed { lines: verdict.lines, messages: verdict.messages, strays: verdict.strays, overtaken, put_off })
}

fn type_and_send(
    root: &Path,
    pane: &str,
    lines: usize,
    messages: usize,
    haste: f64,
) -> Result<(Vec<String>, Vec<String>, usize)> {
    let mut random = Rng::new();
    let shim = Shim::new(socket(root)?, random.fork());
    let mut sender = Sender::new(Box::new(shim), "lab", SHORTEST..=LONGEST, haste, random.fork());
    let tmux = Tmux::at(root);
    // Characters come in pieces, and a piece of one is no key.
    tmux.run(&["set", "-s", "escape-time", "2000"])?;
    // There is no journal: with one terminal nobody looks at it.
    let mut person = Person::sit_down(&tmux, "lab", pane, root.join("none"), random, haste, 1)?;
    together(&mut person, &mut sender, lines, messages, &AtomicBool::new(false))?;
    Ok((person.lines().to_vec(), sender.texts().to_vec(), sender.put_off()))
}

/// The one wrapper there is.
fn socket(root: &Path) -> Result<PathBuf> {
    let entry = fs::read_dir(root.join("run/agtmux/shim"))?.next().context("no wrapper has a socket")??;
    Ok(entry.path())
}
