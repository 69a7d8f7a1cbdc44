//! Which facts still count. The rules are those of [`super`].

use crate::facts::{Held, Said, Slot, SourceRecord, Value};
use crate::ordering::Mark;
use crate::policy::Policy;
use crate::runtime::{Runtime, Surroundings};
use crate::signal::{Evidence, Outcome, Source};
use crate::time::{Span, Timestamp};

/// What is shown may be so much behind what is told. A screen is looked at within about a second of being painted.
pub(crate) const LAG: Span = Span::seconds(2);

/// Whether a fact still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    Fresh,
    Expired,
    /// By that later statement.
    Retired(Mark),
    /// It may be what that earlier statement had answered. It says no state, and yet nothing is to be typed into it.
    Doubted {
        by: Mark,
        until: Timestamp,
    },
    /// A guess that was made after a long silence says otherwise.
    Outdated,
}

/// A fact with its standing at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighed<'a> {
    pub(crate) source: Source,
    pub(crate) held: &'a Held,
    pub(crate) standing: Standing,
    /// The first time it was said after whatever would have retired it: when it began to be so.
    pub(crate) first: Said,
}

impl Weighed<'_> {
    pub(crate) fn is_retired(&self) -> bool {
        matches!(self.standing, Standing::Retired(_))
    }

    pub(crate) fn since(&self) -> Timestamp {
        self.first.at
    }

    pub(super) fn slot(&self) -> Slot {
        self.held.value.slot()
    }

    pub(super) fn evidence(&self) -> Evidence {
        self.source.evidence()
    }

    pub(super) fn is_guess(&self) -> bool {
        self.evidence() == Evidence::Guessed
    }

    /// When time alone changes how it stands.
    pub(super) fn moments(&self) -> impl Iterator<Item = Timestamp> + use<> {
        let lags = shows_questions(self.source) && matches!(self.slot(), Slot::TurnActive | Slot::Blocked);
        let doubted = match self.standing {
            Standing::Doubted { until, .. } => Some(until),
            Standing::Fresh | Standing::Expired | Standing::Retired(_) | Standing::Outdated => None,
        };
        let stood = lags.then(|| self.held.last.at + LAG);
        [Some(self.held.expires_at), stood, doubted].into_iter().flatten()
    }
}

/// Weighs every fact of a runtime.
pub(super) fn weigh<'a>(runtime: &'a Runtime, around: Surroundings<'_>) -> Vec<Weighed<'a>> {
    let Surroundings { now, policy, .. } = around;
    let records = || runtime.sources.iter().map(|(source, record)| (*source, record));
    let known = Latest::among(records().filter(|(source, _)| source.evidence() > Evidence::Guessed), now);
    let guessed = Latest::among(records(), now);
    let weigh = |source: Source, held: &'a Held| {
        let slot = held.value.slot();
        let own = Latest::among(records().filter(|(of, _)| *of == source), now).floor(slot);
        let latest = if source.evidence() == Evidence::Guessed { guessed } else { known };
        let of_all = match slot {
            Slot::Blocked if source.declares() => latest.begun.max(latest.replied).max(later_word(runtime, held)),
            Slot::TurnEnded | Slot::Idle if source.declares() => latest.floor(slot).max(later_word(runtime, held)),
            _ => latest.floor(slot),
        };
        let floor = of_all.max(own);
        let is_shown = slot == Slot::Blocked && shows_questions(source);
        let is_seen_since = is_shown && Some(held.last.mark) < floor && floor < Some(held.renewed);
        let (floor, doubt) = match said_at(runtime, floor).filter(|_| is_seen_since) {
            Some(end) => (own, Some((end.mark, end.at + LAG))),
            None => (floor, answered(runtime, source, held)),
        };
        let standing = match (floor, doubt) {
            (Some(by), _) if by > held.last.mark => Standing::Retired(by),
            _ if now >= held.expires_at => Standing::Expired,
            (_, Some((by, until))) if now < until => Standing::Doubted { by, until },
            _ => Standing::Fresh,
        };
        Weighed { source, held, standing, first: held.first_after(floor) }
    };
    let mut facts: Vec<_> = records()
        .flat_map(|(source, record)| record.facts().iter().map(move |held| (source, held)))
        .map(|(source, held)| weigh(source, held))
        .collect();
    outdate(&mut facts, policy);
    facts
}

/// The latest statement of each kind that can retire others.
#[derive(Clone, Copy, Default)]
struct Latest {
    over: Option<Mark>,
    unblocked: Option<Mark>,
    /// The latest time that the person was seen to answer.
    replied: Option<Mark>,
    /// The latest beginning of a turn that is no echo of one.
    begun: Option<Mark>,
    /// The latest sight of a turn that may go on: none that is shown right after better evidence of its end.
    going: Option<Mark>,
}

