//! The text goes into the composer: when that is empty and has the keyboard, and while nobody types.

use std::sync::atomic::Ordering;
use std::time::Duration;

use agtmux_agents::screen::{Enter, ScreenReading};
use agtmux_agents::send::{Paste, Shown};
use agtmux_core::mail::Mode;
use agtmux_tmux::Script;
use agtmux_tmux::act::{Acted, Mismatch, guarded};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::SendEffect;
use tokio::time::{Instant, sleep};

use super::{Desk, effect};
use crate::act::aim::{STALE_HINT, STEP_DEADLINE, act_failed, missed, tmux_failed};
use crate::error::CommandError;

/// Keys that a person typed may take so long to be drawn.
pub(super) const QUIET: Duration = Duration::from_secs(2);

/// How long it is waited for somebody to stop typing.
pub(super) const QUIET_PATIENCE: Duration = Duration::from_secs(5);

/// How long a screen may be unclear, because it is just being painted.
const UNCLEAR_PATIENCE: Duration = Duration::from_secs(2);

/// How long an agent may take to draw what was pasted.
pub(super) const DRAWN_PATIENCE: Duration = Duration::from_secs(8);

/// Between two looks at the screen.
pub(super) const PAUSE: Duration = Duration::from_millis(60);

/// A text that was pasted.
pub(super) struct Pasted {
    /// What the agent does with it once it is submitted.
    pub(super) effect: Option<SendEffect>,
    /// How many prompts waited before.
    pub(super) queued: usize,
    /// When.
    pub(super) at: Instant,
    /// How often Enter was pressed with it.
    pub(super) enters: u32,
    /// Where the log was before that.
    pub(super) before: Option<u64>,
}

impl Pasted {
    /// A text that was there already.
    pub(super) fn before() -> Self {
        Self { effect: None, queued: 0, at: Instant::now(), enters: 0, before: None }
    }
}

impl Desk {
    /// Pastes the text, once; and submits it with the same command where that is wanted and safe.
    pub(super) async fn paste(&mut self, submit: bool) -> Result<Pasted, CommandError> {
        let started = Instant::now();
        loop {
            let quiet_since = jiff::Timestamp::now().as_second() - i64::try_from(QUIET.as_secs()).unwrap_or(0);
            self.guard.quiet_since = Some(quiet_since);
            let acted = match self.is_typed_into().await? {
                Some(mismatch) => Err(mismatch),
                None => self.paste_now(submit).await?,
            };
            match acted {
                Ok(pasted) => return Ok(pasted),
                // A delivery that is started waits for nobody: it is returned, and tried again.
                Err(Mismatch::NotQuiet)
                    if started.elapsed() < QUIET_PATIENCE && !self.is_started.load(Ordering::Acquire) => {}
                Err(mismatch) => return Err(missed(&mismatch)),
            }
            sleep(QUIET / 8).await;
        }
    }

    /// What keeps a message from being pasted right now, such as somebody who types. The delivery waits for it to end before it starts.
    async fn is_typed_into(&self) -> Result<Option<Mismatch>, CommandError> {
        if self.delivery.is_none() {
            return Ok(None);
        }
        let asked = guarded(&self.eye.plain, &self.guard, &Script::new(), &Script::new(), STEP_DEADLINE).await;
        match asked.map_err(|error| tmux_failed(&error))? {
            Acted::Done(_) => Ok(None),
            Acted::Refused(mismatch) => Ok(Some(mismatch)),
        }
    }

    /// Pastes the text if the guard holds.
    async fn paste_now(&mut self, submit: bool) -> Result<Result<Pasted, Mismatch>, CommandError> {
        let slot = self.hands.buffers.take(self.guard.pane).await;
        let buffer = slot.buffer();
        let body = self.body.as_str().as_bytes();
        buffer.load(&self.eye.plain, body, STEP_DEADLINE).await.map_err(|error| tmux_failed(&error))?;
        let acted = async {
            let seen = self.ready().await?;
            let paste = buffer.paste(self.guard.pane, self.rules.paste == Paste::Bracketed);
            let at_once = submit && self.takes_enter_at_once(&seen).await;
            let pasted = Pasted {
                effect: effect(seen.composer.enter),
                queued: seen.composer.queued,
                at: Instant::now(),
                enters: u32::from(at_once),
                before: self.position().await,
            };
            let script = Script::from(&paste);
            let script = if at_once { script.then(&self.enter()) } else { script };
            self.start().await?;
            self.may_be_typed.store(true, Ordering::Release);
            let acted = guarded(&self.eye.plain, &self.guard, &script, &buffer.clear(), STEP_DEADLINE).await;
            self.may_be_typed.store(!matches!(acted, Ok(Acted::Refused(_))), Ordering::Release);
            match acted.map_err(|error| act_failed(&error))? {
                Acted::Done(_) => Ok(Ok(Pasted { at: Instant::now(), ..pasted })),
                Acted::Refused(mismatch) => Ok(Err(mismatch)),
            }
        };
        let acted = acted.await;
        if acted.is_err() {
            slot.clear(&self.eye.plain).await;
        }
        acted
    }

