//! Whether an agent can be given its mail, and which of it.

use super::letter::{Category, Letter, MailId, Mode};
use super::post::{Delivery, Entry, Post};
use crate::engine::Engine;
use crate::event::ProcessState;
use crate::id::RuntimeId;
use crate::runtime::Runtime;
use crate::state::{Confidence, State};

/// How many bytes of messages one delivery holds at most.
const BATCH_BYTES: u64 = 64 * 1024;

/// Mail that can be delivered now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// To whom.
    pub runtime: RuntimeId,
    /// Which, in order.
    pub letters: Vec<MailId>,
}

/// What a message waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// The agent to have nothing left to do.
    Turn,
    /// The turn to end, whatever goes on in the background then.
    TurnEnd,
    /// What works in the background to end.
    Background,
    /// The conversation to be compacted: what is typed meanwhile can get lost.
    Compaction,
    /// Somebody to answer what the agent asks.
    Answer,
    /// The agent to be brought to the foreground.
    Suspended,
    /// The limit, or whatever else made the last turn fail, to pass.
    Failure,
    /// Anything to be known of the agent.
    Unknown,
    /// Somebody to send what they write, or to leave it alone for long enough.
    Draft,
    /// The delivery that is under way to end.
    Delivery,
    /// The pause after a delivery that could not be made.
    Retry,
    /// The time that was set for it.
    Time,
    /// The agent to say that it is ready.
    Busy,
    /// The next prompt of the person who has interrupted it.
    Interrupted,
}

impl Hindrance {
    /// The name used in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Turn => "waiting_for_idle",
            Self::TurnEnd => "waiting_for_the_turn_to_end",
            Self::Background => "waiting_for_background_work",
            Self::Compaction => "waiting_for_compaction",
            Self::Answer => "waiting_for_an_answer",
            Self::Suspended => "waiting_for_foreground",
            Self::Failure => "waiting_for_recovery",
            Self::Unknown => "waiting_to_know_the_state",
            Self::Draft => "waiting_for_a_draft",
            Self::Delivery => "waiting_for_a_delivery_under_way",
            Self::Retry => "waiting_to_try_again",
            Self::Time => "waiting_for_its_time",
            Self::Busy => "waiting_for_ready",
            Self::Interrupted => "waiting_for_the_next_prompt",
        }
    }
}

impl Engine {
    /// All mail that can be delivered now, so many messages at once at most.
    pub fn mail_due(&self, most: usize) -> Vec<Due> {
        let post = &self.state().mail;
        let boxes = post.boxes.iter().filter(|(_, mailbox)| !mailbox.queue.is_empty());
        boxes.filter_map(|(runtime, _)| self.due(post, runtime, most)).collect()
    }

    fn due(&self, post: &Post, runtime: &RuntimeId, most: usize) -> Option<Due> {
        let waiting = post.waiting_for(runtime);
        // Found out once for all that wait: there may be many, and they are asked for in every turn.
        let hindrances = Mode::ALL.map(|mode| (mode, self.hindrance(runtime, mode)));
        let of = |mode: Mode| hindrances.iter().find(|(of, _)| *of == mode).and_then(|(_, hindrance)| *hindrance);
        let free = waiting.into_iter().filter(|entry| keeps(entry, of(entry.letter.mode)).is_none());
        let letters = batch(free.take(most.max(1)));
        (!letters.is_empty()).then(|| Due { runtime: runtime.clone(), letters })
    }

    /// What keeps a message from being delivered now. One whose delivery is under way does not wait for that, but for the text
    /// that was in the way of the last one, if there was any.
    pub fn mail_hindrance(&self, entry: &Entry) -> Option<Hindrance> {
        let holds = |delivery: &Delivery| delivery.letters.contains(&entry.letter.id);
        let mailbox = self.state().mail.boxes.get(&entry.letter.to);
        if let Some(mailbox) = mailbox.filter(|mailbox| mailbox.under_way.as_ref().is_some_and(holds)) {
            return mailbox.draft.as_ref().map(|_| Hindrance::Draft);
        }
        keeps(entry, self.hindrance(&entry.letter.to, entry.letter.mode))
    }

    /// What keeps an agent from being given a message now.
    pub fn hindrance(&self, runtime: &RuntimeId, mode: Mode) -> Option<Hindrance> {
        let is_busy = mode == Mode::Sequential && self.state().mail.busy.contains_key(runtime);
        let is_interrupted = || mode != Mode::Urgent && self.interrupted_until(runtime).is_some();
        let occupation = self.occupation(runtime, mode).or(is_busy.then_some(Hindrance::Busy));
        occupation.or_else(|| is_interrupted().then_some(Hindrance::Interrupted))
    }

