//! How an agent ended: in order, or not.
//!
//! Owns the one rule by which the end of a process is called a crash. What nobody could tell of an end is no reason to cry: it
//! is then an exit like any other.

use crate::event::Ending;
use crate::state::State;

const HUP: i32 = 1;
const INT: i32 = 2;
const TERM: i32 = 15;

/// The statuses by which shells and many programs say that a signal ended what they ran, 128 and the signal.
const BY_SIGNAL: std::ops::RangeInclusive<i32> = 129..=159;

/// What is known of the end of an agent's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It ended itself with this status.
    Status(i32),
    /// This signal ended it.
    Signal(i32),
    /// It left standing what it removes when it ends in order.
    NoFarewell,
    /// Somebody had us end it.
    Wanted,
}

impl Exit {
    /// What an end means for an agent that was in this state.
    pub fn ending(self, state: State) -> Ending {
        let crashed = match self {
            Self::Status(status) if BY_SIGNAL.contains(&status) => is_crash(status - 128),
            // Outside of a turn it may be how the agent says that a dialog was declined, or that nothing was to be done.
            Self::Status(status) => status != 0 && is_in_turn(state),
            Self::Signal(signal) => is_crash(signal),
            Self::NoFarewell => true,
            Self::Wanted => false,
        };
        if crashed { Ending::Crashed } else { Ending::Exited }
    }
}

/// Three signals are how people and terminals ask a program to end. Whatever else ends one was not asked for.
const fn is_crash(signal: i32) -> bool {
    !matches!(signal, HUP | INT | TERM)
}

/// An agent that asks something of the person may well be between two turns; one that asks for permission is in one.
const fn is_in_turn(state: State) -> bool {
    matches!(state, State::Running | State::WaitingApproval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_in_order_is_told_from_a_crash() {
        use Ending::{Crashed, Exited};
        // What is known, and what it means at rest and in a turn.
        let table = [
            (Exit::Status(0), Exited, Exited),
            (Exit::Status(1), Exited, Crashed),
            (Exit::Status(2), Exited, Crashed),
            (Exit::Status(128), Exited, Crashed),
            (Exit::Status(255), Exited, Crashed),
            (Exit::Status(129), Exited, Exited),
            (Exit::Status(130), Exited, Exited),
            (Exit::Status(143), Exited, Exited),
            (Exit::Status(131), Crashed, Crashed),
            (Exit::Status(134), Crashed, Crashed),
            (Exit::Status(137), Crashed, Crashed),
            (Exit::Status(139), Crashed, Crashed),
            (Exit::Signal(HUP), Exited, Exited),
            (Exit::Signal(INT), Exited, Exited),
            (Exit::Signal(TERM), Exited, Exited),
            (Exit::Signal(3), Crashed, Crashed),
            (Exit::Signal(6), Crashed, Crashed),
            (Exit::Signal(9), Crashed, Crashed),
            (Exit::Signal(11), Crashed, Crashed),
            (Exit::NoFarewell, Crashed, Crashed),
            (Exit::Wanted, Exited, Exited),
        ];
        for (exit, at_rest, in_turn) in table {
            for state in State::ALL {
                let wanted = match state {
                    State::Running | State::WaitingApproval => in_turn,
                    State::Error | State::WaitingInput | State::Completed | State::Idle | State::Unknown => at_rest,
                };
                assert_eq!(exit.ending(state), wanted, "{exit:?} while {}", state.name());
            }
        }
    }
}
