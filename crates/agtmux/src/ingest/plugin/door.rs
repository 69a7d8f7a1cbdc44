//! Claude's plugin as a way to its model: a prompt that it submits is shown and answered like one that was typed, and what somebody has
//! written in the composer stays as it is.
//!
//! Claude submits it when the conversation is at rest, and never into a dialog. Both are looked at once more in the plugin right before,
//! so that a message does not wait inside Claude; one that does nevertheless is not given again.

use std::sync::Arc;
use std::time::Duration;

use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{Given, Receipt, may_hold_receipts};
use agtmux_wire::plugin::{PluginAt, Reply, Task};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::desk::{Desk, Failure};
use crate::daemon::Handle;
use crate::daemon::doors::{At, Door, Sight};

/// How long a look may take. It takes milliseconds, and longer on a machine that has much else to do.
const LOOK: Duration = Duration::from_secs(5);

/// How long a submission may take; the plugin itself gives up waiting after ten seconds, and says so.
const SUBMIT: Duration = Duration::from_secs(15);

/// The way to one Claude.
pub(super) struct PluginDoor {
    pub(super) runtime: RuntimeId,
    pub(super) desk: Arc<Desk>,
    pub(super) handle: Handle,
}

impl Door for PluginDoor {
    fn name(&self) -> &'static str {
        "Claude's plugin"
    }

    fn look<'a>(&'a self, _title: &'a str) -> BoxFuture<'a, Result<Sight, String>> {
        async move {
            match self.desk.ask(Task::Look, LOOK).await {
                Ok(Reply::Look { session: conversation, at: PluginAt::Rest }) => {
                    Ok(Sight { conversation, at: At::Rest })
                }
                Ok(Reply::Look { session: conversation, at: PluginAt::Dialog }) => {
                    Ok(Sight { conversation, at: At::Question })
                }
                // Keys can interrupt a turn and let its commands run on, which the plugin cannot.
                Ok(Reply::Look { at: PluginAt::Turn, .. }) => Err("a turn is under way".to_owned()),
                Ok(reply) => Err(format!("it says {reply:?}")),
                Err(_) => Err("it does not answer".to_owned()),
            }
        }
        .boxed()
    }

    fn interrupt<'a>(&'a self, _conversation: &'a str) -> BoxFuture<'a, Result<bool, String>> {
        ready(Err("a turn is interrupted by keys".to_owned())).boxed()
    }

    fn give<'a>(&'a self, conversation: &'a str, _delivery: &'a str, text: &'a str) -> BoxFuture<'a, Given> {
        async move {
            let task = Task::Submit { session: conversation.to_owned(), text: text.to_owned() };
            match self.desk.ask(task, SUBMIT).await {
                Ok(Reply::Entered { text }) => {
                    self.read(text).await;
                    Given::Taken("it entered the conversation, no key was pressed".to_owned())
                }
                Ok(Reply::Refused { why }) => Given::Refused(why),
                Ok(Reply::Waiting) => Given::Unknown("Claude keeps it until it can take it".to_owned()),
                Ok(Reply::Failed { why }) => Given::Unknown(why),
                Ok(Reply::Look { .. }) => Given::Unknown("it answers something else".to_owned()),
                Err(Failure::NotSent) => Given::Refused("it does not answer".to_owned()),
                Err(Failure::Unknown) => Given::Unknown("it has not said what came of it".to_owned()),
            }
        }
        .boxed()
    }
}

impl PluginDoor {
    /// The prompt that entered is a receipt for what is in it, as what the agent's hook says.
    async fn read(&self, prompt: String) {
        if may_hold_receipts(&prompt) {
            self.handle.mail_read(self.runtime.clone(), prompt, Receipt::Server).await.ok();
        }
    }
}
