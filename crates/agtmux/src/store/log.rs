//! Events to rows and back.
//!
//! The columns beside `body` repeat parts of it for queries. They are never read back: an event is its `seq`, `v`,
//! `ingested_at` and `body`, plus the payload for as long as that is kept.

use agtmux_core::event::{Event, FORMAT, Fact};
use agtmux_core::id::TargetName;
use agtmux_core::time::{Span, Timestamp};
use rusqlite::{Connection, Row, named_params};

use super::{audit, redact};

/// An event made ready for the log: redacted and encoded, so that writing it, and writing it again after a failed
/// group, is only a matter of binding columns.
pub(super) struct Entry {
    seq: u64,
    v: u32,
    at: Timestamp,
    kind: &'static str,
    target: Option<String>,
    runtime: Option<String>,
    signal: Option<SignalColumns>,
    /// The row of the audit chain that goes with it.
    audit: Option<String>,
    body: String,
}

/// What only signals have.
struct SignalColumns {
    event_id: String,
    source: &'static str,
    source_event_id: Option<String>,
    source_seq: Option<u64>,
    dedupe_key: String,
    event_time: Option<Timestamp>,
    payload: Option<Payload>,
}

struct Payload {
    raw: String,
    expires_at: Timestamp,
}

impl Entry {
    /// Redacts and encodes an event. A payload lives for `payload_life`; for no time at all, it is not kept.
    pub(super) fn new(mut event: Event, payload_life: Span) -> serde_json::Result<Self> {
        let payload = match &mut event.fact {
            Fact::Signal(signal) => signal.payload.take(),
            _ => None,
        };
        let body = redact::json(serde_json::to_string(&event.fact)?);
        Ok(Self {
            seq: event.seq,
            v: event.v,
            at: event.at,
            kind: kind(&event.fact),
            target: target(&event.fact).map(|target| target.as_str().to_owned()),
            runtime: event.fact.runtime().map(|runtime| runtime.as_str().to_owned()),
            signal: SignalColumns::of(&event.fact, payload, event.at, payload_life),
            audit: audit::body(&event, &body),
            body,
        })
    }

    /// The event's place in the log.
    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Writes the event, and what goes with it.
    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let signal = self.signal.as_ref();
        connection
            .prepare_cached(
                "INSERT INTO events (seq, v, event_type, target, runtime_id, event_id, source, source_event_id,
                     source_seq, dedupe_key, event_time, ingested_at, bind_status, body)
                 VALUES (:seq, :v, :event_type, :target, :runtime_id, :event_id, :source, :source_event_id,
                     :source_seq, :dedupe_key, :event_time, :ingested_at, :bind_status, :body)",
            )?
            .execute(named_params! {
                ":seq": integer(self.seq),
                ":v": self.v,
                ":event_type": self.kind,
                ":target": self.target,
                ":runtime_id": self.runtime,
                ":event_id": signal.map(|signal| &signal.event_id),
                ":source": signal.map(|signal| signal.source),
                ":source_event_id": signal.and_then(|signal| signal.source_event_id.as_ref()),
                ":source_seq": signal.and_then(|signal| signal.source_seq).map(integer),
                ":dedupe_key": signal.map(|signal| &signal.dedupe_key),
                ":event_time": signal.and_then(|signal| signal.event_time).map(|time| time.0),
                ":ingested_at": self.at.0,
                ":bind_status": signal.map(|_| "pending_bind"),
                ":body": self.body,
            })?;
        if let Some(body) = &self.audit {
            audit::append(connection, body)?;
        }
        if let Some(payload) = signal.and_then(|signal| signal.payload.as_ref()) {
            connection.prepare_cached("INSERT INTO payloads (seq, expires_at, raw) VALUES (?1, ?2, ?3)")?.execute((
                integer(self.seq),
                payload.expires_at.0,
                &payload.raw,
            ))?;
        }
        Ok(())
    }
}