impl Latest {
    fn among<'a>(records: impl Iterator<Item = (Source, &'a SourceRecord)> + Clone, now: Timestamp) -> Self {
        let mut latest = Self::default();
        for (source, held) in
            records.clone().flat_map(|(source, record)| record.facts().iter().map(move |h| (source, h)))
        {
            let mark = Some(held.last.mark);
            match held.value.slot() {
                Slot::TurnEnded | Slot::Idle => latest.over = latest.over.max(mark),
                Slot::Unblocked => {
                    latest.unblocked = latest.unblocked.max(mark);
                    latest.replied = latest.replied.max(mark.filter(|_| source.sees_replies()));
                }
                Slot::TurnActive | Slot::Blocked | Slot::Work | Slot::Background | Slot::Composer => {}
            }
        }
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
    /// in it: it saw no question since, and its turn has not stood for long. An answer that is told later says nothing
    /// about what it had seen.
    fn is_echo(self, told: Option<Mark>, record: &SourceRecord, start: &Held, now: Timestamp) -> bool {
        let asked = record.fact(Slot::Blocked).map(|question| question.last.mark);
        let answered = self.unblocked.filter(|answer| *answer < start.last.mark);
        let has_seen = asked > told.max(answered) && asked < Some(start.last.mark);
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

/// The newest other word on how the agent stands with its task, over all channels by which it declares that. The same
/// word by two channels is one.
fn later_word(runtime: &Runtime, held: &Held) -> Option<Mark> {
    let declaring = runtime.sources.iter().filter(|(source, _)| source.declares());
    let words = declaring.flat_map(|(_, record)| record.facts()).filter(|word| {
        matches!(word.value.slot(), Slot::TurnActive | Slot::TurnEnded | Slot::Idle | Slot::Blocked)
            && (&word.value, &word.message) != (&held.value, &held.message)
    });
    words.map(|word| word.last.mark).max()
}

/// When the statement was made that has this place.
fn said_at(runtime: &Runtime, mark: Option<Mark>) -> Option<Said> {
    let mut facts = runtime.sources.values().flat_map(SourceRecord::facts);
    facts.find(|held| Some(held.last.mark) == mark).map(|held| held.last)
}

/// Whether a turn is shown right after a source that knows better told that it had ended.
fn is_afterglow(told: &SourceRecord, start: &Held) -> bool {
    let mut ends = [Slot::TurnEnded, Slot::Idle].into_iter().filter_map(|slot| told.fact(slot)).map(|end| end.last);
    ends.any(|end| end.mark < start.last.mark && start.last.at < end.at + LAG)
}

/// The end of a question, told by better evidence, that a shown question came right after, and until when that leaves a
/// doubt.
fn answered(runtime: &Runtime, source: Source, held: &Held) -> Option<(Mark, Timestamp)> {
    if held.value.slot() != Slot::Blocked || !shows_questions(source) {
        return None;
    }
    let better = runtime.sources.iter().filter(|(by, _)| by.evidence() > source.evidence());
    let ends = better.flat_map(|(_, record)| ends_of_questions(record));
    let just_before = ends.filter(|end| end.mark < held.last.mark && held.last.at < end.at + LAG);
    Some((just_before.map(|end| end.mark).max()?, held.last.at + LAG))
}

/// What a source said that ended a question: the answer, the turn that went on after it, or a failure.
fn ends_of_questions(record: &SourceRecord) -> impl Iterator<Item = Said> {
    let last = |slot| record.fact(slot).map(|held| held.last);
    let asked = last(Slot::Blocked).map(|asked| asked.mark);
    let over = [Slot::TurnEnded, Slot::Idle].into_iter().filter_map(last).map(|over| over.mark).max();
    let went_on = last(Slot::TurnActive).filter(|start| over < asked && asked.is_some_and(|asked| asked < start.mark));
    let failed = record.fact(Slot::TurnEnded).filter(|end| is_failure(&end.value)).map(|end| end.last);
    [last(Slot::Unblocked), went_on, failed].into_iter().flatten()
}

pub(super) fn is_failure(value: &Value) -> bool {
    matches!(value, Value::TurnEnded(Outcome::Failed { .. }))
}

/// Whether a source shows how things stand, so that "still so" means that its question is still there to be seen.
pub(crate) fn shows_questions(source: Source) -> bool {
    matches!(source.evidence(), Evidence::Recorded | Evidence::Observed) && !source.declares()
}

/// Lets a model's guess speak where nothing else was said for so long that it was asked, and nothing since. It says that
/// a turn is under way or over; a question or failure that is known is never guessed away.
fn outdate(facts: &mut [Weighed<'_>], policy: &Policy) {
    let is_model = |w: &&Weighed<'_>| w.source == Source::Llm && w.held.value.bears_state();
    let latest = facts.iter().filter(is_model).filter(|w| w.standing == Standing::Fresh);
    let Some(guess) = latest.max_by_key(|w| w.held.last.mark).copied() else {
        return;
    };
    let is_older = |w: &Weighed<'_>| {
        let mark = w.held.last.mark.max(w.held.renewed);
        mark < guess.held.last.mark && w.held.last.at + policy.guess_after <= guess.held.last.at
    };
    let mut known = facts.iter().filter(|w| !w.is_guess() && w.held.value.bears_state());
    if !known.all(is_older) {
        return;
    }
    let says_over = matches!(guess.slot(), Slot::TurnEnded | Slot::Idle);
    let is_gainsaid = |w: &Weighed<'_>| match w.held.value {
        Value::TurnActive | Value::Unblocked { .. } | Value::Work(_) => says_over,
        Value::TurnEnded(Outcome::Failed { .. }) | Value::Blocked(_) => false,
        Value::TurnEnded(_) | Value::Idle => guess.held.value.is_activity() || is_failure(&guess.held.value),
        Value::Background(_) | Value::Composer(_) => false,
    };
    for fact in facts.iter_mut().filter(|w| w.standing == Standing::Fresh && !w.is_guess()) {
        if is_gainsaid(fact) {
            fact.standing = Standing::Outdated;
        }
    }
}
