//! From facts to one state: the verdict is a pure function of the facts that still count, the process, the target's
//! health and the time.
//!
//! **Retired.** A turn boundary retires every earlier blocking and work fact, and every earlier turn fact that says the
//! opposite, of all sources: after "turn ended" nobody's older "turn active" counts, after "turn started" nobody's older
//! question. Two sources that both say "ended" do not retire each other, so "idle" hides neither `completed` nor `error`
//! (F9, F10). An "unblocked" retires earlier blocking facts. What an agent declares it needs, in a status file or by
//! `agtmux signal`, is not retired by the end of a turn: it declares that from inside a turn that then ends. The next turn
//! retires it, the person's answer, and the agent's next word by any channel it declares by. A question that a file or the
//! screen still shows when it is looked at after somebody else's boundary was not meant by that, and stands. A model's
//! boundary retires other guesses only. Retirement is computed here and never stored, so a fact that arrives late is born
//! retired (F18).
//!
//! **Lagging.** Files and screens show how things stand, a moment late. A turn that one of them shows when better evidence
//! had told of it is an echo and no boundary: what was asked meanwhile it may be about to show. One that it shows right
//! after better evidence of an end may be the one that ended, and a question right after better evidence of an answer, of
//! the turn going on or of its failure the one that was answered. Each counts in full once it has stood for [`LAG`], without
//! the opposite from the same source. So does a question that is still shown after somebody else's boundary.
//!
//! **Expired.** A fact past its expiry counts for nothing, whichever way it points (F21). It still retires: that a turn
//! ended remains true when it is old news. Weaker fresh facts then decide; without any the state is `unknown`. A question
//! that expired unanswered leaves a doubt: only facts renewed after it was asked may speak then.
//!
//! **Outdated.** A model is asked where nothing was said for [`Policy::guess_after`]. Until something is said again, its
//! guess that a turn goes on or is over outweighs older facts that say otherwise. It hides no question and no failure:
//! a guess may call a person, and never takes a call away.
//!
//! **Decided.** Among fresh facts `error > waiting_approval > waiting_input > running > completed > idle`, where
//! * a blocking fact stands on its own, with or without a turn; one that was asked or is still shown after a failure comes
//!   before the failure, since text and Enter would answer it;
//! * an end beats later tool chatter of no stronger evidence (F24): only a turn start reopens;
//! * of several facts for one thing, the strongest evidence decides, then the more urgent state, then the latest.
//!
//! **Confidence.** Reported and recorded are high, observed is medium, guessed is low. A hook that tells that a turn is over and
//! not how is medium: the turn may have failed. A fresh contradiction from another
//! source of no weaker evidence lowers it by one step. `unknown` is always low.

mod standing;

use crate::event::{Health, ProcessState};
use crate::facts::{Held, Slot, Value};
use crate::ordering::Mark;
use crate::policy::Policy;
use crate::runtime::{Runtime, Surroundings};
use crate::signal::{Blocking, Evidence, InputKind, Outcome, Source, Work};
use crate::state::{Confidence, State, Verdict};
use crate::time::Timestamp;

pub(crate) use standing::{LAG, Standing, Weighed, shows_questions};
use standing::{is_failure, weigh};

/// A verdict and how it was come by.
pub(crate) struct Judgement<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) facts: Vec<Weighed<'a>>,
    /// Index in `facts` of the one that decided. Set also when the target is down or the process stopped: it is what
    /// would decide.
    pub(crate) deciding: Option<usize>,
}

/// Judges a runtime.
pub(crate) fn judge<'a>(runtime: &'a Runtime, around: Surroundings<'_>) -> Judgement<'a> {
    let facts = weigh(runtime, around);
    let deciding = decide(&facts);
    let verdict = match (around.health, runtime.process_state) {
        ((Health::Down, since), _) => unknown("target_unreachable", since),
        (_, (ProcessState::Stopped, since)) => unknown("suspended", since),
        ((Health::Ok | Health::Degraded, _), (ProcessState::Alive, _)) => match deciding {
            Some(place) => verdict(&facts, place, around),
            None => undecided(runtime, &facts),
        },
    };
    Judgement { verdict, facts, deciding }
}

