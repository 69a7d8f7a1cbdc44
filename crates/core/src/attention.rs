//! When a person has to know: calls for attention, each raised once.
//!
//! `nudge_seq` is the dedupe key of every notification, so it grows only for a call that is new. A call is the same as
//! an earlier one if it says the same, or if it is of the same kind and told by another source, as long as the earlier one
//! stands. What an agent declares by two channels is the same only if the words are. A question stands until all that was
//! told of it is retired or gone: answered, overtaken by a turn or by the agent's next word. Redraws (F4), replays after a
//! restart (F6), stale-and-back and duplicates (F80) therefore stay silent, and the same question asked again later does
//! not. One statement calls once, also where it stands again after somebody else's turn start. What is declared again after
//! a person acknowledged it calls again.

use serde::{Deserialize, Serialize};

use crate::facts::{Slot, Value};
use crate::ordering::Mark;
use crate::resolve::{Judgement, LAG, Weighed, shows_questions};
use crate::signal::{Blocking, Evidence, Outcome, Source};
use crate::state::State;
use crate::time::Timestamp;

/// What a runtime wants from a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// Look at a failure.
    Error,
    /// Allow or refuse something.
    Approval,
    /// Answer a question, or deal with a dialog.
    Input,
    /// Find out why messages do not reach it.
    MailWaiting,
    /// Take note that a turn is done.
    Completion,
}

impl CallKind {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Approval => "approval",
            Self::Input => "input",
            Self::MailWaiting => "mail_waiting",
            Self::Completion => "completion",
        }
    }
}

/// A call that was raised.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Call {
    kind: CallKind,
    /// What tells it from other calls of its kind: the prompt's hash, or the text.
    identity: String,
    source: Source,
    mark: Mark,
    /// The same call as other sources told of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    also: Vec<(Source, Mark)>,
    /// Its number; zero in states stored before it was kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    number: u64,
    /// It is a dialog of the program, and not a need that the agent may have declared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dialog: bool,
    /// It was answered, or overtaken by a turn or by the agent's next word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    settled: bool,
    /// When nothing told of it any more, without a word on what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gone_at: Option<Timestamp>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// The calls of one runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionRecord {
    /// How many calls were raised.
    pub nudge_seq: u64,
    /// The call that stands at the moment.
    pub calling: Option<CallKind>,
    /// A turn is done and nobody has looked.
    pub unseen: bool,
    /// The latest call that a person said they know of.
    pub acknowledged: u64,
    /// The latest call that a notification went out for.
    pub notified: u64,
    /// The call that messages wait for it, while they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mail_call: Option<u64>,
    /// Log position of the last time a person looked.
    seen: u64,
    /// Log position of the last time a person said that they know.
    #[serde(default, skip_serializing_if = "is_zero")]
    acknowledged_at: u64,
    /// The latest calls, at most [`AttentionRecord::CALLS`], newest last. Settled ones are kept: what settled them may
    /// be taken back, and then they must not be raised again.
    calls: Vec<Call>,
}

impl AttentionRecord {
    const CALLS: usize = 32;

    /// Compares a new judgement with the calls raised before. Says whether anything that is shown changed.
    pub(crate) fn update(&mut self, judgement: &Judgement<'_>, now: Timestamp) -> bool {
        let before = (self.nudge_seq, self.calling, self.unseen);
        let facts = &judgement.facts;
        self.unseen = done(judgement).is_some_and(|seq| seq > self.seen);
        self.follow(facts, now);
        let deciding = judgement
            .deciding
            .filter(|_| judgement.verdict.state != State::Unknown)
            // What was found on a screen was said long ago, and whoever it called may have come and gone.
            .filter(|place| facts[*place].source != Source::Scrollback)
            .and_then(|place| Some((&facts[place], call(&facts[place], judgement.verdict.state)?)));
        self.calling = deciding.as_ref().map(|(_, call)| call.kind);
        if let Some((_, call)) = deciding.filter(|(fact, call)| !self.knows(fact, call, now)) {
            if self.calls.len() >= Self::CALLS {
                self.calls.remove(0);
            }
            self.nudge_seq += 1;
            self.calls.push(Call { number: self.nudge_seq, ..call });
        }
        before != (self.nudge_seq, self.calling, self.unseen)
    }

