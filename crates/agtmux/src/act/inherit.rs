//! The mail of an agent that ended, for the one that goes on with its conversation.
//!
//! Each message is sent anew once. One that may have been typed is looked for in the agent's own record before: if it is there, it
//! has arrived; if there is no record, nobody can say, and it is not sent again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_agents::transcript;
use agtmux_core::id::RuntimeId;
use agtmux_core::mail::{Fate, MailFact, MailId, Receipt, Stray, may_hold_receipts, receipts};
use tokio::time::{sleep, timeout};

use super::{Hands, transcript_file};
use crate::daemon::delivery::{LOG_AGAIN, is_over};

/// How long it may take until it is known where an agent's record is.
const RECORD: Duration = Duration::from_secs(10);

impl Hands {
    /// Sends an agent anew what the one before it in its conversation was not given.
    pub(super) async fn inherit(&self, heir: &RuntimeId) {
        let runtime = heir.clone();
        let Ok(strays) = self.handle.read(move |world| world.engine.mail_strays(&runtime)).await else { return };
        let is_typed = strays.iter().any(|stray| stray.stranded.typed);
        let given = if is_typed { self.given(heir, strays.clone()).await } else { None };
        for stray in strays {
            let fate = stray.fate(given.as_ref());
            let id = stray.id;
            match fate {
                Fate::Arrived => {
                    let confirmed = MailFact::Confirmed { letters: vec![id], by: Receipt::Transcript };
                    self.handle.log_delivery(&confirmed).await;
                }
                Fate::Again => self.send_again(&id, heir).await,
                Fate::Unknown => {
                    tracing::info!(%id, %heir, "it is not known whether the agent has it, so it is not sent again");
                }
            }
        }
    }

    /// Sends one anew. A log that cannot be written is tried again.
    async fn send_again(&self, id: &MailId, heir: &RuntimeId) {
        let text = match self.handle.kept_text(id).await {
            Ok(text) => text,
            Err(why) => return tracing::warn!(%id, %heir, why, "a message that is to be sent anew cannot be read"),
        };
        loop {
            match self.handle.mail_again(id.clone(), heir.clone(), text.clone()).await {
                Ok(new) => return tracing::info!(%id, %new, %heir, "a message is sent anew"),
                Err(error) if is_over(&error) => {
                    return tracing::info!(%id, %heir, %error, "a message is not sent anew");
                }
                Err(error) => tracing::warn!(%id, %heir, %error, "a message could not be sent anew yet"),
            }
            sleep(LOG_AGAIN).await;
        }
    }

    /// Those of some messages that the agent's record says it was given. None if there is no record to tell.
    async fn given(&self, heir: &RuntimeId, strays: Vec<Stray>) -> Option<BTreeSet<MailId>> {
        let (agent, path) = timeout(RECORD, self.record_of(heir)).await.ok()??;
        tokio::task::spawn_blocking(move || given_in(&agent, &path, &strays)).await.ok()?
    }

    /// What an agent is, and where its record is, once that is known.
    async fn record_of(&self, heir: &RuntimeId) -> Option<(String, PathBuf)> {
        let mut roster = self.handle.roster();
        loop {
            let (agent, transcript) = {
                let roster = roster.borrow_and_update();
                let member = roster.get(heir)?;
                let conversation = member.conversation.as_ref();
                (member.agent.to_string(), conversation.and_then(|conversation| conversation.transcript.clone()))
            };
            match transcript {
                _ if !transcript::is_readable(&agent) => return None,
                Some(transcript) => return Some((agent, transcript)),
                None => roster.changed().await.ok()?,
            }
        }
    }
}

fn given_in(agent: &str, path: &Path, strays: &[Stray]) -> Option<BTreeSet<MailId>> {
    let nonces: BTreeSet<_> = strays.iter().map(|stray| stray.stranded.nonce.as_str()).collect();
    let mut given = BTreeSet::new();
    transcript_file::lines(path, |line| {
        if !may_hold_receipts(line) {
            return;
        }
        let Ok(document) = serde_json::from_str(line) else { return };
        for text in transcript::given(agent, &document) {
            given.extend(nonces.iter().flat_map(|nonce| receipts(nonce, &text)));
        }
    })?;
    Some(given)
}
