//! Delivers mail: types what is due at whom it is for, unless the agent's own server takes it, and says what came of it.
//!
//! A delivery is logged as started right before its first byte, when room is made and nobody types. Until then a crash leaves it in
//! the queue. Whatever ends it afterwards says how far it got: nothing was typed for sure, and the messages wait on; or it was typed,
//! and is never typed again. What the agent itself says it was given is
//! heard from its hooks and counts more than anything seen here.

use std::time::Duration;

use agtmux_agents::send::{Body, Objection};
use agtmux_core::mail::{self, DeliveryId, Draft, MailFact, MailId, Mode, Trace};
use agtmux_shim::protocol::Progress;
use agtmux_wire::send::{SendChannel, SendStatus, Sent};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::hand_over::Handed;
use super::send::Manners;
use super::{Hands, Shim, send};
use crate::daemon::delivery::Load;
use crate::daemon::mail::Errand;

/// How long it may take to read an agent's own record of its conversation after the daemon was started.
pub(super) const RECORD: Duration = Duration::from_secs(3);

/// Delivers whatever is due, each agent's mail apart from the others', until the daemon ends.
pub async fn run(hands: Hands, mut errands: mpsc::UnboundedReceiver<Errand>) {
    while let Some(errand) = errands.recv().await {
        let hands = hands.clone();
        tokio::spawn(async move {
            let step = match &errand {
                Errand::Deliver(delivery) => hands.deliver(delivery).await,
                Errand::Recover(delivery) => hands.recover(delivery).await,
                Errand::PutBack(_) => None,
                Errand::Inherit(runtime) => {
                    hands.inherit(runtime).await;
                    None
                }
            };
            if let Some(step) = step {
                hands.handle.log_delivery(&step).await;
            }
            let kept = match errand {
                Errand::Deliver(delivery) => Draft::kept_as(&delivery),
                Errand::PutBack(kept) => Some(kept),
                Errand::Recover(_) | Errand::Inherit(_) => None,
            };
            if let Some(kept) = kept {
                hands.put_back(&kept).await;
            }
        });
    }
}

impl Hands {
    /// Makes a delivery. Gives what came of it; nothing if it is not wanted any more.
    async fn deliver(&self, delivery: &DeliveryId) -> Option<MailFact> {
        if let Handed::Over(step) = self.hand_over(delivery).await {
            return step;
        }
        let returned = |why: String| Some(MailFact::Returned { delivery: delivery.clone(), why });
        let load = self.handle.load_delivery(delivery).await?;
        let text = match self.handle.delivery_text(&load).await {
            Ok(text) => text,
            Err(why) => return returned(why),
        };
        let body = match self.body(&load, &text) {
            Ok(body) => body,
            Err(objection) => return returned(objection.to_string()),
        };
        let detail = load.told();
        let interrupts = load.letters.iter().any(|letter| letter.mode == Mode::Urgent);
        let (awaits_rest, raw) = (mail::rest_for(&load.letters), load.is_command());
        let (id, stale) = (delivery.clone(), self.mail.stale());
        let aside = self.handle.read(move |world| world.engine.may_put_aside(&id, stale)).await.ok()?;
        let delivery_id = delivery.clone();
        let manners = Manners { delivery: delivery_id, interrupts, awaits_rest, aside, again: self.mail.poll(), raw };
        match send::send_mail(self, body, &load.runtime, manners, detail).await {
            Ok(sent) => Some(taken(delivery, &sent)),
            Err(error) if error.code.is_refusal() => returned(error.message),
            Err(error) => Some(MailFact::Unconfirmed { delivery: delivery.clone(), why: error.message }),
        }
    }

    /// What is typed for a delivery. An end that this agent would take for more than an end is not the last thing it reads.
    fn body(&self, load: &Load, text: &str) -> Result<Body, Objection> {
        let body = Body::new(text)?;
        let registry = self.manifests.now();
        let objection = registry.get(&load.agent).and_then(|manifest| manifest.send.objection(&body));
        match objection {
            _ if load.is_command() => Ok(body),
            Some(Objection::Menu { .. } | Objection::Continues { .. }) => Body::new(&mail::closed(text)),
            _ => Ok(body),
        }
    }

