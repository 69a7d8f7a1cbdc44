//! A person's text in the composer makes room for a message, and comes back.
//!
//! Where the agent keeps it itself (a stash), nothing can be lost. Elsewhere it is read off the screen, written to the disk and only
//! then cleared; it is typed again once the message is in, also by the next daemon should this one die meanwhile. The
//! screen does not show several lines or a fold exactly. The wrapper may know such a text, since it has seen every key since the
//! composer was empty; it then clears it by as many backspaces. A text that neither knows exactly is never touched: the message
//! waits, and the sender is told why.
//!
//! Whoever comes back that very moment may send it, or write on. So the screen is looked at once more, and the keys that clear are
//! pressed all at once and only if nobody has typed since before that look: tmux compares that itself, or the wrapper does.

use std::time::Duration;

use agtmux_agents::aside::AsideRules;
use agtmux_agents::key::Key;
use agtmux_agents::screen::{Cursor, Enter, Screen};
use agtmux_agents::send::{Body, Paste, Shown};
use agtmux_core::mail::{Aside, DeliveryId, Draft, MailFact, Mode};
use agtmux_core::time::Span;
use agtmux_shim::protocol::{Busy, Inject};
use agtmux_tmux::act::{Acted, Mismatch, guarded};
use agtmux_tmux::{Command, Script, attach};
use agtmux_wire::error::ErrorCode;
use tokio::time::{Instant, sleep};

use super::inject::{ENTER, uncertain, unreachable};
use super::paste::{PAUSE, QUIET, QUIET_PATIENCE};
use super::{Desk, untyped};
use crate::act::aim::{STEP_DEADLINE, act_failed, missed};
use crate::act::shim::{Injected, Shim};
use crate::error::CommandError;

/// How long an agent may take to clear its composer.
const CLEAR_PATIENCE: Duration = Duration::from_secs(2);

/// What those are told who see the pane.
const RESTORED: &str = "agtmux: the text in the composer was put aside while a message was delivered, and is back";

/// What is between these is a paste, to a program that has asked to be told of them.
const PASTE_BEGIN: &str = "\u{1b}[200~";
const PASTE_END: &str = "\u{1b}[201~";

/// What removes the character before the cursor, and how many of them one text may take.
const BACKSPACE: &str = "\u{7f}";
const MOST_BACKSPACES: usize = 2_000;

/// What a message may do to whoever is in its way.
#[derive(Clone, Debug)]
pub struct Manners {
    /// The delivery.
    pub delivery: DeliveryId,
    /// A turn under way is interrupted for it.
    pub interrupts: bool,
    /// It is for after the turn, whenever that has begun: the mode that the agent has to be at rest for.
    pub awaits_rest: Option<Mode>,
    /// What may be done to a person's text.
    pub aside: Aside,
    /// When a text that is in the way is looked at again.
    pub again: Span,
    /// It is typed though the agent would run it.
    pub raw: bool,
}

