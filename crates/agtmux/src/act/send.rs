//! `send`: a text typed at an agent, so that it becomes a prompt and nothing else.
//!
//! One writer per pane. The composer is looked at right before the paste: it has the keyboard and is empty. The paste is made
//! inside tmux under a guard, and only while nobody types. Then the composer shows the text, and only then is Enter pressed, under
//! the same guard. Enter may be pressed again where it was swallowed; a text is never pasted twice (F46, F47, F54).
//!
//! Whatever goes wrong before the paste refuses the action and nothing was typed. After it, the answer says how far the text
//! got and on what evidence.

mod paste;
mod submit;

use agtmux_agents::send::{Body, Objection, SendRules};
use agtmux_core::action::{Actor, AimedAt, Snapshot, Verb};
use agtmux_core::id::ActionId;
use agtmux_core::time::Timestamp;
use agtmux_tmux::act::Guard;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::send::{SendChannel, SendEffect, SendEvidence, SendRequest, SendStatus, Sent};
use uuid::Uuid;

use super::aim::mark;
use super::look::Eye;
use super::{Done, Hands};
use crate::daemon::actions;
use crate::error::CommandError;

/// Types a text at an agent.
///
/// # Errors
/// Refused when the text or the agent is not fit for it; nothing was typed then.
pub async fn send(hands: &Hands, request: SendRequest, actor: Actor) -> Result<Sent, CommandError> {
    let SendRequest { aim, text, enter, raw } = request;
    let body = match Body::new(&text) {
        Ok(body) => body,
        Err(objection) => {
            let error = objected(&objection);
            let reference = aim.reference.or(aim.snapshot_id).unwrap_or_default();
            let action = ActionId::new(format!("act_{}", Uuid::new_v4().simple()));
            let step = actions::refused(Verb::Send, &reference, &error);
            hands.handle.note(action, actor, step).await.ok();
            return Err(error);
        }
    };
    let how = if enter { "and Enter" } else { "without Enter" };
    let detail = format!("{} bytes {how}", body.as_str().len());
    let letter = Letter { hands: hands.clone(), body, enter, raw };
    hands.carry_out(Verb::Send, aim, actor, detail, move |snapshot| letter.deliver(snapshot)).await
}

/// A text to be delivered.
struct Letter {
    hands: Hands,
    body: Body,
    enter: bool,
    raw: bool,
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
}

/// How far a text got after it was pasted.
struct Progress {
    status: SendStatus,
    evidence: Vec<SendEvidence>,
    enters: u32,
    detail: String,
}

impl Letter {
    async fn deliver(self, snapshot: Snapshot) -> Result<Done<Sent>, CommandError> {
        let aimed = snapshot.runtime.clone().ok_or_else(|| CommandError::internal("no agent to send to"))?;
        let rules = self.rules(&aimed)?;
        let _turn = self.hands.locks.lock(&snapshot.pane).await;
        // Whoever had the pane before may have changed what this was decided on.
        self.hands.recheck(&snapshot).await?;
        let mark = mark(&self.hands, &snapshot).await?;
        let eye = Eye {
            plain: mark.plain,
            pane: mark.guard.pane,
            aimed: aimed.clone(),
            manifests: self.hands.manifests.clone(),
        };
        let guard = Guard { out_of_mode: true, ..mark.guard };
        let bytes = u64::try_from(self.body.as_str().len()).unwrap_or(u64::MAX);
        let force = snapshot.conditions.force_stale;
        let mut desk = Desk { hands: self.hands, body: self.body, rules, eye, guard, force };
        let pasted = desk.paste().await?;
        let progress = match desk.seen().await {
            Ok(()) if self.enter => desk.submit(&pasted).await,
            Ok(()) => Progress {
                status: SendStatus::Typed,
                evidence: vec![SendEvidence::InComposer],
                enters: 0,
                detail: "the composer shows it; it was not to be submitted".to_owned(),
            },
            Err(why) => Progress {
                status: SendStatus::Unconfirmed,
                evidence: Vec::new(),
                enters: 0,
                detail: format!("it was pasted, and Enter was not pressed: {why}"),
            },
        };
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
            channel: SendChannel::Tmux,
            channel_reason: "the agent does not run in the wrapper".to_owned(),
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

impl Hands {
    /// Whether what an action was decided on is still so.
    async fn recheck(&self, snapshot: &Snapshot) -> Result<(), CommandError> {
        let snapshot = snapshot.clone();
        let now = Timestamp(jiff::Timestamp::now().as_millisecond());
        let checked = self.handle.read(move |world| world.engine.recheck(&snapshot, now)).await?;
        checked.map_err(CommandError::from)
    }
}

impl Progress {
    fn unconfirmed(evidence: Vec<SendEvidence>, enters: u32, detail: String) -> Self {
        Self { status: SendStatus::Unconfirmed, evidence, enters, detail }
    }
}

/// What the agent does with a text that is submitted now.
fn effect(enter: agtmux_agents::screen::Enter) -> Option<SendEffect> {
    use agtmux_agents::screen::Enter;
    match enter {
        Enter::Submit => Some(SendEffect::Starts),
        Enter::Queue => Some(SendEffect::Queued),
        Enter::Steer => Some(SendEffect::Steers),
        _ => None,
    }
}

fn objected(objection: &Objection) -> CommandError {
    let code = match objection {
        Objection::TooLong { .. } => ErrorCode::TooLarge,
        _ => ErrorCode::BadText,
    };
    CommandError::new(code, objection.to_string()).hint(objection.hint())
}
