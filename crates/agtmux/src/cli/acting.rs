//! Asks for an action under an id that is chosen before anything is asked for. Should the daemon end before it answers, the next one
//! is asked what became of that id: nobody who has no answer is told that nothing was done.

use std::time::Duration;

use agtmux_wire::audit::AuditItem;
use agtmux_wire::error::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::output::{self, printable};
use crate::client::{Client, outcome_unknown};
use crate::error::CommandError;

/// For how long the next daemon is asked, and how often.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// What came of an action.
pub(super) enum Acted<T> {
    /// The daemon's answer.
    Answered(T),
    /// It was done, as the log tells. The answer was lost with the daemon.
    Found(Box<AuditItem>),
}

/// An id for an action.
pub(super) fn fresh_action() -> String {
    format!("act_{}", Uuid::new_v4().simple())
}

/// Asks for the action of that id.
///
/// # Errors
/// The daemon's own error; or what the log says became of the action; or that nobody knows.
pub(super) async fn act<T: DeserializeOwned>(
    client: &Client,
    path: &str,
    request: &impl Serialize,
    action: &str,
) -> Result<Acted<T>, CommandError> {
    let lost = match client.post_unless_lost(path, request).await {
        Ok(answer) => return Ok(Acted::Answered(answer)),
        Err(lost) if lost.may_be_done => lost.error,
        Err(lost) => return Err(lost.error),
    };
    let began = Instant::now();
    loop {
        let found = client.get::<AuditItem>(&format!("/v1/actions/{action}")).await;
        match found {
            Ok(item) => return concluded(item, &lost).map(|item| Acted::Found(Box::new(item))),
            Err(error) if error.code == ErrorCode::RefNotFound => return Err(concluded_unbegun(&lost, action)),
            Err(_) if began.elapsed() < PATIENCE => sleep(PAUSE).await,
            Err(_) => return Err(unknown(action, &lost)),
        }
    }
}

/// What the log says of an action whose answer was lost.
fn concluded(item: AuditItem, lost: &CommandError) -> Result<AuditItem, CommandError> {
    let text = item.text.clone().unwrap_or_default();
    let code = item.code.as_deref().and_then(ErrorCode::from_name);
    match item.outcome.as_str() {
        "done" if text.starts_with("unconfirmed") => Err(CommandError::new(ErrorCode::Unconfirmed, text)
            .hint("look at its pane before you do it again: it may be there already")),
        "done" => Ok(item),
        "refused" | "failed" => Err(CommandError::new(code.unwrap_or(ErrorCode::Internal), text)),
        "started" => Err(unknown(&item.action_id, lost)),
        _ => Err(unbegun()),
    }
}

/// What it means that the log does not know an action: it is logged before it is begun. A daemon that merely did not answer in time may
/// have yet to read it.
fn concluded_unbegun(lost: &CommandError, action: &str) -> CommandError {
    if lost.code == ErrorCode::Timeout { unknown(action, lost) } else { unbegun() }
}

fn unbegun() -> CommandError {
    CommandError::new(ErrorCode::DaemonUnreachable, "the daemon ended before it began; nothing was done")
        .hint("`agtmux doctor` looks for what is wrong with it")
}

fn unknown(action: &str, lost: &CommandError) -> CommandError {
    let CommandError { message, .. } = outcome_unknown(lost);
    let code = if lost.code == ErrorCode::Timeout { ErrorCode::Timeout } else { ErrorCode::OutcomeUnknown };
    CommandError::new(code, message).hint(format!(
        "look at the agent (`agtmux view-output`) before you do it again; the log knows it as {action} (`agtmux events --audit`)"
    ))
}

/// Tells that an action was done, of which the daemon did not live to tell more.
///
/// # Errors
/// Fails when it cannot be printed.
pub(super) fn tell_found(item: &AuditItem, json: bool) -> Result<(), CommandError> {
    if json {
        return output::print_json(item);
    }
    let text = item.text.as_deref().unwrap_or("done");
    output::print(&format!("{}; the daemon that did it ended before it answered\n", printable(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(outcome: &str, code: Option<&str>, text: Option<&str>) -> AuditItem {
        serde_json::from_value(serde_json::json!({
            "action_id": "act_0123456789", "at": "", "actor": {"uid": 1}, "outcome": outcome, "code": code, "text": text,
            "ended_at": "", "n": 1, "hash": ""
        }))
        .unwrap()
    }

    #[test]
    fn what_the_log_says_is_what_came_of_it() {
        let lost = CommandError::new(ErrorCode::DaemonUnreachable, "no daemon answers");
        let code = |item: AuditItem| concluded(item, &lost).map_err(|error| error.code).map(|_| ());
        assert_eq!(code(item("done", None, Some("submitted: a turn began"))), Ok(()));
        assert_eq!(code(item("done", None, Some("unconfirmed: it is still there"))), Err(ErrorCode::Unconfirmed));
        assert_eq!(code(item("refused", Some("E_DRAFT"), Some("a draft"))), Err(ErrorCode::Draft));
        assert_eq!(code(item("failed", Some("E_TIMEOUT"), Some("tmux"))), Err(ErrorCode::Timeout));
        assert_eq!(code(item("started", None, None)), Err(ErrorCode::OutcomeUnknown));
        assert_eq!(code(item("prepared", None, None)), Err(ErrorCode::DaemonUnreachable));
        let error = concluded(item("started", None, None), &lost).unwrap_err();
        assert_eq!(error.code.exit_code(), 1);
        assert!(!error.message.contains("no daemon") && error.hint.unwrap().contains("act_0123456789"));
        // A daemon that is merely slow may yet begin.
        assert_eq!(concluded_unbegun(&lost, "act_1").code, ErrorCode::DaemonUnreachable);
        let slow = CommandError::new(ErrorCode::Timeout, "the daemon did not answer in time");
        assert_eq!(concluded_unbegun(&slow, "act_1").code, ErrorCode::Timeout);
    }
}
