//! `send`: a text typed at an agent, so that it becomes a prompt and nothing else.
//!
//! One writer per pane. The composer is looked at right before the paste: it has the keyboard and is empty. The paste is made
//! inside tmux under a guard, and only while nobody types. At an agent at rest Enter comes with it, in the same command: whoever begins
//! to type that very moment is behind both. Elsewhere the composer has to show the text first, since the agent may ask something in
//! between, and then Enter is pressed, under the same guard. Enter may be pressed again where it was swallowed; a text is never
//! pasted twice (F46, F47, F54).
//!
//! An agent that runs in the wrapper is typed at by that ([`inject`]), which holds the keys of whoever types meanwhile.
//!
//! Whatever goes wrong before the paste refuses the action and nothing was typed. After it, the answer says how far the text
//! got and on what evidence.

mod aside;
mod inject;
mod interrupt;
mod paste;
mod stashes;
mod submit;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use agtmux_agents::key::Key;
use agtmux_agents::screen::Enter;
use agtmux_agents::send::{Body, Objection, SendRules, Shown};
use agtmux_core::action::{Actor, AimedAt, Conditions, Snapshot, Verb, Wish};
use agtmux_core::id::{ActionId, RuntimeId};
use agtmux_core::mail::{DeliveryId, MailFact, Mode};
use agtmux_tmux::act::Guard;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::{SendChannel, SendEffect, SendEvidence, SendRequest, SendStatus, Sent};

pub use aside::Manners;
pub use stashes::Stashes;

use super::aim::mark;
use super::look::Eye;
use super::{Done, Hands, Shim};
pub(super) use crate::daemon::delivery::agtmux_itself;
use crate::error::CommandError;
use paste::{DRAWN_PATIENCE, Pasted};

/// Types a text at an agent.
///
/// # Errors
/// Refused when the text or the agent is not fit for it; nothing was typed then.
pub async fn send(hands: &Hands, request: SendRequest, actor: Actor) -> Result<Sent, CommandError> {
    let SendRequest { aim, text, enter, raw } = request;
    let body = match Body::new(&text) {
        Ok(body) => body,
        Err(objection) => {
            let reference = aim.reference.or(aim.snapshot_id).unwrap_or_default();
            return Err(hands.refuse(Verb::Send, &reference, actor, objected(&objection)).await);
        }
    };
    let how = if enter { "and Enter" } else { "without Enter" };
    let detail = format!("{} bytes {how}", body.as_str().len());
    let letter = Letter { enter, raw, ..Letter::new(hands, body) };
    hands.carry_out(Verb::Send, aim, actor, detail, move |snapshot| letter.deliver(snapshot)).await
}

/// Types the first prompt at an agent that was just started. Whoever may start an agent may tell it what to do.
///
/// # Errors
/// Refused, with nothing typed; the agent may be ready for it a moment later.
pub async fn send_first(hands: &Hands, body: Body, runtime: &RuntimeId, actor: Actor) -> Result<Sent, CommandError> {
    let aim = Aim { reference: Some(format!("runtime:{runtime}")), ..Aim::default() };
    let detail = format!("the first prompt, {} bytes", body.as_str().len());
    let letter = Letter { spoken_patience: submit::FIRST_PATIENCE, ..Letter::new(hands, body) };
    hands.carry_out(Verb::Spawn, aim, actor, detail, move |snapshot| letter.deliver(snapshot)).await
}

/// Types messages at an agent, as the delivery of that id: asked again, nothing is typed twice.
///
/// # Errors
/// Refused, with nothing typed; or it is not known what came of it.
pub async fn send_mail(
    hands: &Hands,
    body: Body,
    runtime: &RuntimeId,
    manners: Manners,
    detail: String,
) -> Result<Sent, CommandError> {
    let actor = agtmux_itself();
    let wish = Wish {
        action: ActionId::new(manners.delivery.as_str()),
        verb: Verb::Send,
        reference: format!("runtime:{runtime}"),
        conditions: Conditions::default(),
        at: hands.handle.now(),
    };
    let letter = Letter { raw: manners.raw, manners: Some(manners), ..Letter::new(hands, body) };
    let is_typed = Arc::clone(&letter.may_be_typed);
    let sending = async {
        let snapshot = hands.handle.prepare(wish, actor.clone()).await?;
        let aim = Aim { snapshot_id: Some(snapshot.action.to_string()), ..Aim::default() };
        hands.carry_out(Verb::Send, aim, actor, detail, move |snapshot| letter.deliver(snapshot)).await
    };
    sending.await.map_err(|error| if is_typed.load(Ordering::Acquire) { error } else { untyped(error, could_not) })
}