    /// Notes by whom the calls are told of now, and which are settled or gone.
    fn follow(&mut self, facts: &[Weighed<'_>], now: Timestamp) {
        for raised in &mut self.calls {
            raised.follow(facts, now);
        }
        let told = facts.iter().filter(|fact| fact.held.value.slot() == Slot::Blocked && !fact.is_retired());
        for (fact, call) in told.filter_map(|fact| Some((fact, call(fact, State::Unknown)?))) {
            let is_noted = self.calls.iter().any(|raised| raised.is_told_by(fact));
            let same = self.calls.iter_mut().rev().find(|raised| raised.covers(&call) && raised.stands(now));
            if let Some(raised) = same.filter(|_| !is_noted) {
                raised.also.retain(|(source, _)| *source != fact.source);
                raised.also.push((fact.source, call.mark));
            }
        }
    }

    /// Whether what a fact calls for was called for already.
    fn knows(&self, fact: &Weighed<'_>, call: &Call, now: Timestamp) -> bool {
        let is_said_again = |raised: &Call| {
            let is_acknowledged = (1..=self.acknowledged).contains(&raised.number);
            fact.source.declares() && is_acknowledged && fact.held.last.seq > self.acknowledged_at
        };
        let is_overtaken = |raised: &Call| {
            let mut later = self.calls.iter().rev().take_while(|later| *later != raised);
            fact.source.declares() && !raised.is_question() && later.any(Call::is_question)
        };
        self.calls.iter().any(|raised| {
            let stands = || raised.covers(call) && raised.stands(now) && !is_overtaken(raised);
            (raised.is_told_by(fact) || stands()) && !is_said_again(raised)
        })
    }

    /// Messages wait for it for too long, or not any more. However many there are, that is one call.
    pub(crate) fn mail_waits(&mut self, waits: bool) {
        match self.mail_call {
            None if waits => {
                self.nudge_seq += 1;
                self.mail_call = Some(self.nudge_seq);
            }
            // Nobody need be told of a call that is over before anybody was.
            Some(call) if !waits => {
                self.mail_call = None;
                if self.notified + 1 == call && call == self.nudge_seq {
                    self.notified = call;
                }
            }
            None | Some(_) => {}
        }
    }

    /// Whether a person should find out why messages do not reach it.
    pub fn calls_for_mail(&self) -> bool {
        self.mail_call.is_some_and(|call| self.acknowledged < call)
    }

    /// The call that stands, the first in the order of [`CallKind`]: what keeps the agent from going on, then what others want
    /// of it, unless a person knows that, then that it is done.
    pub fn standing(&self) -> Option<CallKind> {
        let mail = self.mail_call.map(|_| CallKind::MailWaiting);
        self.calling.filter(|own| *own < CallKind::MailWaiting || !self.calls_for_mail()).or(mail)
    }

    /// Whether a person said that they know of everything that the agent itself called for.
    pub fn is_known(&self) -> bool {
        let latest = if self.mail_call == Some(self.nudge_seq) { self.nudge_seq - 1 } else { self.nudge_seq };
        latest > 0 && self.acknowledged >= latest
    }

    /// A person looked at the pane.
    pub(crate) fn see(&mut self, seq: u64) {
        self.seen = self.seen.max(seq);
    }

    /// A person said that they know.
    pub(crate) fn acknowledge(&mut self, nudge_seq: u64, seq: u64) {
        self.acknowledged = self.acknowledged.max(nudge_seq.min(self.nudge_seq));
        self.acknowledged_at = self.acknowledged_at.max(seq);
        self.see(seq);
    }

    /// A notification went out.
    pub(crate) fn notified(&mut self, nudge_seq: u64) {
        self.notified = self.notified.max(nudge_seq.min(self.nudge_seq));
    }

    /// Whether a person said that they know of everything so far.
    pub fn is_acknowledged(&self) -> bool {
        self.nudge_seq > 0 && self.acknowledged >= self.nudge_seq
    }

    /// The call for which a notification should go out. A completion calls until somebody looks, though it may have
    /// aged into idleness; everything else calls while it is so.
    pub(crate) fn wants_notification(&self) -> Option<CallKind> {
        let last = self.calls.last().map(|call| call.kind);
        let own = || match self.calling.or(last)? {
            CallKind::Completion => self.unseen.then_some(CallKind::Completion),
            CallKind::Error | CallKind::Approval | CallKind::Input | CallKind::MailWaiting => self.calling,
        };
        let is_mail = self.mail_call == Some(self.nudge_seq);
        let kind = if is_mail { Some(CallKind::MailWaiting) } else { own() }?;
        (self.nudge_seq > self.notified && !self.is_acknowledged()).then_some(kind)
    }
}

impl Call {
    fn is_question(&self) -> bool {
        matches!(self.kind, CallKind::Approval | CallKind::Input)
    }

