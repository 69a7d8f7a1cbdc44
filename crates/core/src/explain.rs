//! Why is it shown so? Every verdict with the facts it was made from, and what would change it.
//!
//! The chain comes from the very judgement that made the verdict, so the two cannot disagree.

use std::fmt;

use crate::engine::Engine;
use crate::event::{Ending, Health, ProcessState};
use crate::facts::Value;
use crate::id::{AgentId, PaneKey, ProcessKey, RuntimeId, TargetName};
use crate::ordering::Mark;
use crate::policy::FactKind;
use crate::resolve::{self, Judgement, Standing, Weighed};
use crate::runtime::{Runtime, Surroundings};
use crate::signal::{Blocking, Composer, Evidence, InputKind, Outcome, Source, Work};
use crate::state::{State, Verdict};
use crate::time::Timestamp;

/// Why a runtime is shown as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Which runtime.
    pub runtime: RuntimeId,
    /// Which agent.
    pub agent: AgentId,
    /// Where.
    pub target: TargetName,
    /// The pane it runs in, or ran in.
    pub pane: PaneKey,
    /// Which runtime of its pane it is.
    pub epoch: u32,
    /// Its process.
    pub process: ProcessKey,
    /// Why the process counts as this agent.
    pub why: String,
    /// How and when it ended.
    pub ended: Option<(Ending, Timestamp)>,
    /// The state; the last one if it ended.
    pub verdict: Verdict,
    /// Every fact, the deciding one first.
    pub chain: Vec<Step>,
    /// Every source that was ever heard.
    pub sources: Vec<SourceHealth>,
    /// Signals on its target that wait for a runtime to be found.
    pub pending: u64,
    /// Signals, of any target, for which none was found in time.
    pub dropped: u64,
    /// What would change the state.
    pub would_change: Vec<String>,
}

/// One fact and its part in the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its kind.
    pub fact: FactKind,
    /// Who says it.
    pub source: Source,
    /// How far that is to be trusted.
    pub evidence: Evidence,
    /// What it says.
    pub value: String,
    /// Text that came with it.
    pub message: Option<String>,
    /// Log position of the last time it was said.
    pub seq: u64,
    /// When it was last said.
    pub at: Timestamp,
    /// Until when it counts.
    pub expires_at: Timestamp,
    /// Its part.
    pub status: Status,
}

/// The part of a fact in a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It decided.
    Deciding,
    /// It counts, and goes with the verdict.
    Agrees,
    /// It counts, says otherwise, and lost.
    Outranked,
    /// Something later made it history.
    Retired {
        /// What did: the fact and its source.
        by: String,
    },
    /// It is too old to count.
    Expired,
}

/// How a source is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceHealth {
    /// Which.
    pub source: Source,
    /// When it last said something new.
    pub heard_at: Option<Timestamp>,
    /// Its highest sequence number.
    pub source_seq: Option<u64>,
    /// Signals that counted.
    pub accepted: u64,
    /// Repeats.
    pub duplicates: u64,
    /// Latecomers.
    pub out_of_order: u64,
    /// Traces that no rule understood.
    pub near_misses: u64,
    /// The last of those.
    pub last_near_miss: Option<String>,
}

/// Explains a runtime, living or remembered.
pub fn explain(engine: &Engine, id: &RuntimeId) -> Option<Explanation> {
    let state = engine.state();
    let runtime = state.topology.runtimes.get(id)?;
    let around = Surroundings { policy: &state.policy, health: state.topology.health(&runtime.target), now: state.now };
    let judgement = resolve::judge(runtime, around);
    Some(Explanation {
        runtime: id.clone(),
        agent: runtime.agent.clone(),
        target: runtime.target.clone(),
        pane: runtime.pane.clone(),
        epoch: runtime.epoch,
        process: runtime.process,
        why: runtime.why.clone(),
        ended: runtime.ended,
        verdict: runtime.verdict.clone(),
        chain: chain(&judgement),
        sources: sources(runtime),
        pending: state.pending.iter().filter(|waiting| waiting.event.claim.target == runtime.target).count() as u64,
        dropped: state.pending.dropped,
        would_change: would_change(runtime, &judgement, around),
    })
}