/// Whatever went wrong, nothing was typed: what was to be typed can wait, for the reason that is made of what went wrong.
fn untyped(error: CommandError, reason: impl FnOnce(String) -> CommandError) -> CommandError {
    if error.code.is_refusal() { error } else { reason(error.message) }
}

fn could_not(why: String) -> CommandError {
    CommandError::new(ErrorCode::PreconditionFailed, why)
}

/// Submits messages that a daemon before this one has typed and not submitted. Nothing is typed.
///
/// # Errors
/// Refused unless the composer shows them and nothing else.
pub async fn submit_mail(hands: &Hands, body: Body, runtime: &RuntimeId, detail: String) -> Result<Sent, CommandError> {
    let aim = Aim { reference: Some(format!("runtime:{runtime}")), ..Aim::default() };
    let letter = Letter { is_typed: true, ..Letter::new(hands, body) };
    hands.carry_out(Verb::Send, aim, agtmux_itself(), detail, move |snapshot| letter.deliver(snapshot)).await
}

/// Types a person's text that was put aside where it was, without Enter. Where it is already it is left alone.
///
/// # Errors
/// Refused, with nothing typed, while something else is in the composer.
pub async fn put_back(hands: &Hands, text: &str, runtime: &RuntimeId) -> Result<(), CommandError> {
    let body = Body::new(text).map_err(|objection| objected(&objection))?;
    let aim = Aim { reference: Some(format!("runtime:{runtime}")), ..Aim::default() };
    let letter = Letter { enter: false, raw: true, unless_there: true, ..Letter::new(hands, body) };
    let detail = "a person's text that was put aside".to_owned();
    hands
        .carry_out(Verb::Send, aim, agtmux_itself(), detail, move |snapshot| letter.deliver(snapshot))
        .await
        .map(|_| ())
}

/// A text to be delivered.
struct Letter {
    hands: Hands,
    body: Body,
    enter: bool,
    raw: bool,
    /// What it may do to whoever is in its way, if it is a message.
    manners: Option<Manners>,
    /// It is not typed where it is already.
    unless_there: bool,
    /// It is in the composer already, and only to be submitted.
    is_typed: bool,
    /// Whether some of it may have been typed by now.
    may_be_typed: Arc<AtomicBool>,
    spoken_patience: Duration,
}

/// A pane that is ready to be typed at, held by its lock.
struct Desk {
    hands: Hands,
    body: Body,
    rules: SendRules,
    eye: Eye,
    guard: Guard,
    /// Type whatever the composer shows.
    force: bool,
    /// The wrapper that the agent runs in.
    shim: Option<Shim>,
    /// The action that this is.
    action: ActionId,
    /// It waits for a person who has just interrupted the agent: it is a message and not urgent.
    yields: bool,
    /// It goes to an agent at rest only, as far as this mode minds: it is for after the turn.
    awaits_rest: Option<Mode>,
    /// The delivery that this is, if it is one of messages; and whether the log says that it is started.
    delivery: Option<DeliveryId>,
    is_started: AtomicBool,
    /// Whether some of it may have been typed by now.
    may_be_typed: Arc<AtomicBool>,
    /// How long it is waited for a second sign that the text was taken.
    spoken_patience: Duration,
    /// A person's text that makes room for this one.
    away: Option<String>,
    /// That text as the wrapper has seen it being typed, and how many bytes of keys there were then.
    kept: Option<Body>,
    typed_at: Option<u64>,
    /// The keys that put it aside, as the wrapper presses them with the text.
    stash: Option<String>,
    /// What the wrapper presses behind Enter to bring it back, where the agent does not by itself.
    back: Option<String>,
    /// The key that brings it back.
    unstash: Option<Key>,
}

/// How far a text got after it was pasted.
struct Progress {
    status: SendStatus,
    evidence: Vec<SendEvidence>,
    enters: u32,
    detail: String,
}

impl Letter {
    fn new(hands: &Hands, body: Body) -> Self {
        let spoken_patience = submit::SPOKEN_PATIENCE;
        Self {
            hands: hands.clone(),
            body,
            enter: true,
            raw: false,
            manners: None,
            unless_there: false,
            is_typed: false,
            may_be_typed: Arc::default(),
            spoken_patience,
        }
    }