    /// Whether a call told by another source, or again by this one, is the same.
    fn covers(&self, other: &Self) -> bool {
        let is_said_alike = match (self.source.declares(), other.source.declares()) {
            _ if self.source == other.source => self.identity == other.identity,
            _ if !self.is_question() => true,
            (true, true) => self.identity == other.identity,
            (true, false) => !other.dialog,
            (false, true) => !self.dialog,
            (false, false) => true,
        };
        self.kind == other.kind && is_said_alike
    }

    /// Whether a fact is one by which this was told.
    fn is_told_by(&self, fact: &Weighed<'_>) -> bool {
        let is_of_kind = match fact.held.value.slot() {
            Slot::Blocked => self.is_question(),
            Slot::TurnEnded => !self.is_question(),
            Slot::TurnActive | Slot::Idle | Slot::Unblocked | Slot::Work | Slot::Background | Slot::Composer => false,
        };
        let said = fact.first.mark..=fact.held.last.mark;
        let mut told = std::iter::once((self.source, self.mark)).chain(self.also.iter().copied());
        is_of_kind && told.any(|(source, mark)| source == fact.source && said.contains(&mark))
    }

    /// Notes what became of it. As with facts, a guess settles guesses only.
    fn follow(&mut self, facts: &[Weighed<'_>], now: Timestamp) {
        if self.is_question() {
            let mut told = facts.iter().filter(|fact| self.is_told_by(fact)).peekable();
            if told.peek().is_some() {
                self.settled = told.all(Weighed::is_retired);
                self.gone_at = None;
            } else {
                self.gone_at = self.gone_at.or(Some(now));
            }
        } else {
            let is_guess = |source: Source| source.evidence() == Evidence::Guessed;
            let begins = |fact: &Weighed<'_>| {
                fact.held.value.slot() == Slot::TurnActive && (is_guess(self.source) || !is_guess(fact.source))
            };
            self.settled = facts.iter().any(|fact| begins(fact) && fact.held.last.mark > self.mark);
        }
    }

    /// Whether nothing has settled it. What a screen or file no longer shows may have flickered.
    fn stands(&self, now: Timestamp) -> bool {
        let is_there = self.gone_at.is_none_or(|gone| shows_questions(self.source) && now < gone + LAG);
        !self.settled && is_there
    }
}

/// The call that a deciding fact amounts to.
fn call(fact: &Weighed<'_>, state: State) -> Option<Call> {
    let text = fact.held.message.clone().unwrap_or_default();
    let (kind, identity) = match (&fact.held.value, state) {
        (Value::TurnEnded(Outcome::Failed { cause }), _) => (CallKind::Error, format!("{} {text}", cause.name())),
        (Value::TurnEnded(Outcome::Done), State::Completed) => (CallKind::Completion, text),
        (Value::Blocked(Blocking::Approval { subject, prompt_hash }), _) => {
            (CallKind::Approval, prompt_hash.clone().or_else(|| subject.clone()).unwrap_or(text))
        }
        (Value::Blocked(Blocking::Dialog { name }), _) => (CallKind::Input, name.clone().unwrap_or(text)),
        (Value::Blocked(Blocking::Input { .. }), _) => (CallKind::Input, text),
        _ => return None,
    };
    let dialog = matches!(fact.held.value, Value::Blocked(Blocking::Dialog { .. }));
    let (source, mark) = (fact.source, fact.held.last.mark);
    Some(Call { kind, identity, source, mark, also: Vec::new(), number: 0, dialog, settled: false, gone_at: None })
}

/// Log position of the completion that the strongest source tells of, if no later turn started. Old news counts: a
/// mark that nobody has looked stays until somebody does. A guess counts while it decides.
fn done(judgement: &Judgement<'_>) -> Option<u64> {
    let is_guess = |source: Source| source.evidence() == Evidence::Guessed;
    let guessed = judgement.verdict.source.is_some_and(is_guess);
    judgement
        .facts
        .iter()
        .filter(|w| matches!(w.held.value, Value::TurnEnded(Outcome::Done)) && !w.is_retired())
        .filter(|w| guessed || !is_guess(w.source))
        .max_by_key(|w| (w.source.evidence(), w.held.last.mark))
        .map(|w| w.held.last.seq)
}
