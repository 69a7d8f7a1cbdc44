//! Mail that an agent is given by its own hook, which waits: no key is pressed, and neither a draft nor a dialog is in the way.
//!
//! It is chosen before what the hook tells is logged, so that nobody begins to type the same; and logged as offered before the hook
//! has a word of it. What the hook says afterwards settles it: that it passed the messages on, or that it never will. If it says
//! nothing, only the agent's own record can tell.

use std::io::ErrorKind;
use std::time::Duration;

use agtmux_agents::translate::Translation;
use agtmux_agents::{Reading, answer};
use agtmux_core::id::{ProcessKey, RuntimeId};
use agtmux_core::mail::{DeliveryId, MailFact, MailId, Opening, may_hold_receipts};
use agtmux_core::signal::Source;
use agtmux_wire::hook::{HELD, HookHead, LEFT, PASSED_ON};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::Hooks;
use super::taking::{claim, locked};
use crate::daemon::delivery;
use crate::daemon::said::Said;

/// How long a hook may take to pass messages on. It waits half as long for them.
const PASSING_ON: Duration = Duration::from_secs(2);

/// Messages for a hook that waits.
pub(super) struct Mailing {
    pub(super) delivery: DeliveryId,
    opening: Opening,
    event: String,
    runtime: RuntimeId,
    lineage: Vec<ProcessKey>,
    /// What the hook told, should its agent not go on after all.
    readings: Vec<Reading>,
}

/// What became of the messages that a hook was given.
enum Passed {
    /// The agent has them.
    On,
    /// It has not, and will not.
    No,
    /// Nobody can say.
    Unknown,
}

impl Hooks {
    /// Chooses what is given to an agent by the hook that told this, if the hook waits and anything is.
    pub(super) async fn choose_mail(
        &self,
        head: &HookHead,
        runtime: &RuntimeId,
        lineage: &[ProcessKey],
        payload: &Value,
        translation: &Translation,
    ) -> Option<Mailing> {
        head.waits?;
        let answered = match translation.event.as_str() {
            "Stop" => self.count_answered(runtime, answer::is_going_on(payload)),
            _ => 0,
        };
        let opening = answer::opening(&head.agent, payload, translation, answered)?;
        let delivery = self.handle.mail_offer(runtime.clone(), opening).await.ok()??;
        Some(Mailing {
            delivery,
            opening,
            event: translation.event.clone(),
            runtime: runtime.clone(),
            lineage: lineage.to_vec(),
            readings: translation.readings.clone(),
        })
    }

    /// What a hook prints whose prompt holds nothing but messages that its agent was given before (I2).
    pub(super) async fn refuse_repeated(
        &self,
        head: &HookHead,
        runtime: &RuntimeId,
        payload: &Value,
        translation: &Translation,
    ) -> Option<String> {
        head.waits?;
        let prompt = answer::refusable(&head.agent, payload, translation)?.to_owned();
        if !may_hold_receipts(&prompt) {
            return None;
        }
        let runtime = runtime.clone();
        let repeated = self.handle.read(move |world| world.engine.repeated_mail(&runtime, &prompt)).await.ok()?;
        let ids: Vec<_> = repeated.iter().map(MailId::as_str).collect();
        let reason = format!(
            "agtmux: this agent was given {} before, and is not given it twice. To send it again all the same, add a word.",
            ids.join(", ")
        );
        (!ids.is_empty()).then(|| answer::refusal_output(&reason))
    }