    /// Whether an agent has nothing left to do, whatever else keeps messages from it.
    pub fn is_idle(&self, runtime: &RuntimeId) -> bool {
        let living = self.state().topology.live(runtime);
        let is_free = living.is_some_and(|runtime| self.is_occupied(runtime, Mode::Sequential).is_none());
        is_free && !self.state().mail.busy.contains_key(runtime)
    }

    /// What an agent is seen to be at.
    fn occupation(&self, runtime: &RuntimeId, mode: Mode) -> Option<Hindrance> {
        let state = self.state();
        let mailbox = state.mail.boxes.get(runtime);
        if mailbox.is_some_and(|mailbox| mailbox.under_way.is_some()) {
            return Some(Hindrance::Delivery);
        }
        if mailbox.is_some_and(|mailbox| mailbox.put_aside.is_some()) {
            return Some(Hindrance::Draft);
        }
        if let Some(mailbox) = mailbox.filter(|mailbox| mailbox.retry_at.is_some()) {
            return Some(if mailbox.draft.is_some() { Hindrance::Draft } else { Hindrance::Retry });
        }
        let Some(runtime) = state.topology.live(runtime) else { return Some(Hindrance::Unknown) };
        self.is_occupied(runtime, mode)
    }

    /// Whether an agent is known to be in no turn and to ask nothing, as far as it matters to a message of that mode: for the most
    /// patient one nothing comes up by itself that takes its keys.
    pub fn is_at_rest(&self, runtime: &RuntimeId, mode: Mode) -> bool {
        self.state().topology.live(runtime).is_some_and(|runtime| self.is_occupied(runtime, mode).is_none())
    }

    fn is_occupied(&self, runtime: &Runtime, mode: Mode) -> Option<Hindrance> {
        if runtime.process_state.0 == ProcessState::Stopped {
            return Some(Hindrance::Suspended);
        }
        if self.blocking(runtime).is_some() {
            return Some(Hindrance::Answer);
        }
        let verdict = &runtime.verdict;
        match (verdict.state, verdict.reason.as_str()) {
            (State::Running, "compacting") => Some(Hindrance::Compaction),
            (State::WaitingApproval, _) | (State::WaitingInput, "dialog") => Some(Hindrance::Answer),
            // Whatever it does or did, it is looked at before anything is typed.
            _ if mode == Mode::Urgent => None,
            _ if verdict.confidence == Confidence::Low => Some(Hindrance::Unknown),
            (State::Running, _) if mode == Mode::Sequential => Some(Hindrance::Turn),
            (State::Running, _) => Some(Hindrance::TurnEnd),
            (State::Error, "rate_limit" | "usage_limit" | "auth" | "crashed") => Some(Hindrance::Failure),
            (State::Idle | State::Completed, "background_work") if mode == Mode::Sequential => {
                Some(Hindrance::Background)
            }
            (State::Idle | State::Completed | State::WaitingInput | State::Error, _) => None,
            (State::Unknown, _) => Some(Hindrance::Unknown),
        }
    }
}

/// For which mode an agent still has to be at rest when these messages are typed, if it has to. What is important may find a turn that
/// has just begun, unless it is a command: some agents run none in a turn.
pub fn rest_for<'a>(letters: impl IntoIterator<Item = &'a Letter>) -> Option<Mode> {
    let (mut patient, mut urgent) = (None, false);
    for letter in letters {
        urgent |= letter.mode == Mode::Urgent;
        let awaited = (letter.mode == Mode::Sequential || letter.command).then_some(letter.mode);
        patient = patient.into_iter().chain(awaited).min();
    }
    patient.filter(|_| !urgent)
}

/// What keeps a message from an agent that something keeps from messages of its mode.
pub(super) fn keeps(entry: &Entry, hindrance: Option<Hindrance>) -> Option<Hindrance> {
    let letter = &entry.letter;
    if entry.waits_until.is_some() {
        return Some(Hindrance::Time);
    }
    // Whoever is busy and wants to be reminded meanwhile is.
    let is_own = letter.category == Category::Reminder && letter.from.runtime() == Some(&letter.to);
    hindrance.filter(|hindrance| *hindrance != Hindrance::Busy || !is_own)
}

/// The first of those that wait, as many as go together; always one. A command goes alone.
fn batch<'a>(waiting: impl Iterator<Item = &'a Entry>) -> Vec<MailId> {
    let mut bytes = 0;
    let mut letters = Vec::new();
    for Entry { letter, .. } in waiting {
        bytes += letter.bytes;
        if (bytes > BATCH_BYTES || letter.command) && !letters.is_empty() {
            break;
        }
        letters.push(letter.id.clone());
        if letter.command {
            break;
        }
    }
    letters
}
