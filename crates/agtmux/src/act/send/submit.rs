//! Enter is pressed until the agent has taken the text: it said so, a turn began, or the text left the composer.

use std::time::Duration;

use agtmux_agents::screen::Enter;
use agtmux_agents::send::Shown;
use agtmux_core::signal::Source;
use agtmux_tmux::act::{Acted, guarded};
use agtmux_tmux::{Command, Script};
use agtmux_wire::send::{SendEffect, SendEvidence, SendStatus};
use tokio::time::{Instant, sleep, sleep_until};

use super::paste::{PAUSE, Pasted};
use super::{Desk, Progress};
use crate::act::aim::STEP_DEADLINE;

/// How long it is waited after each press of Enter before the next one.
const PRESSES: [Duration; 4] =
    [Duration::from_millis(300), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(3)];

/// How long a text that left the composer may take to be spoken of by somebody else; and the first of an agent, which may have
/// much to do before it begins.
pub(super) const SPOKEN_PATIENCE: Duration = Duration::from_secs(2);
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a text after Enter.
#[derive(Default)]
struct Signs {
    hook: bool,
    turn: bool,
    queued: bool,
    left: bool,
    /// At the last look it was in the composer.
    stands: bool,
}

impl Desk {
    /// Presses Enter until the text is taken.
    pub(super) async fn submit(&self, pasted: &Pasted) -> Progress {
        let mut enters = pasted.enters;
        let Some(before) = pasted.before else {
            return Progress::unconfirmed(Vec::new(), enters, "the daemon is ending".to_owned());
        };
        sleep_until(pasted.at + Duration::from_millis(self.rules.enter_delay_ms)).await;
        let mut signs = Signs::default();
        for (press, patience) in (0..).zip(PRESSES) {
            // It is pressed again only where the composer shows the text: something else may have the keyboard by now.
            if press >= pasted.enters && (enters == 0 || signs.stands || self.force) {
                if self.back.is_some() && pasted.enters > 0 {
                    return signs.verdict(enters, "Enter was not pressed again: a person's text may be with it");
                }
                match self.press(press).await {
                    Ok(()) => enters += 1,
                    Err(why) => return signs.verdict(enters, &format!("Enter was not pressed: {why}")),
                }
            }
            let pressed = Instant::now();
            let mut left_at: Option<Instant> = None;
            loop {
                if let Err(why) = self.watch(pasted, before, &mut signs).await {
                    return signs.verdict(enters, &why);
                }
                if signs.are_enough() {
                    return signs.verdict(enters, "");
                }
                if signs.left {
                    let since = *left_at.get_or_insert_with(Instant::now);
                    if since.elapsed() > self.spoken_patience {
                        return signs.verdict(enters, "");
                    }
                } else {
                    left_at = None;
                    if pressed.elapsed() > patience {
                        break;
                    }
                }
                sleep(PAUSE).await;
            }
        }
        signs.verdict(enters, "the text is still in the composer")
    }

    /// Presses Enter.
    ///
    /// # Errors
    /// Says why it was not pressed.
    async fn press(&self, press: u32) -> Result<(), String> {
        if let Some(shim) = &self.shim {
            return self.inject_enter(shim, &format!("{}-enter-{press}", self.action)).await;
        }
        let script = Script::from(&self.enter());
        match guarded(&self.eye.plain, &self.guard, &script, &Script::new(), STEP_DEADLINE).await {
            Ok(Acted::Done(_)) => Ok(()),
            Ok(Acted::Refused(why)) => Err(why.to_string()),
            Err(error) => Err(format!("tmux failed: {error}")),
        }
    }

    /// The key that submits.
    pub(super) fn enter(&self) -> Command {
        Command::new("send-keys").target(self.guard.pane).arg(&self.rules.enter)
    }

