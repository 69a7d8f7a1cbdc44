//! What the daemon's own readers bring: readings of hooks, files, streams and screens, made into signals with the whole
//! envelope.

use agtmux_agents::Reading;
use agtmux_core::id::{BootId, EventId};
use agtmux_core::signal::{Claim, SignalEvent, Source};
use agtmux_core::time::{Stamp, Timestamp};
use uuid::Uuid;

use super::ingest::{MESSAGE_LIMIT, PAYLOAD_LIMIT, bounded};
use crate::platform;
use crate::store::redact;

/// One trace of an agent and what it was read as.
#[derive(Clone, Debug)]
pub struct Said {
    /// Where it was found.
    pub source: Source,
    /// Whom it is about.
    pub claim: Claim,
    /// What the source calls the event, such as the name of a hook.
    pub event: Option<String>,
    /// Order within one runtime and source.
    pub source_seq: Option<u64>,
    /// When it was said, on this host's boot clock; now, unless the source stamped it.
    pub boot_ns: Option<u64>,
    /// The source's wall clock, for display only.
    pub event_time: Option<Timestamp>,
    /// What it says, in order.
    pub readings: Vec<Reading>,
    /// The raw trace; redacted and shortened before it is kept.
    pub payload: Option<String>,
}

impl Said {
    /// Something that was read just now, without a name or number of its own.
    pub fn now(source: Source, claim: Claim, readings: Vec<Reading>) -> Self {
        Self { source, claim, event: None, source_seq: None, boot_ns: None, event_time: None, readings, payload: None }
    }

    /// One signal per reading, all of one moment.
    pub fn into_signals(self) -> Vec<SignalEvent> {
        let now = platform::boot_clock_ns();
        // A stamp from the future would make everything said until then seem older.
        let emitted = Stamp { boot: BootId::new(platform::boot_id()), ns: self.boot_ns.map_or(now, |ns| ns.min(now)) };
        let payload = self.payload.as_deref().map(|payload| bounded(&redact::redact(payload), PAYLOAD_LIMIT));
        let Self { source, claim, event, source_seq, event_time, readings, .. } = self;
        let signal = |(place, reading): (usize, Reading)| {
            let event_id = Uuid::now_v7().to_string();
            SignalEvent {
                source,
                source_event_id: event.clone(),
                dedupe_key: reading.key.map_or_else(|| event_id.clone(), |key| format!("{key}#{place}")),
                event_id: EventId::new(event_id),
                source_seq,
                emitted: emitted.clone(),
                event_time,
                claim: claim.clone(),
                signal: reading.signal,
                message: reading.message.map(|message| bounded(&redact::redact(&message), MESSAGE_LIMIT)),
                // Once is enough.
                payload: payload.clone().filter(|_| place == 0),
            }
        };
        readings.into_iter().enumerate().map(signal).collect()
    }
}