    /// How often in a row an agent went on at the end of its turn because a hook wanted that, ours or another.
    fn count_answered(&self, runtime: &RuntimeId, is_going_on: bool) -> u32 {
        let mut answered = locked(&self.answered);
        if !is_going_on {
            answered.remove(runtime);
            return 0;
        }
        let count = answered.entry(runtime.clone()).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// Gives an agent its mail by the hook that waits.
    pub(super) async fn give(&self, mut stream: UnixStream, mailing: Mailing) {
        let delivery = &mailing.delivery;
        let returned = |why: String| Some(MailFact::Returned { delivery: delivery.clone(), why });
        let mut is_begun = false;
        let step = if stream.write_all(&[HELD]).await.is_err() {
            returned("the hook waits no more".to_owned())
        } else {
            match self.handle.mail_step(MailFact::Offered { delivery: delivery.clone() }).await {
                Ok(()) => match self.answer(&mailing).await {
                    Ok(answer) => {
                        is_begun = true;
                        Some(outcome(&mailing, &pass(&mut stream, answer.as_bytes()).await))
                    }
                    Err(why) => returned(why),
                },
                Err(error) if delivery::is_over(&error) => None,
                Err(error) => returned(format!("it could not be logged: {}", error.message)),
            }
        };
        drop(stream);
        if !matches!(step, Some(MailFact::Submitted { .. })) {
            self.stops_after_all(&mailing).await;
        }
        if let Some(step) = step {
            self.handle.log_delivery(&step).await;
            if is_begun {
                self.handle.end_giving(delivery, &step).await;
            }
        }
    }

    /// Lets go of messages that were chosen for a hook whose word could not be logged.
    pub(super) async fn not_given(&self, delivery: DeliveryId, why: &str) {
        self.handle.log_delivery(&MailFact::Returned { delivery, why: why.to_owned() }).await;
    }

    /// What the hook prints. That it is given that is kept before.
    async fn answer(&self, mailing: &Mailing) -> Result<String, String> {
        let load = self.handle.load_delivery(&mailing.delivery).await.ok_or("the agent has ended")?;
        let text = self.handle.delivery_text(&load).await?;
        if text.chars().count() > answer::MAIL_LIMIT {
            return Err("it is too long for the answer of a hook".to_owned());
        }
        self.handle.begin_giving(&mailing.delivery, &load).await.map_err(|error| error.message)?;
        Ok(answer::mail_output(&mailing.event, &text))
    }

    /// An agent that may have been given nothing has ended its turn as its hook told. One that goes on says so soon.
    async fn stops_after_all(&self, mailing: &Mailing) {
        if matches!(mailing.opening, Opening::ToolEnd) {
            return;
        }
        let claim = claim(Some(mailing.runtime.clone()), mailing.lineage.clone());
        let said =
            Said { event: Some(mailing.event.clone()), ..Said::now(Source::Hook, claim, mailing.readings.clone()) };
        if let Err(error) = self.post(said).await {
            tracing::debug!(%error, "that a turn is over could not be kept");
        }
    }
}

/// Passes an answer on through the hook. A hook prints nothing before it has all of it.
async fn pass(stream: &mut UnixStream, answer: &[u8]) -> Passed {
    let written = async {
        stream.write_all(answer).await?;
        stream.shutdown().await
    };
    if !timeout(PASSING_ON, written).await.is_ok_and(|written| written.is_ok()) {
        return Passed::No;
    }
    match timeout(PASSING_ON, stream.read_u8()).await {
        Ok(Ok(PASSED_ON)) => Passed::On,
        Ok(Ok(LEFT)) => Passed::No,
        // The kernel says so of a hook that has gone and left something unread.
        Ok(Err(error)) if error.kind() == ErrorKind::ConnectionReset => Passed::No,
        Ok(_) | Err(_) => Passed::Unknown,
    }
}

fn outcome(mailing: &Mailing, passed: &Passed) -> MailFact {
    let delivery = mailing.delivery.clone();
    let when = match mailing.opening {
        Opening::TurnEnd { .. } => "at the end of its turn",
        Opening::ToolEnd => "after a tool",
    };
    match passed {
        Passed::On => MailFact::Submitted {
            delivery,
            channel: format!("hook, since the agent asks it {when}"),
            evidence: "the hook passed it on, no key was pressed".to_owned(),
        },
        Passed::No => MailFact::Returned { delivery, why: "the hook waits no more".to_owned() },
        Passed::Unknown => {
            MailFact::Unconfirmed { delivery, why: "its hook ended without a word about what it was given".to_owned() }
        }
    }
}

#[cfg(test)]
mod tests {
    use agtmux_wire::hook::{LEFT, PASSED_ON};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::UnixStream;

    use super::{Passed, pass};

    /// What becomes of an answer whose hook reads all of it, or nothing, and then says this and goes.
    async fn passed(reads: bool, says: &[u8]) -> Passed {
        let (mut daemon, mut hook) = UnixStream::pair().unwrap();
        let going = async move {
            if reads {
                hook.read_to_end(&mut Vec::new()).await.unwrap();
            }
            hook.write_all(says).await.unwrap();
        };
        tokio::join!(pass(&mut daemon, b"{}\n"), going).0
    }

    #[tokio::test]
    async fn only_a_hook_that_read_all_and_said_nothing_leaves_a_doubt() {
        assert!(matches!(passed(true, &[PASSED_ON]).await, Passed::On));
        assert!(matches!(passed(true, &[LEFT]).await, Passed::No));
        assert!(matches!(passed(true, &[]).await, Passed::Unknown));
        assert!(matches!(passed(true, b"?").await, Passed::Unknown));
        let unread = passed(false, &[]).await;
        assert!(matches!(unread, Passed::No) || cfg!(not(target_os = "linux")));
        let (mut daemon, hook) = UnixStream::pair().unwrap();
        drop(hook);
        assert!(matches!(pass(&mut daemon, b"{}\n").await, Passed::No));
    }
}
