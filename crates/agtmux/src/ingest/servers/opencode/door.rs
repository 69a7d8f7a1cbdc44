//! opencode's server as a way to its model: a prompt that is posted there is shown and answered like one that was typed.
//!
//! The server does not tell which conversation is on the screen. The title of the pane does: opencode writes that of the conversation
//! into it. It counts if it is that of the conversation which went on last, and of no other.

use agtmux_agents::translate::{OpencodePrompts, opencode_shows};
use agtmux_core::id::RuntimeId;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::Sharing;
use super::server::{Failure, Server, is_plain};
use crate::daemon::Handle;
use crate::daemon::doors::{At, Door, Given, Sight, WAITS};
use crate::ingest::servers::patience::becomes;

/// How many conversations are looked through for one that has the same title.
const CONVERSATIONS: usize = 1_000;

/// How many messages of a conversation are looked through for the last prompt, and for ours.
const LAST: usize = 20;

/// The way to one opencode.
pub(super) struct OpencodeDoor {
    pub(super) runtime: RuntimeId,
    pub(super) server: Server,
    pub(super) sharing: Sharing,
    pub(super) handle: Handle,
}

impl Door for OpencodeDoor {
    fn name(&self) -> &'static str {
        "opencode's server"
    }

    fn look<'a>(&'a self, title: &'a str) -> BoxFuture<'a, Result<Sight, String>> {
        async move {
            let conversation = self.shown(title).await?;
            self.manner(&conversation).await.map_err(|failure| failure.to_string())?;
            let at = self.at(&conversation).await.map_err(|failure| failure.to_string())?;
            Ok(Sight { conversation, at })
        }
        .boxed()
    }

    fn interrupt<'a>(&'a self, conversation: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        async move {
            let at = self.at(conversation).await;
            match at.map_err(|failure| format!("it does not say whether a turn is under way: {failure}"))? {
                At::Rest => return Ok(false),
                At::Question => return Err(WAITS.to_owned()),
                At::Turn => {}
            }
            let aborted = self.server.post(&format!("/session/{conversation}/abort"), &json!({})).await;
            aborted.map_err(|failure| format!("its turn could not be interrupted: {failure}"))?;
            let ended = becomes(|| self.at(conversation).map(|at| at.is_ok_and(|at| at == At::Rest))).await;
            ended.then_some(true).ok_or_else(|| "its turn was interrupted and has not ended".to_owned())
        }
        .boxed()
    }

    fn give<'a>(&'a self, conversation: &'a str, _delivery: &'a str, text: &'a str) -> BoxFuture<'a, Given> {
        async move {
            let prompt = match self.manner(conversation).await {
                Ok(mut prompt) => {
                    prompt["parts"] = json!([{"type": "text", "text": text}]);
                    prompt
                }
                Err(failure) => return Given::Refused(failure.to_string()),
            };
            match self.server.post(&format!("/session/{conversation}/prompt_async"), &prompt).await {
                Ok(()) => Given::Taken("the server took it".to_owned()),
                Err(failure @ (Failure::NotSent(_) | Failure::Refused(_))) => Given::Refused(failure.to_string()),
                Err(failure @ Failure::Unknown(_)) if self.has(conversation, text).await => {
                    Given::Taken(format!("{failure}, but it is among the messages"))
                }
                Err(failure @ Failure::Unknown(_)) => Given::Unknown(failure.to_string()),
            }
        }
        .boxed()
    }
}

impl OpencodeDoor {
    /// The conversation that a pane with this title shows.
    async fn shown(&self, title: &str) -> Result<String, String> {
        let told = |failure: Failure| failure.to_string();
        if self.sharing.is_shared().await {
            return Err("another agent uses the server as well".to_owned());
        }
        let last = self.last().await.filter(|id| is_plain(id)).ok_or("no conversation of it is known")?;
        self.server.is_its_own().await.map_err(told)?;
        let sessions = self.server.document(&format!("/session?limit={CONVERSATIONS}")).await.map_err(told)?;
        let sessions = sessions.as_array().map_or(&[][..], Vec::as_slice);
        let shows = |session: &&Value| session["title"].as_str().is_some_and(|name| opencode_shows(title, name));
        let shown: Vec<_> = sessions.iter().filter(shows).filter_map(|session| session["id"].as_str()).collect();
        if sessions.len() < CONVERSATIONS && shown == [last.as_str()] {
            Ok(last)
        } else {
            Err("it is not known for sure which conversation the pane shows".to_owned())
        }
    }

