//! An answer by a key, at the dialog on the agent's screen.
//!
//! The dialog is read twice, a moment apart, because agents take no keys when it has just come up. It has to be the one that
//! was asked about; the key is chosen by what the answer says; and tmux itself compares what the pane shows as it passes the
//! key on. Then one looks again: a key that did nothing is told as that, and never pressed twice.

use std::time::Duration;

use agtmux_agents::answer::Decision;
use agtmux_agents::approve::{Choice, is_about};
use agtmux_agents::screen::{Dialog, ScreenReading};
use agtmux_core::action::{AimedAt, Snapshot};
use agtmux_core::prompt::Prompt;
use agtmux_core::signal::{Blocking, Signal, Source};
use agtmux_tmux::act::{Acted, Guard, guarded};
use agtmux_tmux::command::{Command, Script};
use agtmux_tmux::shown::{if_shown, was_shown};
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::super::Hands;
use super::super::aim::{Mark, STEP_DEADLINE, act_failed, mark, missed};
use super::super::look::Eye;
use crate::error::CommandError;

/// How long a dialog has to stand before it takes keys.
const STANDING: Duration = Duration::from_millis(350);

/// How long the dialog may take to go away. Some agents take seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers by a key. Whether the dialog went away, and what it was about.
pub(super) async fn press(
    hands: &Hands,
    snapshot: &Snapshot,
    aimed: &AimedAt,
    prompt: &Prompt,
    decision: &Decision,
) -> Result<(bool, Option<String>), CommandError> {
    if let Decision::Deny { reason: Some(_) } = decision {
        let message = format!("{} cannot be told a reason: its question is answered by a key", aimed.agent);
        return Err(CommandError::new(ErrorCode::PreconditionFailed, message)
            .hint("deny it without --reason, then tell it with `agtmux send`"));
    }
    let _turn = hands.locks.lock(&snapshot.pane).await;
    let Mark { plain, guard } = mark(hands, snapshot).await?;
    let guard = Guard { out_of_mode: true, ..guard };
    let eye = Eye::of(&plain, &guard, aimed, &hands.manifests);
    let first = dialog(&eye.look().await?, aimed, prompt)?;
    sleep(STANDING).await;
    let seen = eye.look().await?;
    let dialog = dialog(&seen, aimed, prompt)?;
    if dialog.prompt_hash != first.prompt_hash {
        return Err(another(aimed, &dialog));
    }
    let Choice { key, label } = choice(hands, aimed, decision, &dialog)?;
    tracing::debug!(runtime = %aimed.runtime, key, label, "answers by a key");
    let send = Script::from(&Command::new("send-keys").target(guard.pane).arg(&key));
    let script = if_shown(guard.pane, &dialog.rows, &send);
    match guarded(&plain, &guard, &script, &Script::new(), STEP_DEADLINE).await.map_err(|error| act_failed(&error))? {
        Acted::Done(printed) if was_shown(&printed) => {}
        Acted::Done(_) => return Err(gone(aimed)),
        Acted::Refused(mismatch) => return Err(missed(&mismatch)),
    }
    Ok((is_gone(&eye, &dialog).await, subject(&seen)))
}

/// The dialog on a screen, if it is the question that was read.
fn dialog(seen: &ScreenReading, aimed: &AimedAt, prompt: &Prompt) -> Result<Dialog, CommandError> {
    let dialog = seen.composer.dialog.clone().filter(|_| asks_permission(seen)).ok_or_else(|| gone(aimed))?;
    // Who tells what is asked about has told the person too; a screen's own hash counts where nobody else does.
    let told = prompt.tellings.iter().filter(|telling| telling.source != Source::Screen);
    let is_it = match told.filter_map(|telling| telling.subject.as_deref()).next() {
        Some(subject) => is_about(&dialog, subject),
        None => prompt.told_by(Source::Screen).is_none_or(|telling| telling.hash == dialog.prompt_hash),
    };
    if is_it { Ok(dialog) } else { Err(another(aimed, &dialog)) }
}

fn asks_permission(seen: &ScreenReading) -> bool {
    seen.readings.iter().any(|reading| matches!(reading.signal, Signal::Blocked { on: Blocking::Approval { .. } }))
}

fn subject(seen: &ScreenReading) -> Option<String> {
    seen.readings.iter().find_map(|reading| match &reading.signal {
        Signal::Blocked { on: Blocking::Approval { subject, .. } } => subject.clone(),
        _ => None,
    })
}

fn choice(hands: &Hands, aimed: &AimedAt, decision: &Decision, dialog: &Dialog) -> Result<Choice, CommandError> {
    let registry = hands.manifests.now();
    let choice = registry.get(aimed.agent.as_str()).and_then(|manifest| manifest.approve.choice(decision, dialog));
    choice.ok_or_else(|| {
        let labels: Vec<_> = dialog.options.iter().map(|option| option.label.as_str()).collect();
        let message =
            format!("no key is known for that answer; the dialog of {} offers: {}", aimed.runtime, labels.join(" | "));
        CommandError::new(ErrorCode::PreconditionFailed, message).hint("answer it in its pane: `agtmux attach`")
    })
}

/// Whether the dialog is seen to go away, or to make room for another. The key was pressed, whatever is seen.
async fn is_gone(eye: &Eye, dialog: &Dialog) -> bool {
    let begun = Instant::now();
    loop {
        let Ok(seen) = eye.look().await else {
            return false;
        };
        if seen.composer.dialog.is_none_or(|shown| shown.prompt_hash != dialog.prompt_hash) {
            return true;
        }
        if begun.elapsed() > PATIENCE {
            return false;
        }
        sleep(PAUSE).await;
    }
}

fn gone(aimed: &AimedAt) -> CommandError {
    let message = format!("the screen of {} does not show what it asked; no key was pressed", aimed.runtime);
    CommandError::new(ErrorCode::PreconditionFailed, message).hint("look at it in its pane: `agtmux attach`")
}

fn another(aimed: &AimedAt, dialog: &Dialog) -> CommandError {
    let shown = dialog.title.as_deref().unwrap_or("another dialog");
    let message = format!("the screen of {} shows something else: {shown}; no key was pressed", aimed.runtime);
    CommandError::new(ErrorCode::PreconditionFailed, message).hint("read what it asks now, then answer that")
}
