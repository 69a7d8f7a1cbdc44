//! Several agents of one kind in one folder, each with a conversation of its own, are sent messages all at once. What the model was
//! told in each conversation says which agent a message reached.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant};

use agtmux_wire::mail::{Message, MessageList};
use anyhow::{Result, ensure};
use regex::Regex;
use serde_json::Value;

use crate::agent::Agent;
use crate::install::Packages;
use crate::stage::Stage;
use crate::terminal::Terminal;

/// How long an agent may take to be there, and to draw what is typed.
const START: Duration = Duration::from_secs(120);
const DRAWN: Duration = Duration::from_secs(30);

/// How long a pasted text has to rest before Enter is taken as Enter, and Enter to show.
const REST: Duration = Duration::from_millis(400);
const TAKEN: Duration = Duration::from_secs(4);

/// How many messages each agent is sent in one go.
const BURST: usize = 5;

/// How long one burst may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the model may wait for what was typed last.
const LAST: Duration = Duration::from_secs(60);

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Crossing {
    /// By agent.
    pub agents: Vec<Received>,
}

/// What came of the messages to one agent.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// How many were sent to it.
    pub sent: usize,
    /// Those that its model was told in its own conversation.
    pub own: usize,
    /// Those that were told in the conversation of another, or in none that is known.
    pub elsewhere: Vec<String>,
    /// What agtmux says of them and by which way they went, counted.
    pub outcomes: BTreeMap<String, usize>,
    /// Those that agtmux calls confirmed though its model was not told them.
    pub untrue: Vec<String>,
}

impl Crossing {
    /// Whether every message that arrived did so at its agent, and agtmux says nothing else.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.agents.iter().all(|agent| agent.elsewhere.is_empty() && agent.untrue.is_empty() && agent.own == agent.sent)
    }
}

impl fmt::Display for Crossing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, agent) in self.agents.iter().enumerate() {
            let outcomes: Vec<_> = agent.outcomes.iter().map(|(what, count)| format!("{count} {what}")).collect();
            let (sent, own, outcomes) = (agent.sent, agent.own, outcomes.join(", "));
            let (elsewhere, untrue) = (&agent.elsewhere, &agent.untrue);
            writeln!(
                f,
                "agent {number}: {sent} sent, {own} at it, {} elsewhere {elsewhere:?}, {} not as told {untrue:?}; {outcomes}",
                elsewhere.len(),
                untrue.len(),
            )?;
        }
        Ok(())
    }
}

/// Starts so many agents and sends them messages, so many in all.
///
/// # Errors
/// Fails when an agent does not start; where the messages came to is an outcome.
pub async fn cross(
    agent: Agent,
    packages: &Packages,
    agtmux: &Path,
    agents: usize,
    messages: usize,
) -> Result<Crossing> {
    let mut stage = Stage::set(&[agent], packages, agtmux, "").await?;
    let mut panes = vec![stage.terminal.clone()];
    while panes.len() < agents {
        stage.open_pane().await?;
        panes.push(stage.terminal.clone());
    }
    for (number, pane) in panes.iter().enumerate() {
        begin(agent, &stage, pane, number).await?;
    }
    let mut sent: Vec<BTreeSet<String>> = vec![BTreeSet::new(); agents];
    let count = |sent: &[BTreeSet<String>]| sent.iter().map(BTreeSet::len).sum::<usize>();
    while count(&sent) < messages {
        for _ in 0..BURST {
            for (number, pane) in panes.iter().enumerate() {
                let id = format!("cross-{number}-{}", sent[number].len());
                stage.agtmux(&["sm", "send", &pane.pane, &format!("say:had {id}"), "--id", &id]).await?;
                sent[number].insert(id);
            }
        }
        settle(&stage).await?;
    }
    // A hook confirms a prompt before the model is told of it.
    let settled = Instant::now();
    let crossing = loop {
        let mut crossing = Crossing::default();
        for (number, ids) in sent.iter().enumerate() {
            crossing.agents.push(judge(&stage, number, ids).await?);
        }
        if crossing.is_clean() || settled.elapsed() > LAST {
            break crossing;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    };
    stage.strike().await?;
    Ok(crossing)
}

/// Starts an agent, and gives its conversation a mark by which it is known.
async fn begin(agent: Agent, stage: &Stage, pane: &Terminal, number: usize) -> Result<()> {
    pane.type_text(agent.shared_command()).await?;
    pane.keys(&["Enter"]).await?;
    pane.wait_for(&Regex::new(agent.ready())?, true, START).await?;
    pane.wait_until_keys_count(DRAWN).await?;
    let mark = mark(number);
    pane.paste(&format!("say:this is {mark}")).await?;
    pane.wait_for(&Regex::new(&mark)?, true, DRAWN).await?;
    let started = Instant::now();
    while !stage.model().asked().iter().any(|asked| asked.body.contains(&mark)) {
        ensure!(started.elapsed() < START, "{agent} takes no prompt");
        tokio::time::sleep(REST).await;
        pane.keys(&["Enter"]).await?;
        let pressed = Instant::now();
        while pressed.elapsed() < TAKEN && !stage.model().asked().iter().any(|asked| asked.body.contains(&mark)) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    Ok(())
}

/// By which the conversation of an agent is known.
fn mark(number: usize) -> String {
    format!("conversation-{number}-of-cross")
}

/// Waits until no message is under way.
async fn settle(stage: &Stage) -> Result<()> {
    let since = Instant::now();
    while since.elapsed() < PATIENCE {
        let list: MessageList = serde_json::from_str(&stage.agtmux(&["sm", "queue", "--json"]).await?)?;
        if list.items.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    Ok(())
}

async fn judge(stage: &Stage, number: usize, ids: &BTreeSet<String>) -> Result<Received> {
    let mut received = Received { sent: ids.len(), ..Received::default() };
    let asked = stage.model().asked();
    // Requests without tools are those for titles and the like.
    let has_tools = |body: &str| {
        serde_json::from_str::<Value>(body)
            .is_ok_and(|body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()))
    };
    let bodies: Vec<_> = asked.iter().map(|asked| asked.body.as_str()).filter(|body| has_tools(body)).collect();
    for id in ids {
        let envelope = format!("via sm send id={id}.");
        let told: Vec<_> = bodies.iter().filter(|body| body.contains(&envelope)).collect();
        let is_own = told.iter().any(|body| body.contains(&mark(number)));
        received.own += usize::from(is_own);
        if told.iter().any(|body| !body.contains(&mark(number))) {
            received.elsewhere.push(id.clone());
        }
        let shown: Message = serde_json::from_str(&stage.agtmux(&["sm", "show", id, "--json"]).await?)?;
        if shown.status == "confirmed" && !is_own {
            received.untrue.push(id.clone());
        }
        let way = shown.channel.as_deref().and_then(|channel| channel.split(',').next()).unwrap_or("no way");
        *received.outcomes.entry(format!("{} by {way}", shown.status)).or_default() += 1;
    }
    Ok(received)
}
