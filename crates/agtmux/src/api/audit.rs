//! `GET /v1/audit` and `GET /v1/audit/verify`.

use agtmux_core::action::{Actor, Conditions, Step};
use agtmux_core::id::ActionId;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::audit::{AuditActor, AuditGuard, AuditHead, AuditItem, AuditList, AuditVerdict};
use agtmux_wire::error::ErrorCode;
use axum::extract::{Path, State};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Api;
use super::actions::snapshots;
use super::answer::{Answer, Json, Params};
use super::convert::time;
use crate::error::CommandError;
use crate::store::Audited;

/// How many actions one answer holds at most.
const MOST: u32 = 1_000;

/// Query parameters of `GET /v1/audit`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct AuditQuery {
    /// At most so many; 100 unless given, 1,000 at most.
    limit: Option<u32>,
}

/// Query parameters of `GET /v1/audit/verify`.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct VerifyQuery {
    /// A hash that was kept and should still be in the chain.
    head: Option<String>,
}

pub async fn list(State(api): State<Api>, Params(query): Params<AuditQuery>) -> Answer<AuditList> {
    let limit = query.limit.unwrap_or(100).clamp(1, MOST) as usize;
    let log = api.handle.log().clone();
    let reading = tokio::task::spawn_blocking(move || log.audit(limit));
    let actions = reading.await.map_err(CommandError::internal)?.map_err(CommandError::from)?;
    Ok(Json(AuditList {
        schema_version: SCHEMA_VERSION,
        generated_at: jiff::Timestamp::now().to_string(),
        items: actions.iter().filter_map(item).collect(),
    }))
}

/// What became of one action: for whoever lost the answer to it.
pub async fn action(State(api): State<Api>, Path(id): Path<String>) -> Answer<AuditItem> {
    let (log, wanted) = (api.handle.log().clone(), ActionId::new(id.clone()));
    let reading = tokio::task::spawn_blocking(move || log.action(&wanted));
    let found = reading.await.map_err(CommandError::internal)?.map_err(CommandError::from)?;
    let found = found.as_ref().and_then(item).ok_or_else(|| {
        CommandError::new(ErrorCode::RefNotFound, format!("no action {id} was ever begun"))
            .hint("`agtmux events --audit` shows those that were")
    })?;
    Ok(Json(found))
}

pub async fn verify(State(api): State<Api>, Params(query): Params<VerifyQuery>) -> Answer<AuditVerdict> {
    let kept = query.head.map(|hash| hash.trim().to_ascii_lowercase());
    if let Some(hash) = &kept
        && (hash.len() != 64 || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()))
    {
        return Err(CommandError::new(ErrorCode::Usage, format!("{hash:?} is no hash of the audit chain"))
            .hint("it has 64 hexadecimal digits, as `agtmux audit verify` prints it")
            .into());
    }
    let log = api.handle.log().clone();
    let asked = kept.clone();
    let reading = tokio::task::spawn_blocking(move || log.verify_audit(asked.as_deref()));
    let found = reading.await.map_err(CommandError::internal)?.map_err(CommandError::from)?;
    let lost = kept.filter(|_| found.kept.is_none()).map(|hash| {
        format!(
            "no row has the hash {hash}: the end was cut off, the chain was made anew, or rows of that age are gone"
        )
    });
    let broken = found.broken.map(|broken| broken.why).or(lost);
    Ok(Json(AuditVerdict {
        whole: broken.is_none(),
        rows: found.rows,
        first: found.first,
        head: found.head.map(|(n, hash)| AuditHead { n, hash }),
        broken,
        kept: found.kept,
    }))
}

/// An action for the wire: its steps made into one story.
fn item(action: &Audited) -> Option<AuditItem> {
    let (first, last) = (action.steps.first()?, action.steps.last()?);
    let mut item = AuditItem {
        action_id: action.action.to_string(),
        at: time(first.at),
        actor: actor(&last.fact.actor),
        verb: None,
        reference: None,
        guard: None,
        snapshot: None,
        outcome: String::new(),
        code: None,
        detail: None,
        text: None,
        ended_at: time(last.at),
        n: last.n,
        hash: last.hash.clone(),
    };
    for step in &action.steps {
        item.outcome = step.fact.step.name().to_owned();
        match &step.fact.step {
            Step::Prepared { snapshot } => {
                item.verb = Some(snapshot.verb.name().to_owned());
                item.reference = Some(snapshot.reference.clone());
                item.guard = Some(guard(&snapshot.conditions));
                item.snapshot = Some(snapshots::item(snapshot));
            }
            Step::Permitted { verb, reference } => {
                item.verb = Some(verb.name().to_owned());
                item.reference = Some(reference.clone());
            }
            Step::Started { detail } => item.detail = Some(detail.clone()),
            Step::Done { result } => item.text = Some(result.clone()),
            Step::Failed { code, message } => {
                item.code = Some(code.clone());
                item.text = Some(message.clone());
            }
            Step::Refused { verb, reference, code, message } => {
                item.verb = Some(verb.name().to_owned());
                item.reference.get_or_insert(reference.clone());
                item.code = Some(code.clone());
                item.text = Some(message.clone());
            }
        }
    }
    Some(item)
}

fn actor(actor: &Actor) -> AuditActor {
    AuditActor {
        uid: actor.uid,
        pid: actor.pid,
        program: actor.program.clone(),
        runtime_id: actor.agent.as_ref().map(ToString::to_string),
        known_by: actor.known_by.map(|proof| proof.name().to_owned()),
    }
}

fn guard(conditions: &Conditions) -> AuditGuard {
    AuditGuard {
        if_runtime: conditions.runtime.clone(),
        if_state: conditions.state.map(|state| state.name().to_owned()),
        if_updated_within_ms: conditions.updated_within.map(|span| span.0.max(0).cast_unsigned()),
        if_prompt: conditions.prompt.clone(),
        force_stale: conditions.force_stale,
    }
}
