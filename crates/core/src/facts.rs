//! What one source says about one runtime: the latest statement of each kind, with its place in time and its expiry.
//!
//! Facts, not a dot. A source's facts depend on that source's statements alone; what they mean together is
//! [`crate::resolve`]'s question. That is why sources may interleave in any way without changing the answer (I6).

use serde::{Deserialize, Serialize};

use crate::ordering::{Cursor, Mark};
use crate::policy::FactKind;
use crate::signal::{Blocking, Composer, Outcome, Signal, Work};
use crate::time::{Span, Timestamp};

/// What is held to be so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", content = "of", rename_all = "snake_case")]
pub enum Value {
    /// A turn is under way.
    TurnActive,
    /// The last turn ended so.
    TurnEnded(Outcome),
    /// No turn is under way. Says nothing about how the last one ended, and so never hides it (F9, F10).
    Idle,
    /// The agent waits for the person.
    Blocked(Blocking),
    /// It does not wait any more.
    Unblocked {
        /// Whether that proves a turn. Approvals and questions belong to one, a dialog may come up without.
        in_turn: bool,
    },
    /// What it is busy with inside the turn; none between two pieces of work.
    Work(Option<Work>),
    /// How many background tasks run.
    Background(u32),
    /// What is in its input box.
    Composer(Composer),
}

/// Facts that replace each other. Finer than [`FactKind`]: an end and the idleness after it are told by different
/// events and must not overwrite each other, and neither must a question and the news that one was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Slot {
    TurnActive,
    TurnEnded,
    Idle,
    Blocked,
    Unblocked,
    Work,
    Background,
    Composer,
}

impl Value {
    /// What a signal says is so. None for signals that speak about other statements, or say nothing usable.
    pub(crate) fn of(signal: &Signal) -> Option<Self> {
        Some(match signal {
            Signal::TurnStarted => Self::TurnActive,
            Signal::TurnEnded { outcome } => Self::TurnEnded(*outcome),
            Signal::Idle => Self::Idle,
            Signal::Blocked { on } => Self::Blocked(on.clone()),
            Signal::Unblocked => Self::Unblocked { in_turn: true },
            Signal::Working { with } => Self::Work(Some(with.clone())),
            Signal::WorkEnded => Self::Work(None),
            Signal::Background { count } => Self::Background(*count),
            Signal::Composer { is } => Self::Composer(is.clone()),
            Signal::StillSo | Signal::Withdrawn | Signal::Unsupported { .. } => return None,
        })
    }

    pub(crate) fn slot(&self) -> Slot {
        match self {
            Self::TurnActive => Slot::TurnActive,
            Self::TurnEnded(_) => Slot::TurnEnded,
            Self::Idle => Slot::Idle,
            Self::Blocked(_) => Slot::Blocked,
            Self::Unblocked { .. } => Slot::Unblocked,
            Self::Work(_) => Slot::Work,
            Self::Background(_) => Slot::Background,
            Self::Composer(_) => Slot::Composer,
        }
    }

    /// Proves that a turn goes on, unless it is known to be over.
    pub(crate) fn is_activity(&self) -> bool {
        matches!(self, Self::TurnActive | Self::Work(_) | Self::Unblocked { in_turn: true })
    }

    /// Says which state the runtime is in; the others colour it.
    pub(crate) fn bears_state(&self) -> bool {
        self.is_activity() || matches!(self, Self::TurnEnded(_) | Self::Idle | Self::Blocked(_))
    }

    /// The kind under which its lifetime is looked up. That something was answered is news of the turn that goes on.
    pub fn kind(&self) -> FactKind {
        match self {
            Self::TurnActive | Self::Unblocked { .. } => FactKind::TurnActive,
            Self::TurnEnded(_) | Self::Idle => FactKind::TurnEnded,
            Self::Blocked(_) => FactKind::Blocking,
            Self::Work(_) => FactKind::Work,
            Self::Background(_) => FactKind::Background,
            Self::Composer(_) => FactKind::Composer,
        }
    }
}

impl Slot {
    /// A turn begins or ends here.
    pub(crate) const fn is_boundary(self) -> bool {
        matches!(self, Self::TurnActive | Self::TurnEnded | Self::Idle)
    }
}

/// One time that something was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Place among all statements about the runtime.
    pub mark: Mark,
    /// Position in the log.
    pub seq: u64,
    /// When the daemon took it in.
    pub at: Timestamp,
}

/// A fact as one source holds it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// What is so.
    pub value: Value,
    /// When it was last said.
    pub last: Said,
    /// The times it was said before that without the source saying otherwise, oldest first. They are kept so that a
    /// redraw that says the same again does not make it look new (F4), whatever turns out to lie between the two.
    /// Work goes on through all its tools. At most [`Held::EARLIER`]; then the second oldest is dropped.
    earlier: Vec<Said>,
    /// Place of the last statement or renewal.
    pub(crate) renewed: Mark,
    /// From then on it counts for nothing.
    pub expires_at: Timestamp,
    /// Text for the person.
    pub message: Option<String>,
}

impl Held {
    const EARLIER: usize = 15;

    /// Takes over the history of the statement it replaces, if it says the same.
    fn continues(&mut self, before: &mut Self) {
        let same = self.value == before.value && self.message == before.message;
        let slot = self.value.slot();
        if slot == Slot::Work || same && !slot.is_boundary() {
            self.earlier = std::mem::take(&mut before.earlier);
            if self.earlier.len() >= Self::EARLIER {
                self.earlier.remove(1);
            }
            self.earlier.push(before.last);
        }
    }

