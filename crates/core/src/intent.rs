//! Wanted effects, read off the state. The shell carries them out and reports each as `IntentDone`; until then, and as
//! long as the state wants them, they are in the outbox, after a restart too. Nothing is sent by replaying a log.

use crate::attention::CallKind;
use crate::id::{IntentId, PaneKey, RuntimeId};
use crate::runtime::Runtime;
use crate::state::Confidence;

/// A wanted effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Tell the person that a runtime calls.
    Notify {
        /// Stable: `notify:<runtime>:<nudge_seq>`.
        id: IntentId,
        /// Who calls.
        runtime: RuntimeId,
        /// Where.
        pane: PaneKey,
        /// Which of its calls.
        nudge_seq: u64,
        /// For what.
        kind: CallKind,
        /// How sure that is.
        confidence: Confidence,
        /// In its words.
        message: Option<String>,
    },
}

impl Intent {
    /// Its id.
    pub fn id(&self) -> &IntentId {
        match self {
            Self::Notify { id, .. } => id,
        }
    }

    /// The notification that a runtime wants.
    pub(crate) fn notify(runtime: &Runtime) -> Option<Self> {
        let kind = runtime.attention.wants_notification().filter(|_| runtime.is_live())?;
        let nudge_seq = runtime.attention.nudge_seq;
        Some(Self::Notify {
            id: IntentId::new(format!("{NOTIFY}:{}:{nudge_seq}", runtime.id)),
            runtime: runtime.id.clone(),
            pane: runtime.pane.clone(),
            nudge_seq,
            kind,
            confidence: runtime.verdict.confidence,
            message: match kind {
                CallKind::MailWaiting => Some("messages for it wait for long".to_owned()),
                CallKind::Error | CallKind::Approval | CallKind::Input | CallKind::Completion => {
                    runtime.verdict.message.clone()
                }
            },
        })
    }
}

/// The runtime and call that a notification's id names.
pub(crate) fn parse_notify(id: &IntentId) -> Option<(RuntimeId, u64)> {
    let (runtime, nudge_seq) = id.as_str().strip_prefix(NOTIFY)?.strip_prefix(':')?.rsplit_once(':')?;
    Some((RuntimeId::new(runtime), nudge_seq.parse().ok()?))
}

const NOTIFY: &str = "notify";
