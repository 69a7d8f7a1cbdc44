//! From facts to one state: the verdict is a pure function of the facts that still count, the process, the target's
//! health and the time.
//!
//! **Retired.** A turn boundary retires every earlier blocking and work fact, and every earlier turn fact that says the
//! opposite, of all sources: after "turn ended" nobody's older "turn active" counts, after "turn started" nobody's older
//! question. Two sources that both say "ended" do not retire each other, so "idle" hides neither `completed` nor `error`
//! (F9, F10). An "unblocked" retires earlier blocking facts. What an agent declares it needs, in a status file or by
//! `agtmux signal`, is retired by the next turn or by itself only: it declares that from inside a turn that then ends. A
//! question that a file or the screen still shows when it is looked at after somebody else's boundary was not meant by
//! that, and stands. A model's boundary retires other guesses only. Retirement is computed here and never stored, so a
//! fact that arrives late is born retired (F18).
//!
//! **Lagging.** Files and screens show how things stand, a moment late. A turn that one of them shows when better evidence
//! had told of it is an echo and no boundary: what was asked meanwhile it may be about to show. One that it shows right
//! after better evidence of an end may be the one that ended, and a question right after better evidence of an answer the
//! one that was answered. Each counts in full once it has stood for [`LAG`], without the opposite from the same source.
//!
//! **Expired.** A fact past its expiry counts for nothing, whichever way it points (F21). It still retires: that a turn
//! ended remains true when it is old news. Weaker fresh facts then decide; without any the state is `unknown`. A question
//! that expired unanswered leaves a doubt: only facts renewed after it was asked may speak then.
//!
//! **Decided.** Among fresh facts `error > waiting_approval > waiting_input > running > completed > idle`, where
//! * a blocking fact stands on its own, with or without a turn, and outlives a failure that the same source told before;
//! * an end beats later tool chatter of no stronger evidence (F24): only a turn start reopens;
//! * of several facts for one thing, the strongest evidence decides, then the more urgent state, then the latest.
//!
//! **Confidence.** Reported and recorded are high, observed is medium, guessed is low. A hook that tells that a turn is over and
//! not how is medium: the turn may have failed. A fresh contradiction from another
//! source of no weaker evidence lowers it by one step. `unknown` is always low.

use crate::event::{Health, ProcessState};
use crate::facts::{Held, Slot, SourceRecord, Value};
use crate::ordering::Mark;
use crate::policy::Policy;
use crate::runtime::{Runtime, Surroundings};
use crate::signal::{Blocking, Evidence, InputKind, Outcome, Source, Work};
use crate::state::{Confidence, State, Verdict};
use crate::time::{Span, Timestamp};

/// What is shown may be so much behind what is told. A screen is looked at within about a second of being painted.
const LAG: Span = Span::seconds(2);

/// Whether a fact still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Fresh,
    Expired,
    /// By that later statement.
    Retired(Mark),
    /// It may be what that earlier statement had answered. It says no state, and yet nothing is to be typed into it.
    Doubted(Mark),
}

/// A fact with its standing at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed<'a> {
    pub(crate) source: Source,
    pub(crate) held: &'a Held,
    pub(crate) standing: Standing,
    /// When it began to be so: the first time it was said after whatever would have retired it.
    pub(crate) since: Timestamp,
}

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
    let facts = weigh(runtime, around.now);
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
        let lags = shows_questions(w.source) && matches!(w.slot(), Slot::TurnActive | Slot::Blocked);
        let aged_at = done.then(|| w.since + policy.completed_for);
        [Some(w.held.expires_at), aged_at, lags.then(|| w.held.last.at + LAG)].into_iter().flatten()
    })
}

impl Weighed<'_> {
    pub(crate) fn is_retired(&self) -> bool {
        matches!(self.standing, Standing::Retired(_))
    }

    fn slot(&self) -> Slot {
        self.held.value.slot()
    }

    fn evidence(&self) -> Evidence {
        self.source.evidence()
    }

    fn is_guess(&self) -> bool {
        self.evidence() == Evidence::Guessed
    }

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

/// The latest statement of each kind that can retire others.
#[derive(Clone, Copy, Default)]
struct Latest {
    over: Option<Mark>,
    unblocked: Option<Mark>,
    /// The latest beginning of a turn that is no echo of one.
    begun: Option<Mark>,
    /// The latest sight of a turn that may go on: none that is shown right after better evidence of its end.
    going: Option<Mark>,
}