    /// The first time it was said after a place in history; the last time, if it was not said after it.
    pub(crate) fn first_after(&self, floor: Option<Mark>) -> Said {
        self.earlier.iter().copied().find(|said| Some(said.mark) > floor).unwrap_or(self.last)
    }
}

/// Everything remembered of one source of one runtime.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceRecord {
    /// How far it has been heard.
    pub cursor: Cursor,
    /// What it says, by slot.
    held: Vec<Held>,
    /// When it was last heard, repeats and latecomers apart.
    pub heard_at: Option<Timestamp>,
    /// Whether it ever said anything that a rule understands.
    pub usable: bool,
    /// When it last took back what it had said.
    pub withdrawn_at: Option<Timestamp>,
    /// The place of that: what was said before it stays taken back, however late it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withdrawn: Option<Mark>,
    /// What it said last, oldest first, each as its fingerprint; for sources that show again what they showed before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<u64>,
    /// Traces that no rule understands.
    pub near_misses: NearMisses,
    /// Repeats that changed nothing.
    pub duplicates: u64,
    /// Latecomers that changed nothing.
    pub out_of_order: u64,
}

/// Traces of one source that no rule understands (I10).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearMisses {
    /// How many.
    pub count: u64,
    /// When the first one came.
    pub first_at: Option<Timestamp>,
    /// What the last one was.
    pub last: Option<String>,
}

impl SourceRecord {
    /// More than stand in the part of a pane's history that is looked through.
    const STATEMENTS: usize = 64;

    /// What the source says.
    pub fn facts(&self) -> &[Held] {
        &self.held
    }

    /// What it says of that.
    pub(crate) fn fact(&self, slot: Slot) -> Option<&Held> {
        self.held.iter().find(|held| held.value.slot() == slot)
    }

    /// Keeps what was said, to know it again.
    pub(crate) fn remember(&mut self, fingerprint: u64) {
        if self.statements.len() >= Self::STATEMENTS {
            self.statements.remove(0);
        }
        self.statements.push(fingerprint);
    }

    /// Takes in an admitted signal. `holds` gives lifetimes.
    pub(crate) fn hear(
        &mut self,
        signal: &Signal,
        message: Option<&String>,
        said: Said,
        holds: impl Fn(FactKind) -> Span,
    ) {
        self.heard_at = Some(said.at);
        match signal {
            Signal::Unsupported { what } => {
                self.near_misses.count += 1;
                self.near_misses.first_at.get_or_insert(said.at);
                self.near_misses.last = Some(what.clone());
            }
            Signal::Withdrawn => {
                self.held.clear();
                self.withdrawn_at = Some(said.at);
                self.withdrawn = Some(said.mark);
            }
            Signal::StillSo => self.renew(said, &holds, |_| true),
            Signal::TurnStarted
            | Signal::TurnEnded { .. }
            | Signal::Idle
            | Signal::Blocked { .. }
            | Signal::Unblocked
            | Signal::Working { .. }
            | Signal::WorkEnded
            | Signal::Background { .. }
            | Signal::Composer { .. } => {
                if let Some(value) = Value::of(signal) {
                    self.usable = true;
                    self.say(self.in_context(value), message, said, &holds);
                }
            }
        }
    }

    /// Takes in a signal that was overtaken by later ones of this source. It counts where they left its slot alone; what
    /// they mean for it is for [`crate::resolve`] to say. Gives whether it counted.
    pub(crate) fn hear_late(
        &mut self,
        signal: &Signal,
        message: Option<&String>,
        said: Said,
        holds: impl Fn(FactKind) -> Span,
    ) -> bool {
        let Some(value) = Value::of(signal) else {
            return false;
        };
        let overtaken = |held: &Held| held.value.slot() == value.slot() && held.last.mark > said.mark;
        if self.withdrawn > Some(said.mark) || self.held.iter().any(overtaken) {
            return false;
        }
        self.usable = true;
        self.say(self.in_context(value), message, said, &holds);
        true
    }

    /// Reads a statement in the light of what the source said before.
    fn in_context(&self, value: Value) -> Value {
        let on_dialog = |held: &Held| matches!(held.value, Value::Blocked(Blocking::Dialog { .. }));
        match value {
            Value::Unblocked { .. } => Value::Unblocked { in_turn: !self.held.iter().any(on_dialog) },
            other => other,
        }
    }

    fn say(&mut self, value: Value, message: Option<&String>, said: Said, holds: &impl Fn(FactKind) -> Span) {
        let slot = value.slot();
        if matches!(slot, Slot::Blocked | Slot::Unblocked | Slot::Work) {
            // What happens inside a turn proves that the turn goes on, though it proves no new beginning.
            self.renew(said, holds, |slot| slot == Slot::TurnActive);
        }
        let mut held = Held {
            expires_at: said.at + holds(value.kind()),
            value,
            last: said,
            earlier: Vec::new(),
            renewed: said.mark,
            message: message.cloned(),
        };
        match self.held.binary_search_by_key(&slot, |held| held.value.slot()) {
            Ok(place) => {
                held.continues(&mut self.held[place]);
                self.held[place] = held;
            }
            Err(place) => self.held.insert(place, held),
        }
    }

    fn renew(&mut self, said: Said, holds: &impl Fn(FactKind) -> Span, which: impl Fn(Slot) -> bool) {
        for held in self.held.iter_mut().filter(|held| which(held.value.slot())) {
            held.renewed = held.renewed.max(said.mark);
            held.expires_at = held.expires_at.max(said.at + holds(held.value.kind()));
        }
    }
}
