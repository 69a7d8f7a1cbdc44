//! When a person has to know: calls for attention, each raised once.
//!
//! `nudge_seq` is the dedupe key of every notification, so it grows only for a call that is new. A call is the same as
//! an earlier one if it says the same, or if it is of the same kind and merely told by another source, as long as
//! nothing has settled the earlier one. A turn start settles everything; "unblocked" settles questions. Redraws (F4),
//! replays after a restart (F6), stale-and-back and duplicates (F80) therefore stay silent, and the same question asked
//! again in the next turn does not. One statement calls once, also where it stands again after somebody else's turn start.

use serde::{Deserialize, Serialize};

use crate::facts::{Slot, Value};
use crate::ordering::Mark;
use crate::resolve::{Judgement, Weighed};
use crate::signal::{Blocking, Evidence, Outcome, Source};
use crate::state::State;

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
    /// The latest calls, at most [`AttentionRecord::CALLS`], newest last. Settled ones are kept: what settled them may
    /// be taken back, and then they must not be raised again.
    calls: Vec<Call>,
}

impl AttentionRecord {
    const CALLS: usize = 32;

    /// Compares a new judgement with the calls raised before. Says whether anything that is shown changed.
    pub(crate) fn update(&mut self, judgement: &Judgement<'_>) -> bool {
        let before = (self.nudge_seq, self.calling, self.unseen);
        self.unseen = done(&judgement.facts).is_some_and(|seq| seq > self.seen);
        let call = judgement
            .deciding
            .filter(|_| judgement.verdict.state != State::Unknown)
            // What was found on a screen was said long ago, and whoever it called may have come and gone.
            .filter(|place| judgement.facts[*place].source != Source::Scrollback)
            .and_then(|place| call(&judgement.facts[place], judgement.verdict.state));
        self.calling = call.as_ref().map(|call| call.kind);
        let stands = |raised: &Call| !is_settled(raised, &judgement.facts);
        let known = |call: &Call| {
            self.calls.iter().any(|raised| raised.covers(call) && (raised.mark == call.mark || stands(raised)))
        };
        if let Some(call) = call.filter(|call| !known(call)) {
            if self.calls.len() >= Self::CALLS {
                self.calls.remove(0);
            }
            self.calls.push(call);
            self.nudge_seq += 1;
        }
        before != (self.nudge_seq, self.calling, self.unseen)
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

/// Whether later statements have settled a call. As with facts, a guess settles guesses only.
fn is_settled(call: &Call, facts: &[Weighed<'_>]) -> bool {
    let guess = call.source.evidence() == Evidence::Guessed;
    let settles = |fact: &Weighed<'_>| match fact.held.value.slot() {
        Slot::TurnActive => true,
        Slot::Unblocked => {
            // What was declared is not settled by a tool that returned.
            let concerns = !call.source.declares() || fact.source == call.source;
            concerns && matches!(call.kind, CallKind::Approval | CallKind::Input)
        }
        Slot::TurnEnded | Slot::Idle | Slot::Blocked | Slot::Work | Slot::Background | Slot::Composer => false,
    };
    facts.iter().any(|fact| {
        fact.held.last.mark > call.mark && settles(fact) && (guess || fact.source.evidence() > Evidence::Guessed)
    })
}

impl Call {
    fn covers(&self, other: &Self) -> bool {
        self.kind == other.kind && (self.identity == other.identity || self.source != other.source)
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
    Some(Call { kind, identity, source: fact.source, mark: fact.held.last.mark })
}

/// Log position of the completion that the strongest source tells of, if no later turn started. Old news counts: a
/// mark that nobody has looked stays until somebody does.
fn done(facts: &[Weighed<'_>]) -> Option<u64> {
    facts
        .iter()
        .filter(|w| matches!(w.held.value, Value::TurnEnded(Outcome::Done)) && !w.is_retired())
        .max_by_key(|w| (w.source.evidence(), w.held.last.mark))
        .map(|w| w.held.last.seq)
}