/// When time alone may next change a verdict that rests on these facts.
pub(crate) fn next_change(facts: &[Weighed<'_>], policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    moments(facts, policy).filter(|moment| *moment > now).min()
}

/// Every moment at which time alone may change it, past ones included.
pub(crate) fn moments(facts: &[Weighed<'_>], policy: &Policy) -> impl Iterator<Item = Timestamp> {
    facts.iter().filter(|w| !w.is_retired()).flat_map(|w| {
        let done = matches!(w.held.value, Value::TurnEnded(Outcome::Done));
        w.moments().chain(done.then(|| w.since() + policy.completed_for))
    })
}

impl Weighed<'_> {
    /// Whether two facts cannot both be true of the present. What is declared of the task goes with whatever becomes of
    /// the turn.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let of_the_turn = |w: &Self| !w.source.declares();
        match (&self.held.value, &other.held.value) {
            (Value::TurnEnded(a), Value::TurnEnded(b)) => a != b && of_the_turn(self) == of_the_turn(other),
            (Value::Blocked(a), Value::Blocked(b)) => waiting(a).0 != waiting(b).0,
            (Value::Blocked(_), Value::TurnEnded(Outcome::Failed { .. }))
            | (Value::TurnEnded(Outcome::Failed { .. }), Value::Blocked(_)) => false,
            _ => {
                let over = |w: &Self| matches!(w.slot(), Slot::TurnEnded | Slot::Idle);
                let blocked = |w: &Self| w.slot() == Slot::Blocked && of_the_turn(w);
                let under_way = |w: &Self| w.held.value.is_activity() || blocked(w);
                over(self) && under_way(other) || under_way(self) && over(other)
            }
        }
    }
}

