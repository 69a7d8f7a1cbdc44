//! A hook that waits while somebody may answer what its agent asks.
//!
//! The dialog is on the agent's screen all the while, and the person there is free to answer first: the agent then ends the
//! hook, or goes on without it. So nothing depends on the hook: it is let go, without an answer, when its agent no longer
//! waits, when it has waited long enough, and when the daemon ends.

use std::time::Duration;

use agtmux_agents::answer;
use agtmux_core::id::{ProcessKey, RuntimeId};
use agtmux_core::signal::Source;
use agtmux_core::state::State;
use agtmux_wire::hook::{HELD, PASSED_ON, TAKEN};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};

use super::Hooks;
use super::taking::{claim, locked};
use crate::daemon::questions::{Answer, Asked, By};
use crate::daemon::roster::Roster;
use crate::daemon::said::Said;
use crate::platform;

/// How long a hook may take to pass an answer on: it prints one line.
const PASSING_ON: Duration = Duration::from_secs(2);

/// An agent that has not waited for an answer for so long has had one. Its sources may disagree for a moment.
const OVER: Duration = Duration::from_secs(2);

/// A question that a hook asks.
pub(super) struct Question {
    pub(super) agent: String,
    pub(super) runtime: RuntimeId,
    pub(super) lineage: Vec<ProcessKey>,
    pub(super) hash: String,
    pub(super) payload: Value,
}

impl Hooks {
    /// Keeps a hook waiting until its question is answered, or over.
    pub(super) async fn hold(&self, mut stream: UnixStream, question: Question) {
        let questions = self.handle.questions();
        let Some(mut asked) = questions.ask(question.runtime.clone(), question.hash.clone(), By::Hook) else {
            stream.write_all(&[TAKEN]).await.ok();
            return;
        };
        if stream.write_all(&[HELD]).await.is_err() {
            return;
        }
        // Whatever a hook says before it has an answer, its end included, means that it waits no more.
        let mut word = [0];
        tokio::select! {
            answer = &mut asked.answer => {
                if let Ok(answer) = answer {
                    self.pass_on(stream, asked, answer, &question).await;
                }
            }
            _ = stream.read(&mut word) => {}
            () = sleep(self.patience) => {}
            () = self.is_over(&question.runtime) => {}
        }
    }

    async fn pass_on(&self, mut stream: UnixStream, asked: Asked, answer: Answer, question: &Question) {
        drop(asked);
        // Before anything that the agent does next.
        let answered_at = platform::boot_clock_ns();
        let text = answer::hook_output(&answer.decision);
        let passing = async {
            stream.write_all(text.as_bytes()).await?;
            stream.shutdown().await?;
            stream.read_u8().await
        };
        let is_passed_on =
            timeout(PASSING_ON, passing).await.is_ok_and(|word| word.is_ok_and(|word| word == PASSED_ON));
        if !is_passed_on {
            return;
        }
        let readings = locked(&self.translator).answered(&question.runtime, &question.agent, &question.payload);
        let claim = claim(Some(question.runtime.clone()), question.lineage.clone());
        let said = Said {
            event: Some("PermissionRequest answered".to_owned()),
            source_seq: Some(answered_at),
            boot_ns: Some(answered_at),
            ..Said::now(Source::Hook, claim, readings)
        };
        if let Err(error) = self.post(said).await {
            tracing::debug!(%error, "that a question was answered could not be kept");
        }
        answer.passed_on.send(()).ok();
    }

    /// Waits until a runtime has not waited for an approval for a while, or is gone.
    async fn is_over(&self, runtime: &RuntimeId) {
        let mut roster = self.handle.roster();
        let waits =
            |roster: &Roster| roster.get(runtime).is_some_and(|member| member.verdict.state == State::WaitingApproval);
        loop {
            if roster.wait_for(|roster| !waits(roster)).await.is_err() {
                return;
            }
            match timeout(OVER, roster.wait_for(|roster| waits(roster))).await {
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}
