//! Output of agents without agents: one thread that writes lines to the terminals of many panes.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use rustix::fs::{Mode, OFlags};

use crate::fleet::Pane;

/// Lines per second and pane.
pub(crate) const RATE: u32 = 10;

/// A line as agents write it: coloured, and of a usual length.
const LINE: &[u8] =
    b"\x1b[2m  \xe2\x8e\xbf \x1b[0m\x1b[38;5;114mtest result: ok.\x1b[0m 41 passed; 0 failed; finished in 0.31s\r\n";

pub(crate) struct Feeder {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    taken: AtomicU64,
}

impl Feeder {
    /// Writes to these panes from now on, evenly over time.
    pub(crate) fn start(panes: &[Pane]) -> Result<Self> {
        let flags = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let ttys: Result<Vec<File>, _> =
            panes.iter().map(|pane| rustix::fs::open(&pane.tty, flags, Mode::empty()).map(File::from)).collect();
        let ttys = ttys?;
        let shared = Arc::new(Shared::default());
        let for_thread = shared.clone();
        let thread = thread::spawn(move || feed(&ttys, &for_thread));
        Ok(Self { shared, thread })
    }

    /// How many lines the terminals took so far. Those that were full took none: tmux was behind.
    pub(crate) fn taken(&self) -> u64 {
        self.shared.taken.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_panic| anyhow!("the feeder panicked"))
    }
}

fn feed(ttys: &[File], shared: &Shared) {
    let between = Duration::from_secs(1) / (RATE * u32::try_from(ttys.len()).unwrap_or(1)).max(1);
    let mut due = Instant::now();
    for mut tty in ttys.iter().cycle() {
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        if tty.write(LINE).is_ok_and(|count| count == LINE.len()) {
            shared.taken.fetch_add(1, Ordering::Relaxed);
        }
        due += between;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
}
