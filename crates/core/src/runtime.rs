//! One life of one agent process in one pane, and everything known about it.
//!
//! Owns the rule that what is shown is recomputed from facts, never edited: `Runtime::refresh` is the only place
//! where a verdict is replaced, and where `state_version` grows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::attention::AttentionRecord;
use crate::backlog;
use crate::details::Details;
use crate::entries;
use crate::event::{Ending, Health, ProcessState};
use crate::facts::{Said, SourceRecord};
use crate::id::{AgentId, BootId, PaneKey, ProcessKey, RuntimeId, TargetName};
use crate::ordering::{Admission, HostClock};
use crate::policy::Policy;
use crate::resolve;
use crate::signal::{SignalEvent, Source};
use crate::state::Verdict;
use crate::time::Timestamp;

/// A runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// Its id.
    pub id: RuntimeId,
    /// The target it runs on.
    pub target: TargetName,
    /// The pane it runs in.
    pub pane: PaneKey,
    /// Which runtime of that pane it is, counted from one.
    pub epoch: u32,
    /// Which agent.
    pub agent: AgentId,
    /// The boot its process belongs to.
    pub boot: BootId,
    /// Its process.
    pub process: ProcessKey,
    /// Why the process counts as this agent.
    pub why: String,
    /// Its friendly name.
    pub name: Option<String>,
    /// The session id in its environment, `SCHMUX_SESSION_ID`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The conversation it is in, or was in last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation: Option<Conversation>,
    /// When it was found.
    pub started_at: Timestamp,
    /// How its process is, and since when.
    pub process_state: (ProcessState, Timestamp),
    /// How and when it ended.
    pub ended: Option<(Ending, Timestamp)>,
    /// Where it was when it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// The latest boot-clock reading heard.
    pub(crate) clock: HostClock,
    /// What its sources say.
    #[serde(with = "entries")]
    pub sources: BTreeMap<Source, SourceRecord>,
    /// What of it calls for a person.
    pub attention: AttentionRecord,
    /// The state as shown.
    pub verdict: Verdict,
    /// What is shown beside it.
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
    /// Grows by one whenever the verdict changes.
    pub state_version: u64,
    /// When the verdict last changed.
    pub updated_at: Timestamp,
}

/// A conversation, in the agent's own terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conversation {
    /// The agent's id of it.
    pub id: String,
    /// The directory that the agent ran in.
    pub cwd: Option<String>,
}

/// Where a runtime was when it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The socket of its tmux server.
    pub socket: String,
    /// The name of its session.
    pub session_name: String,
}

/// What a verdict depends on besides the runtime itself.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) health: (Health, Timestamp),
    pub(crate) now: Timestamp,
}

/// An agent's process as it was found.
pub(crate) struct Found<'a> {
    pub(crate) target: TargetName,
    pub(crate) pane: &'a PaneKey,
    pub(crate) agent: &'a AgentId,
    pub(crate) boot: &'a BootId,
    pub(crate) process: ProcessKey,
    pub(crate) why: &'a str,
}

/// What came of computing anew what is shown.
pub(crate) struct Refreshed {
    /// Something that is shown is another.
    pub(crate) changed: bool,
    /// When time alone may next change it.
    pub(crate) next_change: Option<Timestamp>,
}

impl Runtime {
    /// A runtime that nothing is known about but that it is there.
    pub(crate) fn new(id: &RuntimeId, found: Found<'_>, at: Timestamp) -> Self {
        Self {
            id: id.clone(),
            target: found.target,
            pane: found.pane.clone(),
            epoch: 0,
            agent: found.agent.clone(),
            boot: found.boot.clone(),
            process: found.process,
            why: found.why.to_owned(),
            name: None,
            session: None,
            conversation: None,
            started_at: at,
            process_state: (ProcessState::Alive, at),
            ended: None,
            left: None,
            clock: HostClock::default(),
            sources: BTreeMap::new(),
            attention: AttentionRecord::default(),
            verdict: resolve::unknown("no_signal", at),
            details: Details::default(),
            state_version: 1,
            updated_at: at,
        }
    }

    /// Whether a text is its name, or the session id in its environment.
    pub(crate) fn is_called(&self, text: &str) -> bool {
        self.name.as_deref() == Some(text) || self.session.as_deref() == Some(text)
    }

    /// Takes in a signal that is bound to this runtime.
    pub(crate) fn hear(&mut self, event: &SignalEvent, seq: u64, at: Timestamp, policy: &Policy) -> Admission {
        let source = event.source;
        let record = self.sources.entry(source).or_default();
        let agent = &self.agent;
        let holds = |kind| policy.holds(agent, kind, source);
        let message = event.message.as_ref();
        let mut admission = record.cursor.admit(event, &self.boot, &mut self.clock, seq);
        match admission {
            Admission::New(mark) => record.hear(&event.signal, message, Said { mark, seq, at }, holds),
            Admission::Late(mark) => {
                if !record.hear_late(&event.signal, message, Said { mark, seq, at }, holds) {
                    admission = Admission::OutOfOrder;
                }
            }
            Admission::Duplicate | Admission::OutOfOrder => {}
        }
        match admission {
            Admission::New(_) | Admission::Late(_) if source == Source::Marker && backlog::is_marker(&event.signal) => {
                record.remember(backlog::fingerprint(event));
            }
            Admission::New(_) | Admission::Late(_) => {}
            Admission::Duplicate => record.duplicates += 1,
            Admission::OutOfOrder => record.out_of_order += 1,
        }
        admission
    }

    /// Computes anew what is shown, and when that may next change by the mere passing of time.
    pub(crate) fn refresh(&mut self, around: Surroundings<'_>) -> Refreshed {
        let mut attention = std::mem::take(&mut self.attention);
        let judgement = resolve::judge(self, around);
        let called = attention.update(&judgement, around.now);
        let next_change = resolve::next_change(&judgement.facts, around.policy, around.now);
        let details = Details::of(&judgement.facts, judgement.verdict.state);
        let verdict = judgement.verdict;
        self.attention = attention;
        let changed = verdict != self.verdict;
        if changed {
            self.verdict = verdict;
            self.state_version += 1;
            self.updated_at = around.now;
        }
        let is_detailed_otherwise = details != self.details;
        self.details = details;
        Refreshed { changed: changed || called || is_detailed_otherwise, next_change }
    }

    /// When what is shown may change by the mere passing of time.
    pub(crate) fn next_change(&self, around: Surroundings<'_>) -> Option<Timestamp> {
        let living = self.is_live().then(|| resolve::judge(self, around))?;
        resolve::next_change(&living.facts, around.policy, around.now)
    }

    /// Its process stopped or went on.
    pub(crate) fn set_process(&mut self, process: ProcessState, at: Timestamp) {
        if self.process_state.0 != process {
            self.process_state = (process, at);
        }
    }

    /// Ends it, for good.
    pub(crate) fn end(&mut self, how: Ending, at: Timestamp) {
        self.ended = Some((how, at));
        for record in self.sources.values_mut() {
            record.cursor.forget_keys();
        }
    }

    /// Whether its process lives as far as anyone knows.
    pub fn is_live(&self) -> bool {
        self.ended.is_none()
    }
}
