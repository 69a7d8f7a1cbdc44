//! Going on with a conversation: which one is meant, and whether nobody is in it.

use crate::command::{Refusal, RefusalCode, refuse};
use crate::engine::Engine;
use crate::id::{AgentId, RuntimeId};
use crate::runtime::{Conversation, Left, Runtime};

/// A conversation that can be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resumable {
    /// The agent it was held with.
    pub agent: AgentId,
    /// Which conversation, and where.
    pub conversation: Conversation,
    /// The runtime that was in it last.
    pub runtime: RuntimeId,
    /// The name of that, if nobody else has it now.
    pub name: Option<String>,
    /// Where that was when it ended.
    pub left: Option<Left>,
}

impl Engine {
    /// The conversation that a text means: that of a runtime, by its id or a beginning of it, or by the name it had; or one
    /// that is called so by the agent itself. Of several that had a name the one that began last is meant. `None` if nothing
    /// is known by that text.
    ///
    /// # Errors
    /// Refused while somebody is in the conversation, if it is not known which one it was, and if several runtimes are meant.
    pub fn resumable(&self, text: &str) -> Result<Option<Resumable>, Refusal> {
        let Some(found) = self.remembered(text)? else {
            return Ok(None);
        };
        if found.is_live() {
            return Err(in_use(found));
        }
        let Some(conversation) = &found.conversation else {
            let message = format!("it is not known in which conversation {} was", found.id);
            return Err(refuse(RefusalCode::PreconditionFailed, message)
                .hint("name the agent's own id of the conversation, with --agent"));
        };
        let is_in_it = |other: &&Runtime| {
            other.is_live()
                && other.agent == found.agent
                && other.conversation.as_ref().is_some_and(|is| is.id == conversation.id)
        };
        if let Some(other) = self.state().topology.runtimes.values().find(is_in_it) {
            return Err(in_use(other));
        }
        Ok(Some(Resumable {
            agent: found.agent.clone(),
            conversation: conversation.clone(),
            runtime: found.id.clone(),
            name: found.name.clone().filter(|name| self.name_is_free(name).is_ok()),
            left: found.left.clone(),
        }))
    }

    fn remembered(&self, text: &str) -> Result<Option<&Runtime>, Refusal> {
        let all = || self.state().topology.runtimes.values();
        let newest = |suits: &dyn Fn(&Runtime) -> bool| {
            all()
                .filter(|runtime| suits(runtime))
                .max_by_key(|runtime| (runtime.is_live(), runtime.started_at, &runtime.id))
        };
        let id = text.strip_prefix("runtime:").unwrap_or(text);
        if id != text || id.starts_with("rt_") {
            let mut found = all().filter(|runtime| runtime.id.as_str().starts_with(id));
            return match (found.next(), found.next()) {
                (Some(one), None) => Ok(Some(one)),
                (Some(_), Some(_)) => {
                    let exact = all().find(|runtime| runtime.id.as_str() == id);
                    exact.map(Some).ok_or_else(|| {
                        refuse(RefusalCode::PreconditionFailed, format!("several runtimes begin with {id}"))
                            .hint("write more of the id")
                    })
                }
                (None, _) => Ok(None),
            };
        }
        let called = newest(&|runtime| runtime.conversation.as_ref().is_some_and(|is| is.id == text));
        Ok(called.or_else(|| newest(&|runtime| runtime.is_called(text))))
    }
}

fn in_use(runtime: &Runtime) -> Refusal {
    refuse(RefusalCode::PreconditionFailed, format!("{} is still in that conversation", runtime.id))
        .hint(format!("go there: `agtmux attach {}`", runtime.id))
}