    /// Types a person's text where it was, as soon as nothing else is there; gives up only when the agent is gone.
    async fn put_back(&self, kept: &MailId) {
        loop {
            let wanted = kept.clone();
            let whose = self.handle.read(move |world| {
                let mut aside = world.engine.state().mail.put_aside();
                aside.find(|(_, kept)| **kept == wanted).map(|(runtime, _)| runtime.clone())
            });
            let Some(runtime) = whose.await.ok().flatten() else { return };
            match self.handle.kept_text(kept).await {
                Ok(text) => match send::put_back(self, &text, &runtime).await {
                    Ok(()) => return self.handle.log_delivery(&MailFact::PutBack { runtime }).await,
                    Err(error) => tracing::debug!(%error, "a text that was put aside is not back yet"),
                },
                Err(why) => tracing::warn!(%why, %kept, "a text that was put aside cannot be read"),
            }
            tokio::time::sleep(self.mail.pause()).await;
        }
    }

    /// Finds out how far a delivery got before this daemon was started. The wrapper of an agent lives as long as the agent and
    /// knows what it typed; without one, only the agent itself can tell: its own record is asked before anybody is told that
    /// nobody knows.
    async fn recover(&self, delivery: &DeliveryId) -> Option<MailFact> {
        let load = self.handle.load_delivery(delivery).await?;
        if !load.is_started {
            return Some(mail::recovered(delivery, &Trace::NotStarted));
        }
        let trace = if load.by_hook { Trace::Offered } else { self.trace(delivery, &load).await };
        // A command that stands in the composer may be anybody's.
        if matches!(trace, Trace::Unfinished | Trace::Nothing { .. })
            && !load.is_command()
            && let Some(sent) = self.finish(delivery, &load).await
        {
            return Some(taken(delivery, &sent));
        }
        let recovered = mail::recovered(delivery, &trace);
        if matches!(recovered, MailFact::Unconfirmed { .. }) {
            // Whoever is told that nobody can say is told so once, and the agent's own record is about to be read.
            timeout(RECORD, self.handle.receipts_of(&load)).await.ok();
        }
        Some(recovered)
    }

    /// Submits what was typed and stands in the composer, if that is so. It is never typed again (F54).
    async fn finish(&self, delivery: &DeliveryId, load: &Load) -> Option<Sent> {
        let body = self.body(load, &self.handle.delivery_text(load).await.ok()?).ok()?;
        let detail = format!("Enter for {delivery}, which an earlier daemon has typed");
        match send::submit_mail(self, body, &load.runtime, detail).await {
            Ok(sent) => Some(sent),
            Err(error) if error.code.is_refusal() => None,
            Err(error) => {
                tracing::warn!(%error, %delivery, "whether it was submitted is not known");
                None
            }
        }
    }

    /// What is left to be seen of a delivery by keys.
    async fn trace(&self, delivery: &DeliveryId, load: &Load) -> Trace {
        let by_wrapper = self.manifests.now().get(&load.agent).is_some_and(|manifest| manifest.send.enter == "Enter");
        let shim = if by_wrapper { Shim::of(&self.shims, load.process).await } else { None };
        match shim {
            None => Trace::Nothing { why: None },
            Some(shim) => match shim.state(delivery.as_str()).await {
                Ok(None) => Trace::Unseen,
                Ok(Some(Progress::Submitted)) => Trace::Submitted,
                Ok(Some(Progress::Pasting | Progress::Pasted)) => Trace::Unfinished,
                Err(error) => Trace::Nothing { why: Some(error.to_string()) },
            },
        }
    }
}

fn taken(delivery: &DeliveryId, sent: &Sent) -> MailFact {
    let delivery = delivery.clone();
    match sent.status {
        SendStatus::Submitted => MailFact::Submitted {
            delivery,
            channel: format!("{}, since {}", channel(sent.channel), sent.channel_reason),
            evidence: sent.detail.clone(),
        },
        SendStatus::Typed | SendStatus::Unconfirmed => MailFact::Unconfirmed { delivery, why: sent.detail.clone() },
    }
}

const fn channel(channel: SendChannel) -> &'static str {
    match channel {
        SendChannel::Tmux => "tmux",
        SendChannel::Wrapper => "wrapper",
    }
}
