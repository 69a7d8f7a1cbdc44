//! Codex's app server as a way to one of its threads: a turn that is started there is shown by the pane whose thread it is, and goes on
//! under the settings of the turn before.
//!
//! The listener finds out which pane shows which thread. It opens this door, and shuts it when that is not certain any more. Who is
//! connected is looked up each time all the same: another client may have come a moment ago.

use agtmux_agents::translate::codex_given;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{Receipt, may_hold_receipts};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::clients::Clients;
use super::line::{Failure, Line};
use crate::daemon::doors::{At, Door, Given, Sight, WAITS};
use crate::error::CommandError;
use crate::ingest::servers::patience::becomes;

/// Why nothing goes by the server.
const SHARED: &str = "another client is connected, so that it is not certain which thread the pane shows";

/// How much of a thread is looked through for what its agent was given.
const LAST: usize = 100;

/// The way to one thread.
#[derive(Clone)]
pub(super) struct CodexDoor {
    pub(super) runtime: RuntimeId,
    pub(super) thread: String,
    pub(super) line: Line,
    pub(super) around: Clients,
}

impl Door for CodexDoor {
    fn name(&self) -> &'static str {
        "Codex's app server"
    }

    fn look<'a>(&'a self, _title: &'a str) -> BoxFuture<'a, Result<Sight, String>> {
        async move {
            let at = self.at().await.map_err(|failure| failure.to_string())?;
            let at = at.ok_or("the thread is not open there")?;
            if !self.is_certain().await {
                return Err(SHARED.to_owned());
            }
            Ok(Sight { conversation: self.thread.clone(), at })
        }
        .boxed()
    }

    fn interrupt<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            let told = |failure: Failure| format!("its turn could not be interrupted: {failure}");
            let turns = self.line.ask("thread/turns/list", json!({"threadId": conversation, "limit": 1}));
            let turns = turns.await.map_err(told)?;
            let turn = &turns["data"][0];
            let is_turn = turn["status"] == "inProgress";
            if is_turn {
                // A turn that asks something is in progress too.
                if self.at().await.map_err(told)? == Some(At::Question) {
                    return Err(WAITS.to_owned());
                }
                if !self.is_certain().await {
                    return Err(SHARED.to_owned());
                }
                let params = json!({"threadId": conversation, "turnId": turn["id"]});
                self.line.ask("turn/interrupt", params).await.map_err(told)?;
            }
            let ended = becomes(|| self.at().map(|at| at.is_ok_and(|at| at == Some(At::Rest)))).await;
            ended.then_some(is_turn).ok_or_else(|| "its turn was interrupted and has not ended".to_owned())
        }
        .boxed()
    }

    fn give<'a>(&'a self, conversation: &'a str, delivery: &'a str, text: &'a str) -> BoxFuture<'a, Given> {
        async move {
            let params = json!({"threadId": conversation, "clientUserMessageId": delivery,
                "input": [{"type": "text", "text": text}]});
            if !self.is_certain().await {
                return Given::Refused(SHARED.to_owned());
            }
            match self.line.ask("turn/start", params).await {
                Ok(_) => {
                    // Nobody waits for it: a thread has what was given a moment after the turn began.
                    tokio::spawn(self.clone().read_own(delivery.to_owned()));
                    Given::Taken("the server began a turn with it".to_owned())
                }
                Err(failure @ (Failure::NotSent | Failure::Refused(_))) => Given::Refused(failure.to_string()),
                Err(failure @ Failure::Unknown) => Given::Unknown(failure.to_string()),
            }
        }
        .boxed()
    }

    fn hears(&self, conversation: &str) -> bool {
        conversation == self.thread && self.around.is_sole(&self.runtime)
    }
}

impl CodexDoor {
    /// Whether no other client can show the thread.
    async fn is_certain(&self) -> bool {
        let (around, runtime) = (self.around.clone(), self.runtime.clone());
        tokio::task::spawn_blocking(move || around.is_sole(&runtime)).await.unwrap_or(false)
    }

    /// What goes on in the thread; nothing if it is not open.
    async fn at(&self) -> Result<Option<At>, Failure> {
        let read = self.line.ask("thread/read", json!({"threadId": self.thread})).await?;
        let status = &read["thread"]["status"];
        Ok(match status["type"].as_str() {
            Some("idle" | "systemError") => Some(At::Rest),
            Some("active") if status["activeFlags"].as_array().is_some_and(Vec::is_empty) => Some(At::Turn),
            // Whatever it waits for, it is nothing that a prompt is an answer to.
            Some("active") => Some(At::Question),
            _ => None,
        })
    }

    /// Waits until what was given is in the thread, under the name of its delivery: then the agent has it.
    async fn read_own(self, delivery: String) {
        let read = || async {
            let mut own = self.items().await.unwrap_or_default();
            own.retain(|item| item["item"]["clientId"] == delivery.as_str());
            self.read(&own).await.ok();
            !own.is_empty()
        };
        becomes(read).await;
    }

    /// Reads what the agent was given while nobody listened, if it is waited for.
    pub(super) async fn read_again(self) {
        let is_waited_for = self.around.handle.is_waiting_for_receipts(&self.runtime).await;
        if is_waited_for.unwrap_or(false) {
            match self.items().await {
                Ok(items) => {
                    self.read(&items).await.ok();
                }
                Err(why) => tracing::debug!(%why, "Codex does not say what it was given"),
            }
        }
    }

    async fn read(&self, items: &[Value]) -> Result<(), CommandError> {
        for prompt in items.iter().flat_map(codex_given).filter(|prompt| may_hold_receipts(prompt)) {
            self.around.handle.mail_read(self.runtime.clone(), prompt, Receipt::Server).await?;
        }
        Ok(())
    }

    /// The last items of the thread.
    async fn items(&self) -> Result<Vec<Value>, Failure> {
        let params = json!({"threadId": self.thread, "limit": LAST, "sortDirection": "desc"});
        let items = self.line.ask("thread/items/list", params).await?;
        Ok(items["data"].as_array().cloned().unwrap_or_default())
    }
}