    /// Looks what is to be seen and heard of the text.
    ///
    /// # Errors
    /// Says why Enter must not be pressed again.
    async fn watch(&self, pasted: &Pasted, before: u64, signs: &mut Signs) -> Result<(), String> {
        let busy = matches!(pasted.effect, Some(SendEffect::Queued | SendEffect::Steers));
        let runtime = self.eye.aimed.runtime.clone();
        let begun = self.hands.handle.read(move |world| world.engine.turn_begun_since(&runtime, before));
        for source in begun.await.map_err(|error| error.message)? {
            match source {
                Source::Hook | Source::Notify | Source::AppServer => signs.hook = true,
                // A turn that was under way before is no sign.
                _ => signs.turn |= !busy,
            }
        }
        let seen = match self.eye.look().await {
            Ok(seen) => seen,
            Err(error) => {
                signs.forsake();
                return Err(error.message);
            }
        };
        signs.queued |= seen.composer.queued > pasted.queued;
        let shown = seen.composer.draft.as_deref().map(|draft| self.rules.shown(&self.body, draft));
        signs.stands = matches!(shown, Some(Shown::Whole | Shown::Part));
        signs.left = match (seen.composer.enter, shown) {
            // What is not known is not gone; and where nobody reads the keys, nobody has taken it.
            (Enter::Unknown | Enter::Nothing | Enter::ReachShell, None) => signs.left,
            (_, Some(Shown::Whole | Shown::Part)) => false,
            (_, Some(Shown::Other)) if signs.are_spoken() => true,
            // What made room for it is back.
            (_, Some(Shown::Other)) if self.away.is_some() && seen.composer.draft == self.away => true,
            (_, Some(Shown::Other)) if self.is_back(seen.composer.draft.as_deref()) => true,
            // The wrapper held what somebody typed until the text was submitted, and let it go: that is theirs.
            (_, Some(Shown::Other)) if self.shim.is_some() => {
                seen.composer.draft.as_deref().is_some_and(|draft| self.rules.is_absent(&self.body, draft))
            }
            (_, Some(Shown::Other)) => return Err("something else is in the composer now".to_owned()),
            (_, None) => true,
        };
        Ok(())
    }

    /// Whether what the wrapper put aside is in the composer again, however the agent breaks its lines.
    fn is_back(&self, draft: Option<&str>) -> bool {
        let kept = self.kept.as_ref().zip(draft);
        kept.is_some_and(|(kept, draft)| self.rules.shows_itself(kept, draft))
    }

    /// Where the log is now; nowhere if the daemon is ending.
    pub(super) async fn position(&self) -> Option<u64> {
        self.hands.handle.read(|world| world.engine.state().seq).await.ok()
    }
}

impl Signs {
    /// Somebody else than the composer speaks of the text.
    const fn are_spoken(&self) -> bool {
        self.hook || self.turn || self.queued
    }

    /// The agent is gone. That its composer was empty may have been its end, and is no evidence alone.
    fn forsake(&mut self) {
        self.left &= self.are_spoken();
    }

    /// Nothing more has to be waited for. An agent's own word is enough; the composer may be drawn late.
    const fn are_enough(&self) -> bool {
        self.hook || self.left && self.are_spoken()
    }

    fn verdict(&self, enters: u32, why: &str) -> Progress {
        let told = [
            (self.hook, SendEvidence::Hook, "the agent says that it was given a prompt"),
            (self.turn, SendEvidence::TurnStarted, "a turn began"),
            (self.queued, SendEvidence::Queued, "it waits for the turn to end"),
            (self.left, SendEvidence::LeftComposer, "it left the composer"),
        ];
        let told: Vec<_> = told.into_iter().filter(|(so, _, _)| *so).collect();
        let evidence: Vec<_> = told.iter().map(|(_, evidence, _)| *evidence).collect();
        let taken = self.left || self.hook;
        let sentences: Vec<_> = told.iter().map(|(_, _, sentence)| *sentence).chain([why]).collect();
        let detail = sentences.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
        if taken && enters > 0 {
            return Progress { status: SendStatus::Submitted, evidence, enters, detail };
        }
        let evidence = if enters == 0 { vec![SendEvidence::InComposer] } else { evidence };
        Progress::unconfirmed(evidence, enters, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_composer_of_an_agent_that_is_gone_proves_nothing() {
        let status = |mut signs: Signs| {
            signs.forsake();
            signs.verdict(1, "it is gone").status
        };
        assert_eq!(status(Signs { left: true, ..Signs::default() }), SendStatus::Unconfirmed);
        assert_eq!(status(Signs { left: true, turn: true, ..Signs::default() }), SendStatus::Submitted);
        assert_eq!(status(Signs { hook: true, ..Signs::default() }), SendStatus::Submitted);
    }
}
