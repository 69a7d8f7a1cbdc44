//! `approve` and `deny`: the answer to the very question that was read, by the surest way that the agent has.
//!
//! | way | how it is bound to the question |
//! |---|---|
//! | its hook | the hook that asked is the one that is answered |
//! | its server | the request is named by its id |
//! | a key | the dialog on the screen is the one that was read, by its text, inside tmux, as the key is pressed |
//!
//! The person at the terminal is always free to answer first.

use agtmux_agents::answer::Decision;
use agtmux_core::action::{Actor, AimedAt, Snapshot, Verb};
use agtmux_core::prompt::Prompt;
use agtmux_wire::action::{Aim, PromptItem};
use agtmux_wire::approve::{AnswerOutcome, AnswerWay, Answered};
use agtmux_wire::error::ErrorCode;

mod keys;

use super::{Done, Hands};
use crate::daemon::questions::By;
use crate::error::CommandError;

/// The longest reason, in bytes.
const REASON_LIMIT: usize = 16 * 1024;

impl Hands {
    /// Answers what an agent asks permission for.
    ///
    /// # Errors
    /// Refused, or failed; both are in the log.
    pub async fn answer(&self, decision: Decision, aim: Aim, actor: Actor) -> Result<Answered, CommandError> {
        let verb = match &decision {
            Decision::Allow => Verb::Approve,
            Decision::Deny { reason } => {
                if let Some(error) = reason.as_deref().and_then(|reason| is_plain(reason).err()) {
                    let reference = aim.reference.or(aim.snapshot_id).unwrap_or_default();
                    return Err(self.refuse(Verb::Deny, &reference, actor, error).await);
                }
                Verb::Deny
            }
        };
        let hands = self.clone();
        let by = actor.agent.clone();
        self.carry_out(verb, aim, actor, verb.name().to_owned(), move |snapshot| async move {
            let (Some(aimed), Some(prompt)) = asked(&snapshot) else {
                return Err(CommandError::internal("an answer was prepared without a question"));
            };
            if by.as_ref() == Some(&aimed.runtime) {
                let message = format!("{} cannot answer what it asks itself", aimed.runtime);
                return Err(CommandError::new(ErrorCode::NotAllowed, message).hint("it is asking a person"));
            }
            let Given { way, is_confirmed, subject } = hands.give(&snapshot, aimed, prompt, &decision).await?;
            let subject = prompt.subject.clone().or(subject);
            let outcome = match &decision {
                _ if !is_confirmed => AnswerOutcome::Unconfirmed,
                Decision::Allow => AnswerOutcome::Approved,
                Decision::Deny { .. } => AnswerOutcome::Denied,
            };
            let about = subject.as_deref().unwrap_or(&prompt.hash);
            let done = if is_confirmed { "" } else { ", which could not be confirmed" };
            let result = format!("answered {about:?} {}{done}", way.words());
            let answer = Answered {
                action_id: snapshot.action.to_string(),
                outcome,
                way,
                prompt: PromptItem { hash: prompt.hash.clone(), subject },
                runtime_id: aimed.runtime.to_string(),
                agent: aimed.agent.to_string(),
                pane_id: snapshot.pane.pane.to_string(),
            };
            Ok(Done { answer, result })
        })
        .await
    }

    /// Gives an answer by the surest way there is.
    async fn give(
        &self,
        snapshot: &Snapshot,
        aimed: &AimedAt,
        prompt: &Prompt,
        decision: &Decision,
    ) -> Result<Given, CommandError> {
        if let Some(given) = self.handle.questions().answer(&aimed.runtime, prompt, decision.clone()).await {
            let way = match given.by {
                By::Hook => AnswerWay::Hook,
                By::Server => AnswerWay::Server,
            };
            let given = given.is_passed_on.then_some(Given { way, is_confirmed: true, subject: None });
            return given.ok_or_else(|| not_taken(aimed, way));
        }
        let (is_confirmed, subject) = keys::press(self, snapshot, aimed, prompt, decision).await?;
        Ok(Given { way: AnswerWay::Keys, is_confirmed, subject })
    }
}

/// An answer that was given.
struct Given {
    way: AnswerWay,
    /// Whether the agent has it.
    is_confirmed: bool,
    /// What it was about, as far as the way tells.
    subject: Option<String>,
}

fn asked(snapshot: &Snapshot) -> (Option<&AimedAt>, Option<&Prompt>) {
    let aimed = snapshot.runtime.as_ref();
    (aimed, aimed.and_then(|aimed| aimed.prompt.as_ref()))
}

/// Somebody else was faster, or the agent's server did not listen.
fn not_taken(aimed: &AimedAt, way: AnswerWay) -> CommandError {
    let message = match way {
        AnswerWay::Server => format!("the server of {} did not take the answer", aimed.runtime),
        AnswerWay::Hook | AnswerWay::Keys => {
            format!("{} was answered by somebody else that very moment", aimed.runtime)
        }
    };
    CommandError::new(ErrorCode::PreconditionFailed, message).hint(format!("`agtmux explain {}`", aimed.runtime))
}

/// A reason is shown to a person and read by a model: text, and not without end.
fn is_plain(reason: &str) -> Result<(), CommandError> {
    if reason.len() > REASON_LIMIT {
        let message = format!("a reason of {} bytes is too long", reason.len());
        return Err(CommandError::new(ErrorCode::Usage, message).hint(format!("{REASON_LIMIT} bytes at most")));
    }
    if reason.trim().is_empty() {
        return Err(CommandError::new(ErrorCode::Usage, "the reason is empty").hint("leave --reason out"));
    }
    if reason.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(CommandError::new(ErrorCode::Usage, "the reason has control characters").hint("plain text only"));
    }
    Ok(())
}