impl SignalColumns {
    fn of(fact: &Fact, payload: Option<String>, at: Timestamp, payload_life: Span) -> Option<Self> {
        let Fact::Signal(signal) = fact else {
            return None;
        };
        Some(Self {
            event_id: redact::redact(signal.event_id.as_str()).into_owned(),
            source: signal.source.name(),
            source_event_id: signal.source_event_id.as_deref().map(|id| redact::redact(id).into_owned()),
            source_seq: signal.source_seq,
            dedupe_key: redact::redact(&signal.dedupe_key).into_owned(),
            event_time: signal.event_time,
            payload: payload
                .filter(|_| payload_life > Span(0))
                .map(|raw| Payload { raw: redact::redact(&raw).into_owned(), expires_at: at + payload_life }),
        })
    }
}

/// What [`decode`] reads of a row of `events`. The payload, or NULL, follows as one more column.
pub(super) const COLUMNS: &str = "events.seq, events.v, events.ingested_at, events.body";

/// A row of the log that could not be turned back into an event.
#[derive(Debug, thiserror::Error)]
#[error("event {seq} cannot be read: {why}")]
pub(super) struct Undecodable {
    pub(super) seq: u64,
    why: String,
}

/// Reads an event from [`COLUMNS`] and its payload. The outer error is SQLite's, the inner one the row's own.
pub(super) fn decode(row: &Row<'_>) -> rusqlite::Result<Result<Event, Undecodable>> {
    let seq = row.get::<_, i64>(0)?.cast_unsigned();
    let v: u32 = row.get(1)?;
    let at = Timestamp(row.get(2)?);
    if v > FORMAT {
        return Ok(Err(Undecodable { seq, why: format!("format {v} is newer than {FORMAT}") }));
    }
    let mut fact = match serde_json::from_str(row.get_ref(3)?.as_str()?) {
        Ok(fact) => fact,
        Err(error) => {
            return Ok(Err(Undecodable { seq, why: error.to_string() }));
        }
    };
    if let Fact::Signal(signal) = &mut fact {
        signal.payload = row.get(4)?;
    }
    Ok(Ok(Event { v, seq, at, fact }))
}

/// SQLite's integers are signed. No count of ours comes near the limit; one that did would be refused as a repeat.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The name of a fact in `event_type`, the same as in its body.
pub(super) fn kind(fact: &Fact) -> &'static str {
    match fact {
        Fact::PolicySet { .. } => "policy_set",
        Fact::TargetAdded { .. } => "target_added",
        Fact::TargetRemoved { .. } => "target_removed",
        Fact::TargetHealth { .. } => "target_health",
        Fact::ServerSeen { .. } => "server_seen",
        Fact::ServerGone { .. } => "server_gone",
        Fact::PanePlaced { .. } => "pane_placed",
        Fact::PaneGone { .. } => "pane_gone",
        Fact::RuntimeStarted { .. } => "runtime_started",
        Fact::ProcessChanged { .. } => "process_changed",
        Fact::RuntimeEnded { .. } => "runtime_ended",
        Fact::Signal(_) => "signal",
        Fact::Seen { .. } => "seen",
        Fact::Acknowledged { .. } => "acknowledged",
        Fact::Named { .. } => "named",
        Fact::Session { .. } => "session",
        Fact::Conversation { .. } => "conversation",
        Fact::IntentDone { .. } => "intent_done",
        Fact::Refused { .. } => "refused",
        Fact::Action(_) => "action",
        Fact::Mail(_) => "mail",
        Fact::Tick => "tick",
        Fact::Checkpoint { .. } => "checkpoint",
    }
}

/// The target that a fact names.
fn target(fact: &Fact) -> Option<&TargetName> {
    match fact {
        Fact::TargetAdded { target, .. }
        | Fact::TargetRemoved { target }
        | Fact::TargetHealth { target, .. }
        | Fact::ServerSeen { target, .. } => Some(target),
        Fact::Signal(signal) => Some(&signal.claim.target),
        Fact::PolicySet { .. }
        | Fact::ServerGone { .. }
        | Fact::PanePlaced { .. }
        | Fact::PaneGone { .. }
        | Fact::RuntimeStarted { .. }
        | Fact::ProcessChanged { .. }
        | Fact::RuntimeEnded { .. }
        | Fact::Named { .. }
        | Fact::Session { .. }
        | Fact::Conversation { .. }
        | Fact::Seen { .. }
        | Fact::Acknowledged { .. }
        | Fact::IntentDone { .. }
        | Fact::Refused { .. }
        | Fact::Action(_)
        | Fact::Mail(_)
        | Fact::Tick
        | Fact::Checkpoint { .. } => None,
    }
}