fn chain(judgement: &Judgement<'_>) -> Vec<Step> {
    let deciding = judgement.deciding.map(|place| &judgement.facts[place]);
    let mut steps: Vec<_> = judgement
        .facts
        .iter()
        .enumerate()
        .map(|(place, fact)| {
            let status = match fact.standing {
                Standing::Retired(by) | Standing::Doubted { by, .. } => {
                    Status::Retired { by: name_of(by, &judgement.facts) }
                }
                Standing::Outdated => Status::Outranked,
                Standing::Expired => Status::Expired,
                Standing::Fresh if judgement.deciding == Some(place) => Status::Deciding,
                Standing::Fresh if deciding.is_some_and(|deciding| !fact.contradicts(deciding)) => Status::Agrees,
                Standing::Fresh if !fact.held.value.bears_state() => Status::Agrees,
                Standing::Fresh => Status::Outranked,
            };
            step(fact, status)
        })
        .collect();
    steps.sort_by_key(|step| (rank(&step.status), std::cmp::Reverse((step.evidence, step.seq)), step.fact));
    steps
}

fn step(fact: &Weighed<'_>, status: Status) -> Step {
    Step {
        fact: fact.held.value.kind(),
        source: fact.source,
        evidence: fact.source.evidence(),
        value: describe(&fact.held.value),
        message: fact.held.message.clone(),
        seq: fact.held.last.seq,
        at: fact.held.last.at,
        expires_at: fact.held.expires_at,
        status,
    }
}

fn rank(status: &Status) -> u8 {
    match status {
        Status::Deciding => 0,
        Status::Agrees => 1,
        Status::Outranked => 2,
        Status::Expired => 3,
        Status::Retired { .. } => 4,
    }
}