    /// Whether Enter may come with the text, so that whoever begins to type that very moment is behind both. An agent at rest asks
    /// nothing by itself which that Enter would answer; of any other the composer has to show the text first.
    async fn takes_enter_at_once(&self, seen: &ScreenReading) -> bool {
        let is_able = self.rules.paste == Paste::Bracketed && self.rules.enter_delay_ms == 0;
        if !is_able || self.force || seen.composer.enter != Enter::Submit {
            return false;
        }
        self.is_at_rest(Mode::Sequential).await
    }

    async fn is_at_rest(&self, mode: Mode) -> bool {
        let runtime = self.eye.aimed.runtime.clone();
        self.hands.handle.read(move |world| world.engine.is_at_rest(&runtime, mode)).await.unwrap_or(false)
    }

    /// Looks whether text and Enter would become a prompt right now. A screen that is being painted is given a moment.
    pub(super) async fn ready(&self) -> Result<ScreenReading, CommandError> {
        let started = Instant::now();
        let mut looks = 0;
        loop {
            let seen = self.eye.look().await?;
            let enter = seen.composer.enter;
            if let Some(mode) = self.awaits_rest
                && (matches!(enter, Enter::Queue | Enter::Steer) || !self.is_at_rest(mode).await)
            {
                return Err(self.in_turn());
            }
            if enter.is_safe() || enter == Enter::AppendToDraft && self.stash.is_some() {
                return Ok(seen);
            }
            looks += 1;
            // Half a picture can look like a draft, so nobody is refused for a single look.
            let is_sure = match enter {
                Enter::ReachShell | Enter::Nothing => true,
                Enter::Unknown => started.elapsed() > UNCLEAR_PATIENCE,
                _ => looks > 2,
            };
            if is_sure {
                let reaches_agent = !matches!(enter, Enter::ReachShell | Enter::Nothing);
                return if self.force && reaches_agent { Ok(seen) } else { Err(self.unfit(&seen)) };
            }
            sleep(PAUSE).await;
        }
    }

    /// Why nothing may be typed at a screen like this.
    fn unfit(&self, seen: &ScreenReading) -> CommandError {
        let runtime = &self.eye.aimed.runtime;
        let (code, message, hint) = match seen.composer.enter {
            Enter::AppendToDraft => (
                ErrorCode::Draft,
                format!("somebody's text is in the composer of {runtime}"),
                "let them send it or clear it first",
            ),
            Enter::AnswerDialog => (
                ErrorCode::Blocked,
                format!("{runtime} shows a dialog; text typed now would answer that"),
                "deal with it first: `agtmux approve`, `agtmux deny` or `agtmux attach`",
            ),
            Enter::RunCommand => (
                ErrorCode::PreconditionFailed,
                format!("the composer of {runtime} is in shell mode; text typed now would be run"),
                "leave shell mode in its pane first",
            ),
            Enter::ReachShell | Enter::Nothing => (
                ErrorCode::RuntimeStale,
                format!("{runtime} does not read what is typed into pane {}", self.guard.pane),
                STALE_HINT,
            ),
            _ => (
                ErrorCode::PreconditionFailed,
                format!("the composer of {runtime} cannot be read: its screen shows none that takes text"),
                "look at it with `agtmux attach`; --force-stale types all the same",
            ),
        };
        CommandError::new(code, message).hint(hint)
    }

    /// What was at rest a moment ago is not any more: somebody was faster.
    fn in_turn(&self) -> CommandError {
        let message = format!("{} is in a turn by now", self.eye.aimed.runtime);
        CommandError::new(ErrorCode::PreconditionFailed, message).hint("it is typed when the turn has ended")
    }

    /// Waits until the composer shows the text, and nothing else.
    ///
    /// # Errors
    /// Says why Enter must not be pressed.
    pub(super) async fn seen(&self, patience: Duration) -> Result<(), String> {
        let started = Instant::now();
        let (mut last, mut same) = (String::new(), 0);
        let mut why = "the composer does not show it".to_owned();
        while started.elapsed() < patience {
            let seen = self.eye.look().await.map_err(|error| error.message)?;
            match (seen.composer.enter, &seen.composer.draft) {
                (Enter::AnswerDialog, _) if !self.force => return Err("a dialog came up".to_owned()),
                (_, Some(draft)) => {
                    same = if *draft == last { same + 1 } else { 0 };
                    last.clone_from(draft);
                    match self.rules.shown(&self.body, draft) {
                        Shown::Whole => return Ok(()),
                        // The rest may be out of sight, or on its way: it is out of sight when nothing more comes.
                        Shown::Part if same >= 4 => return Ok(()),
                        Shown::Part => "the composer shows a part of it".clone_into(&mut why),
                        Shown::Other => "something else is in the composer with it".clone_into(&mut why),
                    }
                }
                _ => {}
            }
            sleep(PAUSE).await;
        }
        if self.force { Ok(()) } else { Err(why) }
    }
}
