//! Sees a message through, though a daemon may end meanwhile: asking for the same id again asks for the same message.

use std::time::Duration;

use agtmux_wire::mail::Message;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::client::Unanswered;
pub(super) use crate::client::follow::is_gone;
use crate::error::CommandError;

/// For how long it is asked again after a daemon was lost, and how often.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

/// Asks until there is an answer. It is asked again only for what may have been done, and only if that does no harm.
pub(super) async fn surely<T>(ask: impl AsyncFn() -> Result<T, Unanswered>) -> Result<T, Unanswered> {
    let (mut may_be_done, mut lost) = (false, None);
    loop {
        let unanswered = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(unanswered) => unanswered,
        };
        may_be_done |= unanswered.may_be_done;
        if !may_be_done || !is_gone(&unanswered.error) || is_long_ago(&mut lost) {
            return Err(Unanswered { may_be_done, ..unanswered });
        }
        sleep(PAUSE).await;
    }
}

/// An id that is chosen before anything is asked for, so that the same can be asked for again.
pub(super) fn fresh_id() -> String {
    format!("m_{}", &Uuid::new_v4().simple().to_string()[..16])
}

/// Nobody answered. Whoever believed that nothing was done would send it twice.
pub(super) fn unsure(lost: Unanswered, id: &str, look: &str) -> CommandError {
    if !lost.may_be_done {
        return lost.error;
    }
    CommandError::new(lost.error.code, format!("{id} may have been accepted: {}", lost.error.message))
        .hint(format!("{look}; with `--id {id}` it can be sent again, and is not sent twice"))
}

/// A message when it is known what became of it, or when it was waited long enough. A daemon answers when it has waited as long as it
/// wants to, and is asked again then.
pub(super) async fn to_its_end(
    mut message: Message,
    wait: Duration,
    ask: impl AsyncFn(&str, Duration) -> Result<Message, CommandError>,
) -> Result<Message, CommandError> {
    let (began, mut lost) = (Instant::now(), None);
    while message.verdict.is_none() {
        let left = wait.saturating_sub(began.elapsed());
        match ask(&message.id, left).await {
            Ok(now) => (message, lost) = (now, None),
            Err(error) if is_gone(&error) && !is_long_ago(&mut lost) => sleep(PAUSE).await,
            Err(error) => {
                let Message { id, .. } = message;
                let text = format!("{id} was accepted, and nobody says what became of it: {}", error.message);
                return Err(CommandError::new(error.code, text).hint(format!("`sm show {id}` tells")));
            }
        }
        if lost.is_none() && began.elapsed() >= wait {
            break;
        }
    }
    Ok(message)
}

fn is_long_ago(lost: &mut Option<Instant>) -> bool {
    lost.get_or_insert_with(Instant::now).elapsed() > PATIENCE
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use agtmux_wire::error::ErrorCode;

    use super::*;

    fn message(verdict: Option<&str>) -> Message {
        serde_json::from_value(serde_json::json!({
            "schema_version": 1, "id": "m_1", "status": "queued", "verdict": verdict, "delivery_mode": "sequential",
            "to": {"name": "api", "id": "rt_1"}, "from": {"name": "me", "id": "uid 1"}, "queued_at": "",
            "category": "mail", "bytes": 1, "preview": "", "steps": []
        }))
        .unwrap()
    }

    fn gone() -> CommandError {
        CommandError::new(ErrorCode::DaemonUnreachable, "gone")
    }

    /// A daemon waits for ten minutes at most, and one ends meanwhile.
    #[tokio::test(start_paused = true)]
    async fn a_message_is_waited_for_as_long_as_somebody_wants_to() {
        for (wait, known_after, verdict) in [(1_500, 1_400, Some("confirmed")), (660, 700, None)] {
            let (began, asked) = (Instant::now(), Cell::new(0));
            let ask = async |id: &str, left: Duration| {
                assert_eq!(id, "m_1");
                asked.set(asked.get() + 1);
                if asked.get() == 2 {
                    return Err(gone());
                }
                let known = Duration::from_secs(known_after).saturating_sub(began.elapsed());
                sleep(left.min(Duration::from_secs(600)).min(known)).await;
                Ok(message((began.elapsed().as_secs() >= known_after).then_some("confirmed")))
            };
            let found = to_its_end(message(None), Duration::from_secs(wait), ask).await.unwrap();
            assert_eq!(found.verdict.as_deref(), verdict);
            assert_eq!(began.elapsed().as_secs(), wait.min(known_after));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_answer_learns_that_it_was_accepted() {
        let error = to_its_end(message(None), Duration::from_secs(60), async |_, _| Err(gone())).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::DaemonUnreachable);
        assert!(error.message.starts_with("m_1 was accepted, ") && error.hint.unwrap().contains("`sm show m_1`"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_have_been_done_is_asked_for_again() {
        let asked = Cell::new(0);
        let ask = async |answers: &[Result<(), Unanswered>]| {
            asked.set(asked.get() + 1);
            answers.get(asked.get() - 1).unwrap_or(&answers[answers.len() - 1]).clone()
        };
        let lost = |may_be_done| Err(Unanswered { error: gone(), may_be_done });
        assert_eq!(surely(async || ask(&[lost(true), lost(false), Ok(())]).await).await, Ok(()));
        assert_eq!(asked.replace(0), 3);
        // Nobody was asked: nothing is to be asked again.
        assert_eq!(surely(async || ask(&[lost(false), Ok(())]).await).await, lost(false));
        assert_eq!(asked.replace(0), 1);
        // It stays possible, whatever is said of the last try.
        assert_eq!(surely(async || ask(&[lost(true), lost(false)]).await).await, lost(true));
    }
}
