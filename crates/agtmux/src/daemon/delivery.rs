//! What those who deliver messages have in common, whichever way they go: what is to be delivered, in what words, and that what
//! came of it gets into the log.

use std::time::Duration;

use agtmux_core::action::{Actor, Step, Verb};
use agtmux_core::id::{ActionId, ProcessKey, RuntimeId};
use agtmux_core::mail::{self, DeliveryId, Letter, MailFact, MailId, Sanitized};
use agtmux_wire::error::ErrorCode;

use super::actions::failed;
use super::handle::Handle;
use crate::error::CommandError;

/// Whether whoever wrote messages may do so was asked when they were accepted; agtmux itself delivers them.
pub fn agtmux_itself() -> Actor {
    let uid = rustix::process::getuid().as_raw();
    Actor { uid, pid: None, program: Some("agtmux".to_owned()), agent: None, known_by: None }
}

/// Between two tries to log what came of a delivery.
pub const LOG_AGAIN: Duration = Duration::from_secs(1);

/// A delivery and all there is to know to make it.
pub struct Load {
    /// To whom.
    pub runtime: RuntimeId,
    /// Its process.
    pub process: ProcessKey,
    /// What it is.
    pub agent: String,
    /// The messages, in order.
    pub letters: Vec<Letter>,
    /// Whether they may have been given to it already.
    pub is_started: bool,
    /// Whether that was to be by a hook or server of its own.
    pub by_hook: bool,
    nonce: String,
}

impl Load {
    /// Whether it is a command, and not to be read.
    pub fn is_command(&self) -> bool {
        self.letters.iter().any(|letter| letter.command)
    }

    /// What is delivered and who wrote it, for whoever looks at what was done to an agent.
    pub fn told(&self) -> String {
        let letters = self.letters.iter().map(|letter| (&letter.id, &letter.from));
        let letters = letters.map(|(id, from)| format!("{id} from {} ({})", from.name(), from.id()));
        format!("mail {}", letters.collect::<Vec<_>>().join(", "))
    }
}

impl Handle {
    /// Keeps, with everything that is done to agents, that one is about to be given these messages by another way than keys. What is
    /// typed is kept as any other action is.
    ///
    /// # Errors
    /// Fails when it cannot be kept; then nothing may be given.
    pub async fn begin_giving(&self, delivery: &DeliveryId, load: &Load) -> Result<(), CommandError> {
        let action = ActionId::new(delivery.as_str());
        let reference = format!("runtime:{}", load.runtime);
        self.permit(action.clone(), Verb::Send, reference, agtmux_itself()).await?;
        self.note(action, agtmux_itself(), Step::Started { detail: load.told() }).await
    }

    /// Keeps what came of it.
    pub async fn end_giving(&self, delivery: &DeliveryId, step: &MailFact) {
        let (code, step) = match step {
            MailFact::Submitted { channel, evidence, .. } => (None, format!("submitted by {channel}: {evidence}")),
            MailFact::Returned { why, .. } => (Some(ErrorCode::PreconditionFailed), why.clone()),
            MailFact::Unconfirmed { why, .. } => (Some(ErrorCode::Internal), why.clone()),
            _ => return,
        };
        let step = match code {
            None => Step::Done { result: step },
            Some(code) => failed(&CommandError::new(code, step)),
        };
        if let Err(error) = self.note(ActionId::new(delivery.as_str()), agtmux_itself(), step).await {
            tracing::warn!(%error, %delivery, "what came of it could not be kept");
        }
    }

    /// A delivery under way; none if it is not any more.
    pub async fn load_delivery(&self, delivery: &DeliveryId) -> Option<Load> {
        let delivery = delivery.clone();
        let load = self.read(move |world| {
            let state = world.engine.state();
            let (runtime, under_way) = state.mail.under_way(&delivery)?;
            let living = state.topology.live(runtime)?;
            let letters = under_way.letters.iter().filter_map(|id| Some(state.mail.get(id)?.letter.clone()));
            Some(Load {
                runtime: runtime.clone(),
                process: living.process,
                agent: living.agent.to_string(),
                letters: letters.collect(),
                is_started: under_way.started,
                by_hook: under_way.by_hook,
                nonce: state.mail.boxes.get(runtime)?.nonce.clone(),
            })
        });
        load.await.ok().flatten()
    }

    /// The words in which an agent is given what is delivered to it.
    ///
    /// # Errors
    /// Says for people why there are none.
    pub async fn delivery_text(&self, load: &Load) -> Result<String, String> {
        let reader = self.log().clone();
        let ids: Vec<_> = load.letters.iter().map(|letter| letter.id.clone()).collect();
        let texts = tokio::task::spawn_blocking(move || reader.texts(Some(&ids)));
        let mut texts = texts.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let mut bodies = Vec::new();
        for letter in &load.letters {
            let text = texts.remove(&letter.id).ok_or_else(|| format!("the text of {} is not there", letter.id))?;
            bodies.push(Sanitized::new(&text).map_err(|objection| objection.to_string())?);
        }
        Ok(mail::envelope(&load.nonce, load.letters.iter().zip(&bodies)))
    }

    /// Whether an agent may have been given messages that it has not said so of.
    ///
    /// # Errors
    /// Fails only when the daemon is ending.
    pub async fn is_waiting_for_receipts(&self, runtime: &RuntimeId) -> Result<bool, CommandError> {
        let runtime = runtime.clone();
        self.read(move |world| world.engine.state().mail.waits_for_receipts(&runtime)).await
    }

    /// Waits until it is known of every message of a delivery what became of it.
    pub async fn receipts_of(&self, load: &Load) {
        let mut steps = self.mail_steps();
        let ids: Vec<_> = load.letters.iter().map(|letter| letter.id.clone()).collect();
        loop {
            let ids = ids.clone();
            let is_known = self.read(move |world| ids.iter().all(|id| world.engine.state().mail.is_over(id)));
            if is_known.await.unwrap_or(true) || steps.changed().await.is_err() {
                return;
            }
        }
    }

    /// A text that was put aside.
    ///
    /// # Errors
    /// Says for people why there is none.
    pub async fn kept_text(&self, kept: &MailId) -> Result<String, String> {
        let (reader, id) = (self.log().clone(), kept.clone());
        let texts = tokio::task::spawn_blocking(move || reader.texts(Some(&[id])));
        let texts = texts.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        texts.into_values().next().ok_or_else(|| "it is not there".to_owned())
    }

    /// Logs what came of a delivery. What was given to an agent must not be forgotten, so a log that cannot be written is tried
    /// again.
    pub async fn log_delivery(&self, step: &MailFact) {
        while let Err(error) = self.mail_step(step.clone()).await {
            if is_over(&error) {
                return tracing::debug!(%error, ?step, "what came of a delivery is of no use any more");
            }
            tokio::time::sleep(LOG_AGAIN).await;
        }
    }
}

/// Whether a step was not logged because the delivery is over, or the daemon.
pub fn is_over(error: &CommandError) -> bool {
    matches!(error.code, ErrorCode::PreconditionFailed | ErrorCode::DaemonUnreachable)
}
