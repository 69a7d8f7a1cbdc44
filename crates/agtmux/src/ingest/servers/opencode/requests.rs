//! What opencode's server has asked permission for: each request waits here for whoever may answer it, until it is answered.

use std::collections::BTreeMap;

use agtmux_agents::answer;
use agtmux_agents::translate::Translation;
use agtmux_core::id::RuntimeId;
use serde_json::Value;
use tokio::sync::oneshot;

use super::server::{Failure, Server};
use crate::daemon::Handle;
use crate::daemon::questions::{Asked, By};
use crate::daemon::roster::Member;

/// More than any agent asks at once. What was asked longest ago is answered in the pane then.
const MOST: usize = 32;

/// The open requests of one server. Dropped, nobody may answer them any more.
pub(super) struct Requests {
    runtime: RuntimeId,
    server: Server,
    handle: Handle,
    /// By id, which grow with time. Dropped, the one who waits with it goes.
    open: BTreeMap<String, oneshot::Sender<()>>,
}

impl Requests {
    pub(super) fn new(member: &Member, server: Server, handle: &Handle) -> Self {
        Self { runtime: member.runtime.clone(), server, handle: handle.clone(), open: BTreeMap::new() }
    }

    /// Takes note of what an event asks or answers.
    pub(super) fn follow(&mut self, event: &Value, translation: &Translation) {
        if let Some(id) = answer::server_replied(event) {
            self.open.remove(id);
        }
        let Some((id, hash)) = answer::server_request(event, translation) else {
            return;
        };
        if let Some(asked) = self.handle.questions().ask(self.runtime.clone(), hash.to_owned(), By::Server) {
            if self.open.len() >= MOST {
                self.open.pop_first();
            }
            let (open, over) = oneshot::channel();
            self.open.insert(id.to_owned(), open);
            tokio::spawn(pass_on(self.server, asked, id.to_owned(), over));
        }
    }
}

/// Waits for an answer until the request is over, and passes it on.
async fn pass_on(server: Server, mut asked: Asked, id: String, over: oneshot::Receiver<()>) {
    let answer = tokio::select! {
        answer = &mut asked.answer => answer,
        _ = over => return,
    };
    let Ok(answer) = answer else {
        return;
    };
    let document = answer::server_reply(&answer.decision);
    let posted = async {
        server.is_its_own().await?;
        server.post(&format!("/permission/{id}/reply"), &document).await
    };
    match posted.await {
        Ok(()) => {
            answer.passed_on.send(()).ok();
        }
        Err(Failure::Refused(status)) => tracing::debug!(%status, id, "opencode refused an answer"),
        Err(why) => tracing::debug!(%why, id, "opencode did not take an answer"),
    }
}