    async fn deliver(self, snapshot: Snapshot) -> Result<Done<Sent>, CommandError> {
        let aimed = snapshot.runtime.clone().ok_or_else(|| CommandError::internal("no agent to send to"))?;
        let rules = self.rules(&aimed)?;
        let _turn = self.hands.locks.lock(&snapshot.pane).await;
        // Whoever had the pane before may have changed what this was decided on.
        self.hands.recheck(&snapshot).await?;
        let mark = mark(&self.hands, &snapshot).await?;
        let eye = Eye::of(&mark.plain, &mark.guard, &aimed, &self.hands.manifests);
        let guard = Guard { out_of_mode: true, ..mark.guard };
        let bytes = u64::try_from(self.body.as_str().len()).unwrap_or(u64::MAX);
        let force = snapshot.conditions.force_stale;
        let (shim, channel_reason) = match Shim::of(&self.hands.shims, aimed.process).await {
            Some(shim) if rules.enter == "Enter" => (Some(shim), "the agent runs in the wrapper"),
            Some(_) => (None, "the wrapper submits by Enter alone, and this agent takes another key"),
            None => (None, "the agent does not run in the wrapper"),
        };
        let action = snapshot.action.clone();
        let spoken_patience = self.spoken_patience;
        let awaits_rest = self.manners.as_ref().and_then(|manners| manners.awaits_rest);
        let body = if self.raw && self.enter { rules.runnable(self.body) } else { self.body };
        let mut desk = Desk {
            hands: self.hands,
            body,
            rules,
            eye,
            guard,
            force,
            shim,
            action,
            yields: self.manners.as_ref().is_some_and(|manners| !manners.interrupts),
            awaits_rest,
            delivery: self.manners.as_ref().map(|manners| manners.delivery.clone()),
            is_started: AtomicBool::new(false),
            may_be_typed: self.may_be_typed,
            spoken_patience,
            away: None,
            kept: None,
            typed_at: None,
            stash: None,
            back: None,
            unstash: None,
        };
        if let Some(manners) = &self.manners {
            if manners.interrupts {
                desk.interrupt().await?;
            }
            if let Err(error) = desk.make_room(manners).await {
                desk.bring_back().await;
                return Err(error);
            }
        }
        let (pasted, progress) = if self.unless_there && desk.is_there().await {
            (Pasted::before(), Progress::typed())
        } else if self.is_typed {
            let pasted = desk.find().await?;
            let progress = desk.submit(&pasted).await;
            (pasted, progress)
        } else {
            let pasted = desk.type_in(self.enter).await?;
            let progress = desk.follow(&pasted, self.enter).await;
            (pasted, progress)
        };
        // What was cleared comes back by an action of its own.
        if self.unless_there || desk.stash.is_some() || desk.unstash.is_some() {
            desk.tell_restored().await;
        }
        let channel = if desk.shim.is_some() { SendChannel::Wrapper } else { SendChannel::Tmux };
        let result = format!("{}: {}", progress.status.name(), progress.detail);
        let answer = Sent {
            schema_version: SCHEMA_VERSION,
            action_id: snapshot.action.to_string(),
            pane_id: snapshot.pane.pane.to_string(),
            runtime_id: aimed.runtime.to_string(),
            agent: aimed.agent.to_string(),
            status: progress.status,
            effect: pasted.effect.filter(|_| progress.status == SendStatus::Submitted),
            evidence: progress.evidence,
            channel,
            channel_reason: channel_reason.to_owned(),
            bytes,
            enters: progress.enters,
            detail: progress.detail,
        };
        Ok(Done { answer, result })
    }

    /// How text is typed at this agent, if this text can be.
    fn rules(&self, aimed: &AimedAt) -> Result<SendRules, CommandError> {
        let registry = self.hands.manifests.now();
        let manifest = registry.get(aimed.agent.as_str());
        let Some(manifest) = manifest.filter(|manifest| manifest.composer.is_some()) else {
            let message = format!("it is not known what the composer of {} looks like", aimed.agent);
            return Err(CommandError::new(ErrorCode::PreconditionFailed, message)
                .hint("describe it in a manifest of your own; docs/agents.md says how"));
        };
        let rules = &manifest.send;
        let objection = rules.obstacle(&self.body);
        let objection = objection.or_else(|| if self.raw { None } else { rules.objection(&self.body) });
        objection.map_or_else(|| Ok(rules.clone()), |objection| Err(objected(&objection)))
    }
}

impl Desk {
    /// Has the text typed, once.
    async fn type_in(&mut self, enter: bool) -> Result<Pasted, CommandError> {
        let typed = match &self.shim {
            Some(shim) => self.inject(shim, &self.action, enter).await,
            None => self.paste(enter).await,
        };
        match &typed {
            // Nothing was pressed; or all of it was, and what was cleared is back.
            Err(error) if self.back.is_some() && error.code.is_refusal() => self.stayed().await,
            Ok(pasted) if self.back.is_some() && pasted.enters > 0 => self.stayed().await,
            Err(_) => self.bring_back().await,
            Ok(_) => {}
        }
        typed
    }

