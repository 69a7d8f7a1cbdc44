//! `sm clear-draft`: a person's text in a composer is kept in a file and cleared, so that mail can be delivered.
//!
//! It is for texts that nobody can put back exactly. The file is written first, and the composer is read again after every step. A key of
//! a person ends it: what they type is in no file, so it must not be cleared.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;
use std::time::Duration;

use agtmux_agents::aside::AsideRules;
use agtmux_agents::screen::Enter;
use agtmux_agents::send::{Body, SendRules, Shown};
use agtmux_core::action::{Actor, AimedAt, Snapshot, Verb};
use agtmux_tmux::act::{Acted, Guard, Mismatch, guarded};
use agtmux_tmux::{Command, Script};
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::action::Aim;
use agtmux_wire::clear_draft::ClearedDraft;
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::aim::{Mark, STEP_DEADLINE, act_failed, mark, missed};
use super::look::Eye;
use super::{Done, Hands, Shim};
use crate::error::CommandError;

/// How long nobody must have typed, and how long that may take to come about.
const QUIET: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(5);

/// How long an agent gets to draw what a step has left.
const DRAWN: Duration = Duration::from_millis(300);

/// More lines than a composer shows.
const MOST_LINES: usize = 60;

/// Keeps the text in an agent's composer in a file, and clears it.
///
/// # Errors
/// Refused when there is none, when it cannot be kept, or when somebody types.
pub async fn clear_draft(hands: &Hands, aim: Aim, actor: Actor) -> Result<ClearedDraft, CommandError> {
    let own = hands.clone();
    let detail = "the text in the composer is kept and cleared".to_owned();
    hands.carry_out(Verb::Send, aim, actor, detail, move |snapshot| clear(own, snapshot)).await
}

async fn clear(hands: Hands, snapshot: Snapshot) -> Result<Done<ClearedDraft>, CommandError> {
    let aimed = snapshot.runtime.clone().ok_or_else(|| CommandError::internal("no agent in that pane"))?;
    let _turn = hands.locks.lock(&snapshot.pane).await;
    hands.recheck(&snapshot).await?;
    let Mark { plain, guard } = mark(&hands, &snapshot).await?;
    let guard = Guard { out_of_mode: true, ..guard };
    let eye = Eye::of(&plain, &guard, &aimed, &hands.manifests);
    let guard = quiet(&eye, guard).await?;
    let Some(shown) = draft(&eye).await? else {
        let message = format!("no text is in the composer of {}", aimed.runtime);
        return Err(CommandError::new(ErrorCode::PreconditionFailed, message).hint("nothing was pressed"));
    };
    let (text, exact) = known(&hands, &aimed, &shown).await?;
    let file = keep(&hands, &aimed, &text)?;
    let is_kept = |error: CommandError| error.hint(format!("the text that was there is kept in {}", file.display()));
    let keys = clearing_keys(&hands, &aimed);
    press(&eye, &guard, &vec!["Down"; shown.lines().count()]).await.map_err(is_kept)?;
    for _ in 0..MOST_LINES {
        press(&eye, &guard, &keys.iter().map(String::as_str).collect::<Vec<_>>()).await.map_err(is_kept)?;
        sleep(DRAWN).await;
        if draft(&eye).await.map_err(is_kept)?.is_none() {
            let answer = ClearedDraft {
                schema_version: SCHEMA_VERSION,
                action_id: snapshot.action.to_string(),
                pane_id: snapshot.pane.pane.to_string(),
                runtime_id: aimed.runtime.to_string(),
                text,
                exact,
                file: file.display().to_string(),
            };
            return Ok(Done { result: format!("cleared, and kept in {}", file.display()), answer });
        }
    }
    let message = format!("some of the text is still in the composer of {}", aimed.runtime);
    Err(CommandError::new(ErrorCode::Unconfirmed, message).hint(format!("all of it is kept in {}", file.display())))
}

/// The text that the composer shows.
async fn draft(eye: &Eye) -> Result<Option<String>, CommandError> {
    let seen = eye.look().await?;
    Ok(seen.composer.draft.filter(|_| seen.composer.enter == Enter::AppendToDraft))
}