impl Latest {
    fn among<'a>(records: impl Iterator<Item = (Source, &'a SourceRecord)> + Clone, now: Timestamp) -> Self {
        let facts = records.clone().flat_map(|(_, record)| record.facts());
        let mut latest = facts.fold(Self::default(), |mut latest, held| {
            let place = match held.value.slot() {
                Slot::TurnEnded | Slot::Idle => &mut latest.over,
                Slot::Unblocked => &mut latest.unblocked,
                Slot::TurnActive | Slot::Blocked | Slot::Work | Slot::Background | Slot::Composer => return latest,
            };
            *place = (*place).max(Some(held.last.mark));
            latest
        });
        let starts = records.clone();
        let starts = starts.filter_map(|(source, record)| Some((source, record, record.fact(Slot::TurnActive)?)));
        let going = starts.clone().filter(|(source, _, start)| {
            let mut better = records.clone().filter(|(by, _)| by.evidence() > source.evidence());
            let has_stood = now >= start.last.at + LAG && latest.over < Some(start.last.mark);
            let is_seen = source.evidence() == Evidence::Observed && !source.declares();
            has_stood || !is_seen || !better.any(|(_, record)| is_afterglow(record, start))
        });
        latest.going = going.map(|(_, _, start)| start.last.mark).max();
        let begun = starts.clone().filter(|(source, record, start)| {
            let told = |(by, _, earlier): (Source, &SourceRecord, &Held)| {
                (by.evidence() > source.evidence() && earlier.last.mark < start.last.mark).then_some(earlier.last.mark)
            };
            let told = starts.clone().filter_map(told).max();
            !(shows_questions(*source) && told.is_some() && latest.is_echo(told, record, start, now))
        });
        latest.begun = begun.map(|(_, _, start)| start.last.mark).max();
        latest
    }

    /// Whether a source that shows a turn, which others had told of before, may not have come to see yet what was asked
    /// in it: it saw no question since, and its turn has not stood for long.
    fn is_echo(self, told: Option<Mark>, record: &SourceRecord, start: &Held, now: Timestamp) -> bool {
        let asked = record.fact(Slot::Blocked).map(|question| question.last.mark);
        let has_seen = asked > told.max(self.unblocked) && asked < Some(start.last.mark);
        let has_stood = now >= start.last.at + LAG && asked < Some(start.last.mark);
        told > self.over && !has_seen && !has_stood
    }

    /// Statements of that kind up to here do not count.
    fn floor(self, slot: Slot) -> Option<Mark> {
        match slot {
            Slot::TurnActive => self.over,
            Slot::TurnEnded | Slot::Idle => self.going,
            Slot::Blocked => self.begun.max(self.over).max(self.unblocked),
            Slot::Unblocked | Slot::Work => self.begun.max(self.over),
            Slot::Background | Slot::Composer => None,
        }
    }
}

/// Whether a turn is shown right after a source that knows better told that it had ended.
fn is_afterglow(told: &SourceRecord, start: &Held) -> bool {
    let mut ends = [Slot::TurnEnded, Slot::Idle].into_iter().filter_map(|slot| told.fact(slot)).map(|end| end.last);
    ends.any(|end| end.mark < start.last.mark && start.last.at < end.at + LAG)
}

fn weigh(runtime: &Runtime, now: Timestamp) -> Vec<Weighed<'_>> {
    let records = || runtime.sources.iter().map(|(source, record)| (*source, record));
    let known = Latest::among(records().filter(|(source, _)| source.evidence() > Evidence::Guessed), now);
    let guessed = Latest::among(records(), now);
    let own_floor = |source, slot| Latest::among(records().filter(|(of, _)| *of == source), now).floor(slot);
    let floor = |source: Source, held: &Held| {
        let slot = held.value.slot();
        let latest = if source.evidence() == Evidence::Guessed { guessed } else { known };
        if slot == Slot::Blocked && source.declares() {
            return latest.begun.max(own_floor(source, slot));
        }
        let floor = latest.floor(slot).max(own_floor(source, slot));
        let is_seen_since = Some(held.last.mark) < floor && floor < Some(held.renewed);
        if slot == Slot::Blocked && shows_questions(source) && is_seen_since {
            return own_floor(source, slot);
        }
        floor
    };
    records()
        .flat_map(|(source, record)| record.facts().iter().map(move |held| (source, held)))
        .map(|(source, held)| {
            let floor = floor(source, held);
            let standing = match floor {
                Some(by) if by > held.last.mark => Standing::Retired(by),
                _ if now >= held.expires_at => Standing::Expired,
                _ => answered(runtime, source, held, now).map_or(Standing::Fresh, Standing::Doubted),
            };
            Weighed { source, held, standing, since: held.first_after(floor).at }
        })
        .collect()
}