fn decide(facts: &[Weighed<'_>]) -> Option<usize> {
    let doubt = doubt(facts);
    let best = |suits: &dyn Fn(&Weighed<'_>) -> bool| {
        (0..facts.len())
            .filter(|place| facts[*place].standing == Standing::Fresh && speaks(&facts[*place], doubt))
            .filter(|place| suits(&facts[*place]))
            .max_by_key(|place| weight(&facts[*place]))
    };
    let over = best(&|w| w.slot() == Slot::TurnEnded && !w.is_guess())
        .or_else(|| best(&|w| matches!(w.slot(), Slot::TurnEnded | Slot::Idle)));
    let active = best(&|w| w.held.value.is_activity());
    let turn = match (over, active) {
        (Some(over), Some(active)) if facts[active].evidence() > facts[over].evidence() => Some(active),
        (over, active) => over.or(active),
    };
    let failure = turn.map(|turn| &facts[turn]).filter(|turn| is_failure(&turn.held.value));
    best(&|w| w.slot() == Slot::Blocked && failure.is_none_or(|failure| outlives(w, failure))).or(turn)
}

/// Whether a question stands beside a failed turn: it was asked, or is still shown, after the turn had failed. A guess
/// settles guesses only.
fn outlives(question: &Weighed<'_>, failure: &Weighed<'_>) -> bool {
    let shown = if shows_questions(question.source) { question.held.renewed } else { question.held.last.mark };
    match (question.is_guess(), failure.is_guess()) {
        (false, true) => true,
        (true, false) => false,
        (true, true) | (false, false) => shown.max(question.held.last.mark) > failure.held.last.mark,
    }
}

/// The latest question that expired while nobody had answered it.
fn doubt(facts: &[Weighed<'_>]) -> Option<Mark> {
    facts
        .iter()
        .filter(|w| w.slot() == Slot::Blocked && w.standing == Standing::Expired && !w.is_guess())
        .map(|w| w.held.last.mark)
        .max()
}

fn speaks(fact: &Weighed<'_>, doubt: Option<Mark>) -> bool {
    fact.slot() == Slot::Blocked || Some(fact.held.renewed) > doubt
}

/// Of facts that compete for one thing, the greatest weight wins.
pub(crate) fn weight(fact: &Weighed<'_>) -> (Evidence, u8, Mark) {
    // How its task ended is the agent's to say, however it says it.
    let declared = fact.slot() == Slot::TurnEnded && fact.source.declares();
    let evidence = if declared { Evidence::Reported } else { fact.evidence() };
    let urgency = match &fact.held.value {
        Value::TurnEnded(Outcome::Failed { .. }) => 6,
        Value::Blocked(on) if waiting(on).0 == State::WaitingApproval => 5,
        Value::Blocked(_) => 4,
        Value::TurnActive => 3,
        Value::Unblocked { .. } | Value::Work(_) => 2,
        Value::TurnEnded(Outcome::Done) => 1,
        Value::TurnEnded(Outcome::Interrupted | Outcome::Settled)
        | Value::Idle
        | Value::Background(_)
        | Value::Composer(_) => 0,
    };
    (evidence, urgency, fact.held.last.mark)
}

fn verdict(facts: &[Weighed<'_>], place: usize, around: Surroundings<'_>) -> Verdict {
    let fact = &facts[place];
    let aged_at = fact.since() + around.policy.completed_for;
    let (state, reason, since) = match &fact.held.value {
        Value::TurnEnded(Outcome::Failed { cause }) => (State::Error, cause.name(), fact.since()),
        Value::TurnEnded(Outcome::Done) if around.now < aged_at => (State::Completed, "turn_done", fact.since()),
        Value::TurnEnded(Outcome::Done) => (State::Idle, "completed_aged", aged_at),
        Value::TurnEnded(Outcome::Interrupted) => (State::Idle, "interrupted", fact.since()),
        Value::Idle if !fact.is_guess() && left_unended(facts, fact) => (State::Idle, "interrupted", fact.since()),
        Value::TurnEnded(Outcome::Settled) | Value::Idle => (State::Idle, "at_composer", fact.since()),
        Value::Blocked(on) => {
            let (state, reason) = waiting(on);
            (state, reason, fact.since())
        }
        Value::TurnActive | Value::Unblocked { .. } | Value::Work(_) => {
            (State::Running, busy_with(facts), fact.since())
        }
        // These bear no state and are never put forward.
        Value::Background(_) | Value::Composer(_) => (State::Unknown, "no_signal", fact.since()),
    };
    let reason = if matches!(state, State::Completed | State::Idle) && background(facts) > 0 {
        "background_work"
    } else {
        reason
    };
    Verdict {
        state,
        reason: reason.to_owned(),
        confidence: confidence(facts, place),
        evidence: Some(fact.evidence()),
        source: Some(fact.source),
        since,
        message: message(fact.held).or_else(|| (state == State::Running).then(|| detail(facts)).flatten()),
    }
}

/// Whether the idleness came upon a turn of which the agent itself had said that it began and nobody that it ended, and
/// was seen by somebody else: no agent tells its hooks that the person pressed Escape.
fn left_unended(facts: &[Weighed<'_>], idle: &Weighed<'_>) -> bool {
    let ended = facts.iter().filter(|w| w.slot() == Slot::TurnEnded && !w.is_guess()).map(|w| w.held.last.mark).max();
    let was_under_way = |w: &Weighed<'_>| {
        let mark = w.held.last.mark;
        let in_time = mark < idle.held.last.mark && w.held.expires_at > idle.held.last.at;
        w.evidence() == Evidence::Reported && w.source != idle.source && in_time && Some(mark) > ended
    };
    facts.iter().any(|w| w.slot() == Slot::TurnActive && was_under_way(w))
}

/// The state that a blocking fact means, and its reason.
fn waiting(on: &Blocking) -> (State, &'static str) {
    match on {
        Blocking::Approval { .. } => (State::WaitingApproval, "approval"),
        Blocking::Input { kind: InputKind::Question } => (State::WaitingInput, "question"),
        Blocking::Input { kind: InputKind::NeedsTesting } => (State::WaitingInput, "needs_testing"),
        Blocking::Dialog { .. } => (State::WaitingInput, "dialog"),
    }
}

/// What it is busy with, in the words of whoever tells it.
fn detail(facts: &[Weighed<'_>]) -> Option<String> {
    let fresh = |w: &&Weighed<'_>| w.standing == Standing::Fresh && w.slot() == Slot::Work && w.held.message.is_some();
    facts.iter().filter(fresh).max_by_key(|w| weight(w)).and_then(|w| w.held.message.clone())
}

/// Why it is running. Only what a person or a sender has to know about changes the reason: tools come and go many
/// times a turn.
fn busy_with(facts: &[Weighed<'_>]) -> &'static str {
    let fresh = |w: &&Weighed<'_>| w.standing == Standing::Fresh && w.slot() == Slot::Work;
    match facts.iter().filter(fresh).max_by_key(|w| weight(w)).map(|w| &w.held.value) {
        Some(Value::Work(Some(Work::Compacting))) => "compacting",
        Some(Value::Work(Some(Work::Retrying { .. }))) => "retrying",
        _ => "turn_active",
    }
}

fn background(facts: &[Weighed<'_>]) -> u32 {
    let fresh = |w: &&Weighed<'_>| w.standing == Standing::Fresh && w.slot() == Slot::Background;
    match facts.iter().filter(fresh).max_by_key(|w| weight(w)).map(|w| &w.held.value) {
        Some(Value::Background(count)) => *count,
        _ => 0,
    }
}

fn confidence(facts: &[Weighed<'_>], place: usize) -> Confidence {
    let fact = &facts[place];
    let contradicted = facts.iter().any(|other| {
        other.standing == Standing::Fresh
            && other.source != fact.source
            && other.evidence() >= fact.evidence()
            && other.contradicts(fact)
    });
    let tells_how = !(fact.source == Source::Hook && matches!(fact.held.value, Value::Idle));
    match (fact.evidence(), contradicted) {
        (Evidence::Reported, false) if !tells_how => Confidence::Medium,
        (Evidence::Reported | Evidence::Recorded, false) => Confidence::High,
        (Evidence::Reported | Evidence::Recorded, true) | (Evidence::Observed, false) => Confidence::Medium,
        (Evidence::Observed, true) | (Evidence::Guessed, _) => Confidence::Low,
    }
}

/// Text for the person: what was said with the fact, else what is to be allowed or dealt with.
fn message(held: &Held) -> Option<String> {
    held.message.clone().or_else(|| match &held.value {
        Value::Blocked(Blocking::Approval { subject, .. }) => subject.clone(),
        Value::Blocked(Blocking::Dialog { name }) => name.clone(),
        _ => None,
    })
}

/// Nothing fresh speaks. The reason says whether anything ever did.
fn undecided(runtime: &Runtime, facts: &[Weighed<'_>]) -> Verdict {
    let doubt = doubt(facts);
    let lapsed = facts
        .iter()
        .filter(|w| w.standing == Standing::Expired && w.held.value.bears_state() && speaks(w, doubt))
        .map(|w| w.held.expires_at)
        .max();
    if let Some(since) = lapsed {
        return unknown("stale_signal", since);
    }
    let records = || runtime.sources.values();
    let near_miss = records().filter_map(|record| record.near_misses.first_at).min();
    match near_miss {
        Some(since) if !records().any(|record| record.usable) => unknown("unsupported_signal", since),
        _ => unknown("no_signal", records().filter_map(|r| r.withdrawn_at).max().unwrap_or(runtime.started_at)),
    }
}

/// Nothing trustworthy is known, for that reason.
pub(crate) fn unknown(reason: &str, since: Timestamp) -> Verdict {
    Verdict {
        state: State::Unknown,
        reason: reason.to_owned(),
        confidence: Confidence::Low,
        evidence: None,
        source: None,
        since,
        message: None,
    }
}
