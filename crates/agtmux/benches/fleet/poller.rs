//! What a watcher without a push channel does: every two seconds fork `tmux list-panes`, then `tmux capture-pane` for
//! each pane. It is the baseline of several figures.

use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::fleet::Fleet;
use crate::process::{self, Meter};
use crate::stats::Samples;

/// How often such a watcher looks, if it can.
const EVERY: Duration = Duration::from_secs(2);

/// Everything that a list of panes shows, command and directory included.
pub(crate) const FULL_FORMAT: &str = "#{session_name}\t#{session_id}\t#{window_id}\t#{window_index}\t#{pane_id}\t#{pane_index}\t#{pane_pid}\t#{pane_title}\t#{pane_current_command}\t#{pane_current_path}";

/// What polling cost.
pub(crate) struct Polling {
    /// How long one look at all panes took.
    pub(crate) cycles: Samples,
    /// Percent of one core, tmux server and forked clients together.
    pub(crate) percent: f64,
}

impl Polling {
    /// How long after a change such a watcher sees it: in the middle and at worst.
    pub(crate) fn staleness(&self) -> (Duration, Duration) {
        let period = self.cycles.p50().max(EVERY);
        (period / 2, period)
    }
}

/// Polls for some rounds.
pub(crate) fn poll(fleet: &Fleet, rounds: usize) -> Result<Polling> {
    let own = std::process::id();
    let server = Meter::start([fleet.server_pid]);
    let clients = process::cpu_of_children(own);
    let since = Instant::now();
    let mut cycles = Samples::default();
    for _ in 0..rounds {
        let cycle = cycle(fleet)?;
        cycles.push(cycle);
        sleep(EVERY.saturating_sub(cycle));
    }
    let cpu = server.seconds().iter().sum::<f64>() + (process::cpu_of_children(own) - clients).as_secs_f64();
    Ok(Polling { cycles, percent: 100.0 * cpu / since.elapsed().as_secs_f64() })
}

/// One look at all panes.
fn cycle(fleet: &Fleet) -> Result<Duration> {
    let since = Instant::now();
    fleet.ask(&["list-panes", "-a", "-F", FULL_FORMAT])?;
    for pane in &fleet.panes {
        let status = fleet.tmux().args(["capture-pane", "-p", "-t", &pane.id]).stdout(Stdio::null()).status()?;
        ensure!(status.success(), "pane {} cannot be captured", pane.id);
    }
    Ok(since.elapsed())
}