impl Desk {
    /// Makes room for a message if somebody's text is in the way and may be put aside; else it is noted what is in the way, and whoever
    /// types finds it there.
    ///
    /// # Errors
    /// Refused when the text could not be put aside.
    pub(super) async fn make_room(&mut self, manners: &Manners) -> Result<(), CommandError> {
        let Some((draft, screen, cursor)) = self.draft().await? else { return Ok(()) };
        let delivery = manners.delivery.clone();
        let registry = self.eye.manifests.now();
        let rules = registry.get(self.eye.aimed.agent.as_str()).and_then(|manifest| manifest.aside.clone());
        let rules = rules.filter(|rules| rules.can_take(&draft, &screen, cursor, &self.rules));
        let stash_works = self.hands.stashes.work(&self.eye.aimed.runtime);
        let rules = match rules {
            Some(AsideRules::Clear { .. }) if !self.can_mind_keys().await => None,
            Some(AsideRules::Stash { .. }) if stash_works == Some(false) => None,
            rules => rules,
        };
        if !manners.aside.allows(&draft) {
            return self.is_in_the_way(manners, &draft, None).await;
        }
        match rules {
            None => {
                let Some((clear, back, text)) = self.typed_by_hand(&draft).await else {
                    let stuck = stuck(&draft, self.shim.is_some());
                    return self.is_in_the_way(manners, &draft, Some(stuck)).await;
                };
                let kept = self.hands.handle.put_mail_aside(delivery, text).await;
                kept.map_err(|error| unkept(&error))?;
                self.away = Some(draft);
                (self.stash, self.back) = (Some(clear), Some(back));
            }
            Some(AsideRules::Stash { stash, .. }) => {
                self.away = Some(draft);
                // The wrapper presses it together with the text, while it holds the person's keys, where the key is known to do that.
                match (&self.shim, stash.bytes()) {
                    (Some(_), Some(bytes)) if stash_works == Some(true) => self.stash = Some(bytes),
                    _ => self.stash_and_look(stash).await?,
                }
            }
            Some(AsideRules::Clear { clear }) => {
                let kept = self.hands.handle.put_mail_aside(delivery, draft.clone()).await;
                kept.map_err(|error| unkept(&error))?;
                let held = self.held_back(&clear, &draft).await;
                self.away = Some(draft);
                match held {
                    Some((clear, back)) => (self.stash, self.back) = (Some(clear), Some(back)),
                    None => {
                        let cleared = self.clear(&clear).await;
                        if cleared.as_ref().is_err_and(|error| error.code.is_refusal()) {
                            // It was not cleared: whoever wrote it goes on with it, or has sent it.
                            self.stayed().await;
                        }
                        cleared.map_err(|error| untyped(error, unclear))?;
                        self.emptied().await?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Has the agent put the text aside, and looks whether it does.
    async fn stash_and_look(&mut self, stash: Key) -> Result<(), CommandError> {
        let pressed = self.clear(std::slice::from_ref(&stash)).await;
        // Unless that was refused it may be with the agent now, and is brought back whatever comes next.
        let is_refused = pressed.as_ref().is_err_and(|error| error.code.is_refusal());
        self.unstash = Some(stash).filter(|_| !is_refused);
        pressed.map_err(|error| untyped(error, unclear))?;
        let emptied = self.emptied().await;
        self.hands.stashes.keep(&self.hands.handle.roster().borrow());
        self.hands.stashes.note(&self.eye.aimed.runtime, emptied.is_ok());
        emptied
    }

    /// Logs the draft that is in the way, and why it can never make room if it cannot.
    async fn is_in_the_way(&self, manners: &Manners, draft: &str, stuck: Option<String>) -> Result<(), CommandError> {
        let (delivery, digest) = (manners.delivery.clone(), Draft::digest_of(draft));
        let seen = MailFact::InTheWay { delivery, digest, again: manners.again, stuck };
        self.hands.handle.mail_step(seen).await.map_err(|error| unkept(&error))
    }

    /// What the wrapper presses to clear a text that it has seen being typed, what to bring it back, and the text itself. None unless
    /// the wrapper is certain of it, and the screen agrees.
    async fn typed_by_hand(&mut self, draft: &str) -> Option<(String, String, String)> {
        let shim = self.shim.as_ref()?;
        let status = shim.status().await.ok()?;
        let (text, input) = shim.typed().await.ok()??;
        let body = Body::new(&text).ok().filter(|body| body.as_str() == text)?;
        let keys = text.chars().count();
        let back = format!("{PASTE_BEGIN}{text}{PASTE_END}");
        let fits = keys <= MOST_BACKSPACES && ENTER.len() + back.len() <= status.keys_limit();
        let is_told = self.rules.paste == Paste::Bracketed && status.paste_mode;
        let is_it = self.rules.shown(&body, draft) == Shown::Whole;
        if !(fits && is_told && is_it && status.input == input) {
            return None;
        }
        self.typed_at = Some(input);
        self.kept = Some(body);
        Some((BACKSPACE.repeat(keys), back, text))
    }

    /// What the wrapper presses to clear the composer, and to bring the text back with the Enter of the message: in one go, with the
    /// person's keys held throughout, so that whoever comes back that very moment writes on behind their own text. None where the wrapper
    /// cannot do that.
    async fn held_back(&self, clear: &[Key], draft: &str) -> Option<(String, String)> {
        let shim = self.shim.as_ref()?;
        let clear: String = clear.iter().map(Key::bytes).collect::<Option<_>>()?;
        let back = format!("{PASTE_BEGIN}{draft}{PASTE_END}");
        let status = shim.status().await.ok()?;
        let fits = clear.len() + ENTER.len() + back.len() <= status.keys_limit() && !draft.contains(char::is_control);
        let is_told = self.rules.paste == Paste::Bracketed && status.paste_mode;
        (fits && is_told).then_some((clear, back))
    }

    /// Whether it can be known that nobody has typed when the keys that clear are pressed. A wrapper lives as long as its agent, and one
    /// from before it minded that could clear what was just sent: it would be there once more.
    async fn can_mind_keys(&self) -> bool {
        match &self.shim {
            Some(shim) => shim.status().await.is_ok_and(|status| status.knows_what_stands()),
            None => true,
        }
    }

    /// Clears the composer of the text that was kept, and of nothing else.
    ///
    /// # Errors
    /// Refused, with nothing pressed, if somebody types; else it is not known whether it was cleared.
    async fn clear(&mut self, keys: &[Key]) -> Result<(), CommandError> {
        let bytes: Option<String> = keys.iter().map(Key::bytes).collect();
        match (&self.shim, bytes) {
            (Some(shim), Some(bytes)) => self.clear_held(shim, bytes).await,
            _ => self.clear_quiet(keys).await,
        }
    }

    async fn clear_held(&self, shim: &Shim, bytes: String) -> Result<(), CommandError> {
        let id = format!("{}-clear", self.action);
        let started = Instant::now();
        loop {
            let status = shim.status().await.map_err(|error| unreachable(&error))?;
            let is_drawn = status.input_age_ms.is_none_or(|age| u128::from(age) >= QUIET.as_millis());
            if !is_drawn {
                return Err(self.is_typed_at());
            }
            self.still_shows_it().await?;
            let inject = Inject {
                id: id.clone(),
                submit: bytes.clone(),
                delay_ms: 0,
                even_if_draft: true,
                // An older wrapper does not mind that. It is asked for a stash alone, which keeps whatever was typed meanwhile.
                if_input: status.knows_what_stands().then_some(status.input),
                if_output: Some(status.output),
                ..Inject::default()
            };
            match shim.inject(&inject, b"").await {
                Ok(Injected::Submitted | Injected::UnderWay(_)) => return Ok(()),
                Ok(Injected::Busy(Busy::Modal | Busy::Hold)) if started.elapsed() < QUIET_PATIENCE => {}
                Ok(Injected::Busy(_) | Injected::Refused(_)) => return Err(self.is_typed_at()),
                Err(error) => return Err(uncertain(&error)),
            }
            sleep(PAUSE).await;
        }
    }

    async fn clear_quiet(&mut self, keys: &[Key]) -> Result<(), CommandError> {
        let started = Instant::now();
        loop {
            let quiet_since = jiff::Timestamp::now().as_second() - i64::try_from(QUIET.as_secs()).unwrap_or(0);
            self.guard.quiet_since = Some(quiet_since);
            self.still_shows_it().await?;
            let press = Command::new("send-keys").target(self.guard.pane);
            let press = keys.iter().fold(press, |press, key| press.arg(key.name()));
            match guarded(&self.eye.plain, &self.guard, &Script::from(&press), &Script::new(), STEP_DEADLINE).await {
                Ok(Acted::Done(_)) => return Ok(()),
                Ok(Acted::Refused(Mismatch::NotQuiet)) if started.elapsed() < QUIET_PATIENCE => {}
                Ok(Acted::Refused(mismatch)) => return Err(missed(&mismatch)),
                Err(error) => return Err(act_failed(&error)),
            }
            sleep(QUIET / 8).await;
        }
    }

    /// What would be cleared is what was kept, to the last key.
    async fn still_shows_it(&self) -> Result<(), CommandError> {
        let seen = self.eye.look().await?;
        let is_it = seen.composer.enter == Enter::AppendToDraft && seen.composer.draft == self.away;
        if is_it { Ok(()) } else { Err(self.is_typed_at()) }
    }

    /// What was to be put aside is where it was: it was never cleared, or came back with the message.
    pub(super) async fn stayed(&mut self) {
        let back = MailFact::PutBack { runtime: self.eye.aimed.runtime.clone() };
        self.hands.handle.log_delivery(&back).await;
    }

    /// Brings back what was stashed for a message that could not be typed.
    pub(super) async fn bring_back(&mut self) {
        let Some(key) = self.unstash.take() else { return };
        let is_empty = self.eye.look().await.is_ok_and(|seen| seen.composer.draft.is_none());
        // In a composer with a text in it the key would put that aside too.
        if is_empty && let Err(error) = self.strike(&[&key], 0, "unstash").await {
            tracing::warn!(%error, "a text that was put aside comes back with the next prompt only");
        }
    }

    /// Whoever sees the pane learns why somebody's text went and came back.
    pub(super) async fn tell_restored(&self) {
        if self.hands.mail.tell_restored
            && let Err(error) = attach::tell(&self.eye.plain, self.guard.pane, RESTORED, STEP_DEADLINE).await
        {
            tracing::debug!(%error, "nobody could be told that a text is back");
        }
    }

    /// Somebody's text, if three looks in a row agree on it: half a picture can look like one.
    async fn draft(&self) -> Result<Option<(String, Screen, Option<Cursor>)>, CommandError> {
        let mut known: Option<(String, Screen, Option<Cursor>)> = None;
        for _ in 0..3 {
            let (seen, screen, cursor) = self.eye.see().await?;
            let draft = seen.composer.draft.filter(|_| seen.composer.enter == Enter::AppendToDraft);
            match (draft, known) {
                (None, _) => return Ok(None),
                (Some(draft), Some((before, ..))) if draft != before => return Ok(None),
                (Some(draft), _) => known = Some((draft, screen, cursor)),
            }
            sleep(PAUSE).await;
        }
        Ok(known)
    }

    async fn emptied(&self) -> Result<(), CommandError> {
        let started = Instant::now();
        while started.elapsed() < CLEAR_PATIENCE {
            if self.eye.look().await?.composer.draft.is_none() {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        let message = format!("the text in the composer of {} could not be put aside", self.eye.aimed.runtime);
        Err(CommandError::new(ErrorCode::Draft, message).hint("let whoever wrote it send it or clear it"))
    }
}

/// Why a text cannot make room by itself.
fn stuck(draft: &str, is_wrapped: bool) -> String {
    let what = if draft.contains('\n') {
        "its lines cannot be told from broken ones"
    } else {
        "the screen does not show it exactly"
    };
    let who = if is_wrapped { ", and the wrapper has not seen all of it being typed" } else { "" };
    format!("{what}{who}")
}

/// Nobody knows whether the composer was cleared for a message of which nothing was typed.
fn unclear(why: String) -> CommandError {
    let message = format!("whether the text in the composer was put aside is not known: {why}");
    CommandError::new(ErrorCode::Draft, message).hint("it waits until the composer can be read again")
}

/// Nothing was pressed yet, so that the message can wait on, whatever is wrong with the log.
fn unkept(error: &CommandError) -> CommandError {
    let message = format!("a text is in the composer, and it could not be kept what becomes of it: {}", error.message);
    CommandError::new(ErrorCode::Draft, message)
}
