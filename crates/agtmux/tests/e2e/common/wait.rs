//! Waiting for something to become so, never longer than a deadline.

use std::fmt::Display;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// For what has no promised time: generous, because the machine that runs the tests may be busy with much else.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// For what is promised to be seen within two seconds, which benchmarks show, on a machine that may be busy: less than the ten
/// seconds after which it would be seen in any case.
pub(crate) const PROMISED: Duration = Duration::from_secs(8);

const PAUSE: Duration = Duration::from_millis(10);

/// Polls until the closure succeeds. Its error is what was seen last, and part of the failure message.
#[track_caller]
pub(crate) fn wait_for<T, E: Display>(what: &str, look: impl FnMut() -> Result<T, E>) -> T {
    wait_within(DEADLINE, what, look)
}

/// As [`wait_for`], with a deadline of its own.
#[track_caller]
pub(crate) fn wait_within<T, E: Display>(deadline: Duration, what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let started = Instant::now();
    loop {
        // The time is read before the look, so that what a slow look found in time counts.
        let late = started.elapsed() > deadline;
        match look() {
            Ok(found) => return found,
            Err(seen) if late => panic!("waited {deadline:?} for {what}; seen last: {seen}"),
            Err(_) => sleep(PAUSE),
        }
    }
}
