//! What there is to show of a runtime beside its state: a person's text in the composer, and why it does not move.

use serde::{Deserialize, Serialize};

use crate::facts::{Slot, Value};
use crate::resolve::{Standing, Weighed};
use crate::signal::{Composer, Work};
use crate::state::State;

/// Beside the state. A pure function of a runtime's fresh facts, like the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// Somebody's unsent text is in the composer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    /// What keeps it from going on, or goes on beside the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
}

impl Details {
    /// Whether there is nothing to show.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads them off the facts.
    pub(crate) fn of(facts: &[Weighed<'_>], state: State) -> Self {
        // Whoever spoke last knows best: none of the sources tells all of this.
        let latest = |slot: Slot| {
            let fresh = facts.iter().filter(move |w| w.standing == Standing::Fresh && w.held.value.slot() == slot);
            fresh.max_by_key(|w| w.held.last.mark).map(|w| w.held)
        };
        let draft = latest(Slot::Composer).is_some_and(|held| held.value == Value::Composer(Composer::Draft));
        let work = latest(Slot::Work).filter(|_| state == State::Running).and_then(|held| match &held.value {
            Value::Work(Some(Work::Compacting)) => Some("compacting".to_owned()),
            Value::Work(Some(Work::Retrying { cause })) => Some(match &held.message {
                Some(message) => message.clone(),
                None => format!("retrying: {}", cause.name().replace('_', " ")),
            }),
            _ => None,
        });
        let count = match latest(Slot::Background).map(|held| &held.value) {
            Some(Value::Background(count)) if matches!(state, State::Running | State::Completed | State::Idle) => {
                *count
            }
            _ => 0,
        };
        let background = (count > 0).then(|| {
            let tasks = if count == 1 { "task" } else { "tasks" };
            format!("{count} background {tasks}")
        });
        Self { draft, doing: work.or(background) }
    }
}