/// The answer, told by better evidence, that a question came right after, if it came just now.
fn answered(runtime: &Runtime, source: Source, held: &Held, now: Timestamp) -> Option<Mark> {
    let is_question = held.value.slot() == Slot::Blocked && shows_questions(source);
    if !is_question || now >= held.last.at + LAG {
        return None;
    }
    let better = runtime.sources.iter().filter(|(by, _)| by.evidence() > source.evidence());
    let answers = better.filter_map(|(_, record)| record.fact(Slot::Unblocked)).map(|answer| answer.last);
    answers.filter(|answer| answer.mark < held.last.mark && held.last.at < answer.at + LAG).map(|a| a.mark).max()
}

/// Whether a source shows how things stand, so that "still so" means that its question is still there to be seen.
fn shows_questions(source: Source) -> bool {
    matches!(source.evidence(), Evidence::Recorded | Evidence::Observed) && !source.declares()
}

fn decide(facts: &[Weighed<'_>]) -> Option<usize> {
    let doubt = doubt(facts);
    let best = |suits: &dyn Fn(&Weighed<'_>) -> bool| {
        (0..facts.len())
            .filter(|place| facts[*place].standing == Standing::Fresh && speaks(&facts[*place], doubt))
            .filter(|place| suits(&facts[*place]))
            .max_by_key(|place| weight(&facts[*place]))
    };
    let blocked = best(&|w| w.slot() == Slot::Blocked);
    let over = best(&|w| w.slot() == Slot::TurnEnded && !w.is_guess())
        .or_else(|| best(&|w| matches!(w.slot(), Slot::TurnEnded | Slot::Idle)));
    let active = best(&|w| w.held.value.is_activity());
    let turn = match (over, active) {
        (Some(over), Some(active)) if facts[active].evidence() > facts[over].evidence() => Some(active),
        (over, active) => over.or(active),
    };
    match (turn, blocked) {
        (Some(turn), Some(blocked))
            if failed(&facts[turn])
                && (!facts[turn].is_guess() || facts[blocked].is_guess())
                && !moved_on(&facts[turn], &facts[blocked]) =>
        {
            Some(turn)
        }
        (turn, blocked) => blocked.or(turn),
    }
}

/// Whether the source that told of a failure has asked something since: it then no longer stands there failed.
fn moved_on(failure: &Weighed<'_>, question: &Weighed<'_>) -> bool {
    failure.source == question.source && question.held.last.mark > failure.held.last.mark
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

fn failed(fact: &Weighed<'_>) -> bool {
    matches!(fact.held.value, Value::TurnEnded(Outcome::Failed { .. }))
}

fn verdict(facts: &[Weighed<'_>], place: usize, around: Surroundings<'_>) -> Verdict {
    let fact = &facts[place];
    let aged_at = fact.since + around.policy.completed_for;
    let (state, reason, since) = match &fact.held.value {
        Value::TurnEnded(Outcome::Failed { cause }) => (State::Error, cause.name(), fact.since),
        Value::TurnEnded(Outcome::Done) if around.now < aged_at => (State::Completed, "turn_done", fact.since),
        Value::TurnEnded(Outcome::Done) => (State::Idle, "completed_aged", aged_at),
        Value::TurnEnded(Outcome::Interrupted) => (State::Idle, "interrupted", fact.since),
        Value::Idle if !fact.is_guess() && left_unended(facts, fact) => (State::Idle, "interrupted", fact.since),
        Value::TurnEnded(Outcome::Settled) | Value::Idle => (State::Idle, "at_composer", fact.since),
        Value::Blocked(on) => {
            let (state, reason) = waiting(on);
            (state, reason, fact.since)
        }
        Value::TurnActive | Value::Unblocked { .. } | Value::Work(_) => (State::Running, busy_with(facts), fact.since),
        // These bear no state and are never put forward.
        Value::Background(_) | Value::Composer(_) => (State::Unknown, "no_signal", fact.since),
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