    /// Logs that a delivery is started. The first byte follows at once: from here on a crash cannot tell whether it was typed.
    ///
    /// # Errors
    /// Refused when nobody wants it any more, or it cannot be logged; nothing was typed.
    async fn start(&self) -> Result<(), CommandError> {
        let Some(delivery) = self.delivery.clone().filter(|_| !self.is_started.load(Ordering::Acquire)) else {
            return Ok(());
        };
        let (runtime, yields) = (self.eye.aimed.runtime.clone(), self.yields);
        let interrupted =
            self.hands.handle.read(move |world| world.engine.interrupted_until(&runtime).filter(|_| yields));
        if interrupted.await?.is_some() {
            return Err(could_not(format!("a person has just interrupted {}", self.eye.aimed.runtime)));
        }
        let started = self.hands.handle.mail_step(MailFact::Started { delivery }).await;
        started.map_err(|error| untyped(error, |why| could_not(format!("it could not be logged: {why}"))))?;
        self.is_started.store(true, Ordering::Release);
        Ok(())
    }

    /// The text as somebody else has left it in the composer.
    async fn find(&self) -> Result<Pasted, CommandError> {
        let seen = self.eye.look().await?;
        let is_it = seen.composer.draft.as_deref().is_some_and(|draft| self.rules.shows_itself(&self.body, draft));
        if !is_it || seen.composer.enter != Enter::AppendToDraft {
            let message = format!("the composer of {} does not show it", self.eye.aimed.runtime);
            return Err(CommandError::new(ErrorCode::PreconditionFailed, message).hint("nothing was pressed"));
        }
        Ok(Pasted { queued: seen.composer.queued, before: self.position().await, ..Pasted::before() })
    }

    /// Whether the composer shows the text, and nothing else. What it folds or breaks the wrapper may have seen being typed.
    async fn is_there(&self) -> bool {
        let Some(draft) = self.eye.look().await.ok().and_then(|seen| seen.composer.draft) else { return false };
        let text = self.body.as_str();
        if draft == text {
            return true;
        }
        let typed = match &self.shim {
            Some(shim) => shim.typed().await.ok().flatten(),
            None => None,
        };
        self.rules.shown(&self.body, &draft) == Shown::Whole && typed.is_some_and(|(typed, _)| typed == text)
    }

    /// What becomes of a text that was pasted.
    async fn follow(&self, pasted: &Pasted, enter: bool) -> Progress {
        if pasted.enters > 0 {
            return self.submit(pasted).await;
        }
        match self.seen(DRAWN_PATIENCE).await {
            Ok(()) if enter => self.submit(pasted).await,
            Ok(()) => Progress::typed(),
            Err(why) if enter => {
                Progress::unconfirmed(Vec::new(), 0, format!("it was pasted, and Enter was not pressed: {why}"))
            }
            Err(why) => Progress::unconfirmed(Vec::new(), 0, format!("it was pasted: {why}")),
        }
    }
}

impl Hands {
    /// Whether what an action was decided on is still so.
    pub(super) async fn recheck(&self, snapshot: &Snapshot) -> Result<(), CommandError> {
        let (snapshot, now) = (snapshot.clone(), self.handle.now());
        let checked = self.handle.read(move |world| world.engine.recheck(&snapshot, now)).await?;
        checked.map_err(CommandError::from)
    }
}

impl Progress {
    fn typed() -> Self {
        Self {
            status: SendStatus::Typed,
            evidence: vec![SendEvidence::InComposer],
            enters: 0,
            detail: "the composer shows it; it was not to be submitted".to_owned(),
        }
    }

    fn unconfirmed(evidence: Vec<SendEvidence>, enters: u32, detail: String) -> Self {
        Self { status: SendStatus::Unconfirmed, evidence, enters, detail }
    }
}

/// What the agent does with a text that is submitted now.
fn effect(enter: Enter) -> Option<SendEffect> {
    match enter {
        Enter::Submit => Some(SendEffect::Starts),
        Enter::Queue => Some(SendEffect::Queued),
        Enter::Steer => Some(SendEffect::Steers),
        _ => None,
    }
}

/// The refusal that an objection means.
pub fn objected(objection: &Objection) -> CommandError {
    let code = match objection {
        Objection::TooLong { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::BadText,
    };
    CommandError::new(code, objection.to_string()).hint(objection.hint())
}
