//! What agtmux sends, and whether the model was given that: a first prompt with a new agent, or a text to one that is there.

use std::time::Instant;

use agtmux_wire::send::{SendChannel, SendEvidence, SendStatus, Sent};
use agtmux_wire::spawn::{SpawnStatus, Spawned};
use anyhow::{Context as _, Result, ensure};

use super::{BETWEEN_KEYS, Player, START};
use crate::story::Step;

/// What an agent is called that agtmux starts.
const NAME: &str = "x";

impl Player<'_> {
    /// Has agtmux start the agent with a first prompt. The story goes on in its pane.
    pub(super) async fn spawn(
        &mut self,
        step: &Step,
        again: bool,
        folder: Option<&str>,
        prompt: &str,
        refused: Option<&str>,
    ) -> Result<()> {
        self.act(step);
        let (program, arguments) = self.story.agent.command().split_once(' ').map_or_else(
            || (self.story.agent.command(), Vec::new()),
            |(program, arguments)| (program, arguments.split(' ').collect()),
        );
        let begin = if again { vec!["resume", NAME] } else { vec!["spawn", program, "--name", NAME] };
        let folder = folder.map_or_else(Vec::new, |folder| vec!["--workspace", folder]);
        let words = [begin, folder, vec!["--prompt", prompt, "--json", "--"], arguments].concat();
        let told = self.stage.ask_agtmux(&words).await?;
        self.tell(&format!("    {}", told.answer.trim()));
        let Ok(spawned) = serde_json::from_str::<Spawned>(&told.answer) else {
            return told.succeeded().and_then(|said| anyhow::bail!("agtmux says {said}"));
        };
        self.stage.turn_to(&spawned.pane_id).await?;
        self.position = 0;
        self.wrapped = spawned.wrapped;
        ensure!(spawned.wrapped, "it is not in the wrapper: {:?}", spawned.notes);
        ensure!(spawned.name.as_deref() == Some(NAME), "it is called {:?}", spawned.name);
        if let Some(code) = refused {
            let problem = spawned.problem.map(|problem| problem.code.name());
            ensure!(problem == Some(code), "it is refused with {problem:?}");
            ensure!(spawned.prompt.is_none(), "something was typed: {:?}", spawned.prompt);
            return Ok(());
        }
        told.succeeded()?;
        ensure!(spawned.status == SpawnStatus::Ready, "it is {:?}", spawned.status);
        self.is_taken(&spawned.prompt.context("nothing is said of its prompt")?)?;
        self.sent.push(prompt.to_owned());
        Ok(())
    }

    /// Has agtmux send a text. It has to know that the agent took it.
    pub(super) async fn send(&mut self, step: &Step, text: &str) -> Result<()> {
        self.act(step);
        self.fresh = true;
        let who = if self.wrapped { NAME } else { &self.stage.terminal.pane };
        let said = self.stage.agtmux(&["send", who, "--text", text, "--json"]).await?;
        self.tell(&format!("    {}", said.trim()));
        let sent: Sent = serde_json::from_str(&said)?;
        let channel = if self.wrapped { SendChannel::Wrapper } else { SendChannel::Tmux };
        ensure!(sent.channel == channel, "it went by {:?}: {}", sent.channel, sent.channel_reason);
        self.sent.push(text.to_owned());
        Ok(())
    }

    /// Whether the agent itself told that it took a text, or was seen to begin with it.
    fn is_taken(&self, sent: &Sent) -> Result<()> {
        let told = [SendEvidence::Hook, SendEvidence::TurnStarted];
        ensure!(
            sent.status == SendStatus::Submitted && sent.evidence.iter().any(|evidence| told.contains(evidence)),
            "it is {:?} by {:?}: {}",
            sent.status,
            sent.evidence,
            sent.detail
        );
        ensure!(sent.channel == SendChannel::Wrapper, "it went by {:?}", sent.channel);
        Ok(())
    }

    /// What the model was asked may take a moment to arrive, and comes with every request of the conversation.
    pub(super) async fn received(&self) -> Result<()> {
        ensure!(!self.sent.is_empty(), "nothing was sent");
        let started = Instant::now();
        loop {
            let said = self.stage.model().said();
            let count = |texts: &[String], text: &String| texts.iter().filter(|other| *other == text).count();
            let more = self.sent.iter().find(|text| count(&said, text) > count(&self.sent, text));
            ensure!(more.is_none(), "the model was given {more:?} more often than it was sent: {said:#?}");
            if self.sent.iter().all(|text| count(&said, text) == count(&self.sent, text)) {
                return Ok(());
            }
            ensure!(started.elapsed() < START, "the model was not given {:#?} but {said:#?}", self.sent);
            tokio::time::sleep(BETWEEN_KEYS).await;
        }
    }
}