/// What the text is: what the wrapper has seen being typed, or what the screen shows. What an agent shows in place of a text is not it.
async fn known(hands: &Hands, aimed: &AimedAt, shown: &str) -> Result<(String, bool), CommandError> {
    let registry = hands.manifests.now();
    let rules = registry.get(aimed.agent.as_str()).map(|manifest| manifest.send.clone()).unwrap_or_default();
    if let Some(shim) = Shim::of(&hands.shims, aimed.process).await
        && let Ok(Some((typed, _))) = shim.typed().await
        && is_shown(&rules, &typed, shown)
    {
        return Ok((typed, true));
    }
    if rules.is_folded(shown) {
        let message = format!("{} shows something in place of a text that was pasted", aimed.runtime);
        return Err(CommandError::new(ErrorCode::Draft, message).hint(format!(
            "only the agent knows that text; send it or clear it there: `agtmux attach runtime:{}`",
            aimed.runtime
        )));
    }
    Ok((shown.to_owned(), false))
}

fn is_shown(rules: &SendRules, typed: &str, shown: &str) -> bool {
    Body::new(typed).is_ok_and(|body| rules.shown(&body, shown) == Shown::Whole)
}

/// Writes the text where the person finds it again.
fn keep(hands: &Hands, aimed: &AimedAt, text: &str) -> Result<PathBuf, CommandError> {
    let dir = hands.paths.state_dir.join("drafts");
    let failed = |error: std::io::Error| {
        CommandError::new(
            ErrorCode::PreconditionFailed,
            format!("the text cannot be kept in {}: {error}", dir.display()),
        )
        .hint("nothing was pressed")
    };
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(failed)?;
    let at = jiff::Timestamp::now().as_millisecond();
    let path = dir.join(format!("{}-{at}.txt", aimed.runtime));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(path)
}

/// What clears a line and joins it with the one above.
fn clearing_keys(hands: &Hands, aimed: &AimedAt) -> Vec<String> {
    let registry = hands.manifests.now();
    let rules = registry.get(aimed.agent.as_str()).and_then(|manifest| manifest.aside.clone());
    let line = match rules {
        Some(AsideRules::Clear { clear }) => clear.iter().map(|key| key.name().to_owned()).collect(),
        Some(AsideRules::Stash { .. }) | None => vec!["C-e".to_owned(), "C-u".to_owned()],
    };
    line.into_iter().chain(["BSpace".to_owned()]).collect()
}

/// Waits until nobody has typed for a while. The guard that it gives fails once somebody types again: nothing is pressed after a key
/// that the text in the file does not hold.
async fn quiet(eye: &Eye, guard: Guard) -> Result<Guard, CommandError> {
    let started = Instant::now();
    loop {
        let quiet_since = jiff::Timestamp::now().as_second() - i64::try_from(QUIET.as_secs()).unwrap_or(0);
        let guard = Guard { quiet_since: Some(quiet_since), ..guard.clone() };
        match guarded(&eye.plain, &guard, &Script::new(), &Script::new(), STEP_DEADLINE).await {
            Ok(Acted::Done(_)) => return Ok(guard),
            Ok(Acted::Refused(Mismatch::NotQuiet)) if started.elapsed() < PATIENCE => sleep(QUIET / 8).await,
            Ok(Acted::Refused(mismatch)) => return Err(missed(&mismatch)),
            Err(error) => return Err(act_failed(&error)),
        }
    }
}

/// Presses keys, if the guard holds.
async fn press(eye: &Eye, guard: &Guard, keys: &[&str]) -> Result<(), CommandError> {
    let command = keys.iter().fold(Command::new("send-keys").target(guard.pane), |command, key| command.arg(*key));
    match guarded(&eye.plain, guard, &Script::from(&command), &Script::new(), STEP_DEADLINE).await {
        Ok(Acted::Done(_)) => Ok(()),
        Ok(Acted::Refused(mismatch)) => Err(missed(&mismatch)),
        Err(error) => Err(act_failed(&error)),
    }
}
