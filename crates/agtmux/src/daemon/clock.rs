//! The daemon's wall clock: read once, then carried forward on the boot clock.
//!
//! Events are stamped with it and lifetimes are measured on it, so it must neither jump nor stand still during
//! suspend. It starts no earlier than the newest event of the log, whatever the machine's clock says by then.

use agtmux_core::time::Timestamp;

use crate::platform;

/// A clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall_ms: i64,
    boot_ns: u64,
}

impl Clock {
    /// A clock that shows the machine's time, but not before `not_before`.
    pub fn start(not_before: Timestamp) -> Self {
        let wall_ms = jiff::Timestamp::now().as_millisecond();
        Self { wall_ms: wall_ms.max(not_before.0), boot_ns: platform::boot_clock_ns() }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        let elapsed = platform::boot_clock_ns().saturating_sub(self.boot_ns) / 1_000_000;
        Timestamp(self.wall_ms.saturating_add(i64::try_from(elapsed).unwrap_or(i64::MAX)))
    }
}