    /// The conversation that went on last. A daemon that was started anew has it from the log until one goes on: should another have
    /// gone on meanwhile, the pane shows the title of that.
    async fn last(&self) -> Option<String> {
        let member = self.handle.roster().borrow().get(&self.runtime).cloned();
        if let Some(session) = member.and_then(|member| member.conversation.clone()?.session) {
            return Some(session);
        }
        let runtime = self.runtime.clone();
        let kept =
            self.handle.read(move |world| Some(world.engine.state().topology.live(&runtime)?.conversation.clone()?.id));
        kept.await.ok().flatten()
    }

    async fn at(&self, conversation: &str) -> Result<At, Failure> {
        for requests in ["/permission", "/question"] {
            let open = self.server.document(requests).await?;
            if open.as_array().is_none_or(|open| !open.is_empty()) {
                return Ok(At::Question);
            }
        }
        let status = self.server.document("/session/status").await?;
        Ok(match status[conversation]["type"].as_str() {
            None | Some("idle") => At::Rest,
            Some(_) => At::Turn,
        })
    }

    /// How the conversation goes on, if nobody says otherwise: by its last prompt, or by the model's answer to one further up.
    async fn manner(&self, conversation: &str) -> Result<Value, Failure> {
        let messages = self.messages(conversation).await?;
        manner(&messages).ok_or_else(|| Failure::NotSent("no message says how the conversation goes on".to_owned()))
    }

    async fn messages(&self, conversation: &str) -> Result<Value, Failure> {
        self.server.document(&format!("/session/{conversation}/message?limit={LAST}")).await
    }

    /// Waits until a prompt is among the messages of a conversation.
    async fn has(&self, conversation: &str, text: &str) -> bool {
        let is_listed = |messages: Value| OpencodePrompts::listed(&messages).iter().any(|given| given == text);
        becomes(|| self.messages(conversation).map(|messages| messages.is_ok_and(is_listed))).await
    }
}

/// What a prompt has to name so that a conversation goes on as it did: the model, and the manner in which it works. It would be the
/// usual ones otherwise, and somebody may have chosen one that only plans.
fn manner(messages: &Value) -> Option<Value> {
    let infos = || messages.as_array().into_iter().flatten().map(|message| &message["info"]);
    let prompted = infos().rfind(|info| info["role"] == "user").map(|info| (info, &info["model"]));
    let answered = || infos().rfind(|info| info["role"] == "assistant" && info["summary"] != true);
    let (info, model) = prompted.or_else(|| answered().map(|info| (info, info)))?;
    let mut manner = json!({
        "agent": info["agent"].as_str()?,
        "model": {"providerID": model["providerID"].as_str()?, "modelID": model["modelID"].as_str()?},
    });
    if let Some(variant) = model["variant"].as_str() {
        manner["variant"] = variant.into();
    }
    Some(manner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::manner;

    #[test]
    fn a_conversation_goes_on_as_it_did() {
        let user = |agent: &str| {
            json!({"info": {"role": "user", "agent": agent,
            "model": {"providerID": "p", "modelID": "m", "variant": "high"}, "tools": {}}})
        };
        let assistant = json!({"info": {"role": "assistant", "agent": "build", "providerID": "p", "modelID": "n"}});
        let summary = json!({"info": {"role": "assistant", "agent": "compaction", "providerID": "p", "modelID": "s",
            "summary": true}});
        let plan = json!({"agent": "plan", "model": {"providerID": "p", "modelID": "m"}, "variant": "high"});
        assert_eq!(manner(&json!([user("build"), user("plan"), assistant])), Some(plan));
        let build = json!({"agent": "build", "model": {"providerID": "p", "modelID": "n"}});
        assert_eq!(manner(&json!([assistant, summary])), Some(build), "the prompt is further up");
        assert_eq!(manner(&json!([summary])), None);
        assert_eq!(manner(&json!({"name": "NotFoundError"})), None);
    }
}
