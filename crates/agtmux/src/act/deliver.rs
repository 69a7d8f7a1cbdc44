//! Delivers mail: types what is due at whom it is for, and says what came of it.
//!
//! A delivery is logged as started before anything can be typed. Whatever ends it afterwards says how far it got: nothing was typed
//! for sure, and the messages wait on; or it was typed, and is never typed again. What the agent itself says it was given is
//! heard from its hooks and counts more than anything seen here.

use std::time::Duration;

use agtmux_agents::send::Body;
use agtmux_core::id::{ProcessKey, RuntimeId};
use agtmux_core::mail::{self, DeliveryId, Letter, MailFact, Sanitized, Trace};
use agtmux_shim::protocol::Progress;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::{SendChannel, SendStatus, Sent};
use tokio::sync::mpsc;

use super::{Hands, Shim, send};
use crate::daemon::mail::Errand;
use crate::error::CommandError;

/// Between two tries to log what came of a delivery.
const LOG_AGAIN: Duration = Duration::from_secs(1);

/// Delivers whatever is due, each agent's mail apart from the others', until the daemon ends.
pub async fn run(hands: Hands, mut errands: mpsc::UnboundedReceiver<Errand>) {
    while let Some(errand) = errands.recv().await {
        let hands = hands.clone();
        tokio::spawn(async move {
            let step = match &errand {
                Errand::Deliver(delivery) => hands.deliver(delivery).await,
                Errand::Recover(delivery) => hands.recover(delivery).await,
            };
            if let Some(step) = step {
                hands.log_outcome(&step).await;
            }
        });
    }
}

/// A delivery and all there is to know to make it.
struct Load {
    runtime: RuntimeId,
    process: ProcessKey,
    agent: String,
    nonce: String,
    letters: Vec<Letter>,
    is_started: bool,
}

impl Hands {
    /// Makes a delivery. Gives what came of it; nothing if it is not wanted any more.
    async fn deliver(&self, delivery: &DeliveryId) -> Option<MailFact> {
        let load = self.load(delivery).await?;
        let returned = |why: String| Some(MailFact::Returned { delivery: delivery.clone(), why });
        let body = match self.body(&load).await {
            Ok(body) => body,
            Err(why) => return returned(why),
        };
        match self.handle.mail_step(MailFact::Started { delivery: delivery.clone() }).await {
            Ok(()) => {}
            Err(error) if is_over(&error) => return None,
            Err(error) => return returned(format!("it could not be logged: {}", error.message)),
        }
        let ids: Vec<_> = load.letters.iter().map(|letter| letter.id.to_string()).collect();
        let detail = format!("mail {}", ids.join(", "));
        match send::send_mail(self, body, &load.runtime, delivery, detail).await {
            Ok(sent) => Some(taken(delivery, &sent)),
            Err(error) if error.code.is_refusal() => returned(error.message),
            Err(error) => Some(MailFact::Unconfirmed { delivery: delivery.clone(), why: error.message }),
        }
    }

    /// Finds out how far a delivery got before this daemon was started. The wrapper of an agent lives as long as the agent and
    /// knows what it typed; without one, only the agent itself can tell.
    async fn recover(&self, delivery: &DeliveryId) -> Option<MailFact> {
        let load = self.load(delivery).await?;
        if !load.is_started {
            return Some(mail::recovered(delivery, &Trace::NotStarted));
        }
        let by_wrapper = self.manifests.now().get(&load.agent).is_some_and(|manifest| manifest.send.enter == "Enter");
        let shim = if by_wrapper { Shim::of(&self.shims, load.process).await } else { None };
        let trace = match shim {
            None => Trace::Nothing { why: None },
            Some(shim) => match shim.state(delivery.as_str()).await {
                Ok(None) => Trace::Unseen,
                Ok(Some(Progress::Submitted)) => Trace::Submitted,
                Ok(Some(Progress::Pasting | Progress::Pasted)) => Trace::Unfinished,
                Err(error) => Trace::Nothing { why: Some(error.to_string()) },
            },
        };
        Some(mail::recovered(delivery, &trace))
    }

    /// Logs what came of a delivery. What was typed must not be forgotten, so a log that cannot be written is tried again.
    async fn log_outcome(&self, step: &MailFact) {
        while let Err(error) = self.handle.mail_step(step.clone()).await {
            if is_over(&error) {
                return tracing::debug!(%error, ?step, "what came of a delivery is of no use any more");
            }
            tokio::time::sleep(LOG_AGAIN).await;
        }
    }

    async fn load(&self, delivery: &DeliveryId) -> Option<Load> {
        let delivery = delivery.clone();
        let load = self.handle.read(move |world| {
            let state = world.engine.state();
            let (runtime, under_way) = state.mail.under_way(&delivery)?;
            let living = state.topology.live(runtime)?;
            let letters = under_way.letters.iter().filter_map(|id| Some(state.mail.get(id)?.letter.clone()));
            Some(Load {
                runtime: runtime.clone(),
                process: living.process,
                agent: living.agent.to_string(),
                nonce: state.mail.boxes.get(runtime)?.nonce.clone(),
                letters: letters.collect(),
                is_started: under_way.started,
            })
        });
        load.await.ok().flatten()
    }

    /// The text that is typed.
    async fn body(&self, load: &Load) -> Result<Body, String> {
        let reader = self.handle.log().clone();
        let ids: Vec<_> = load.letters.iter().map(|letter| letter.id.clone()).collect();
        let texts = tokio::task::spawn_blocking(move || reader.texts(Some(&ids)));
        let mut texts = texts.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let mut bodies = Vec::new();
        for letter in &load.letters {
            let text = texts.remove(&letter.id).ok_or_else(|| format!("the text of {} is not there", letter.id))?;
            bodies.push(Sanitized::new(&text).map_err(|objection| objection.to_string())?);
        }
        let text = mail::envelope(&load.nonce, load.letters.iter().zip(&bodies));
        Body::new(&text).map_err(|objection| objection.to_string())
    }
}

/// Whether a step was not logged because the delivery is over, or the daemon.
fn is_over(error: &CommandError) -> bool {
    matches!(error.code, ErrorCode::PreconditionFailed | ErrorCode::DaemonUnreachable)
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