fn name_of(mark: Mark, facts: &[Weighed<'_>]) -> String {
    let by = facts.iter().find(|fact| fact.held.last.mark == mark);
    by.map_or_else(String::new, |fact| format!("{} from {}", describe(&fact.held.value), fact.source.name()))
}

fn sources(runtime: &Runtime) -> Vec<SourceHealth> {
    runtime
        .sources
        .iter()
        .map(|(source, record)| SourceHealth {
            source: *source,
            heard_at: record.heard_at,
            source_seq: record.cursor.source_seq(),
            accepted: record.cursor.admitted(),
            duplicates: record.duplicates,
            out_of_order: record.out_of_order,
            near_misses: record.near_misses.count,
            last_near_miss: record.near_misses.last.clone(),
        })
        .collect()
}

fn would_change(runtime: &Runtime, judgement: &Judgement<'_>, around: Surroundings<'_>) -> Vec<String> {
    if runtime.ended.is_some() {
        return vec!["nothing: the runtime is over".to_owned()];
    }
    let mut changes = Vec::new();
    if around.health.0 == Health::Down {
        changes.push(format!("target {} comes back", runtime.target));
    }
    if runtime.process_state.0 == ProcessState::Stopped {
        changes.push("the process goes on".to_owned());
    }
    let mut moments: Vec<_> = resolve::moments(&judgement.facts, around.policy).filter(|at| *at > around.now).collect();
    moments.sort();
    changes.extend(moments.into_iter().find_map(|at| {
        let then = resolve::judge(runtime, Surroundings { now: at, ..around }).verdict;
        passing(at, &judgement.verdict, &then)
    }));
    changes.extend(awaited(judgement.verdict.state).iter().map(|text| (*text).to_owned()));
    changes
}

/// What the mere passing of time will do.
fn passing(at: Timestamp, now: &Verdict, then: &Verdict) -> Option<String> {
    let at = clock(at);
    if (now.state, &now.reason) != (then.state, &then.reason) {
        let (from, to) = (now.state.name(), then.state.name());
        let (why, then_why) = (&now.reason, &then.reason);
        Some(format!("at {at} {from}/{why} becomes {to}/{then_why}"))
    } else {
        let source = then.source.map_or("nobody", Source::name);
        (now != then).then(|| format!("at {at} it rests on {source} alone"))
    }
}

/// Signals that would move a state.
const fn awaited(state: State) -> &'static [&'static str] {
    match state {
        State::Running => &["a turn_ended, idle or blocked from any source"],
        State::WaitingApproval | State::WaitingInput => {
            &["an unblocked, turn_started, turn_ended or idle from any source"]
        }
        State::Error => &["a turn_started from any source"],
        State::Completed | State::Idle => &["a turn_started or blocked from any source"],
        State::Unknown => &["any signal that says what the agent does"],
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::TurnActive => "turn started".to_owned(),
        Value::TurnEnded(Outcome::Done) => "turn done".to_owned(),
        Value::TurnEnded(Outcome::Settled) => "turn over".to_owned(),
        Value::TurnEnded(Outcome::Interrupted) => "turn interrupted".to_owned(),
        Value::TurnEnded(Outcome::Failed { cause }) => format!("turn failed: {}", cause.name()),
        Value::Idle => "idle".to_owned(),
        Value::Blocked(Blocking::Approval { subject: Some(subject), .. }) => {
            format!("blocked on approval of {subject}")
        }
        Value::Blocked(Blocking::Approval { subject: None, .. }) => "blocked on approval".to_owned(),
        Value::Blocked(Blocking::Input { kind: InputKind::Question }) => "blocked on a question".to_owned(),
        Value::Blocked(Blocking::Input { kind: InputKind::NeedsTesting }) => "blocked on testing".to_owned(),
        Value::Blocked(Blocking::Dialog { name: Some(name) }) => {
            format!("blocked on dialog {name}")
        }
        Value::Blocked(Blocking::Dialog { name: None }) => "blocked on a dialog".to_owned(),
        Value::Unblocked { .. } => "unblocked".to_owned(),
        Value::Work(None) => "between pieces of work".to_owned(),
        Value::Work(Some(Work::Thinking)) => "thinking".to_owned(),
        Value::Work(Some(Work::Tool { name })) => format!("tool {name}"),
        Value::Work(Some(Work::Compacting)) => "compacting".to_owned(),
        Value::Work(Some(Work::Retrying { cause })) => format!("retrying after {}", cause.name()),
        Value::Background(count) => format!("{count} in background"),
        Value::Composer(Composer::Ready) => "composer ready".to_owned(),
        Value::Composer(Composer::Draft) => "composer holds a draft".to_owned(),
        Value::Composer(Composer::Ghost) => "composer shows ghost text".to_owned(),
        Value::Composer(Composer::Queued { count }) => format!("composer holds {count} queued"),
        Value::Composer(Composer::Hidden) => "composer hidden".to_owned(),
    }
}

/// Time of day in UTC.
fn clock(at: Timestamp) -> String {
    let seconds = at.0.div_euclid(1_000).rem_euclid(86_400);
    format!("{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = &self.verdict;
        write!(f, "{} {}: {}/{}", self.agent, self.pane.pane, verdict.state.name(), verdict.reason)?;
        writeln!(f, " ({}) since {}", verdict.confidence.name(), clock(verdict.since))?;
        if let Some((how, at)) = self.ended {
            writeln!(f, "  ended: {} at {}", how.name(), clock(at))?;
        }
        for step in &self.chain {
            write!(f, "  {} {}: {}", step.evidence.name(), step.source.name(), step.value)?;
            if let Some(message) = &step.message {
                write!(f, " {message:?}")?;
            }
            writeln!(f, " (#{} {}, until {}) {}", step.seq, clock(step.at), clock(step.expires_at), step.status)?;
        }
        for source in self.sources.iter().filter(|source| source.near_misses > 0) {
            let last = source.last_near_miss.as_deref().unwrap_or_default();
            writeln!(f, "  {} near misses of {}, the last: {last:?}", source.near_misses, source.source.name())?;
        }
        for change in &self.would_change {
            writeln!(f, "  would change it: {change}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deciding => f.write_str("decides"),
            Self::Agrees => f.write_str("agrees"),
            Self::Outranked => f.write_str("outranked"),
            Self::Retired { by } => write!(f, "retired by {by}"),
            Self::Expired => f.write_str("expired"),
        }
    }
}
