//! What watching costs while nothing happens: CPU of tmux, the daemon and its tmux clients, and memory.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::poller::Polling;
use crate::process::{Meter, resident_megabytes};
use crate::report::{Figure, Goal, Report};

/// Lets the start fade out: connections, the first snapshot, the last stream.
const SETTLE: Duration = Duration::from_secs(3);

/// The most memory that a daemon with a hundred agents may take, in megabytes.
const MEMORY: f64 = 30.0;

/// Needs a daemon that has settled. `alone` is what tmux costs without it, in percent.
pub(crate) async fn cpu(
    fleet: &Fleet,
    daemon: &Daemon,
    window: Duration,
    alone: f64,
    polling: &Polling,
    report: &mut Report,
) -> Result<()> {
    sleep(SETTLE).await;
    let pids = std::iter::once(fleet.server_pid).chain(daemon.pids());
    let meter = Meter::start(pids);
    sleep(window).await;
    let parts = meter.percent();
    let total: f64 = parts.iter().sum();
    let (tmux, ours) = (parts.first().copied().unwrap_or_default(), parts.get(1).copied().unwrap_or_default());
    report.add(Figure {
        name: format!("CPU, {} idle agents, over {} s", fleet.panes.len(), window.as_secs()),
        measured: format!("{total:.2} % of a core (tmux {tmux:.2}, daemon {ours:.2}; tmux unwatched {alone:.2})"),
        baseline: format!("fork per poll every 2 s: {:.0} %", polling.percent),
        ratio: Some(total / polling.percent),
        goal: Goal::new("≤ 0.5 %", total <= 0.5),
    });
    Ok(())
}

/// What an unwatched server costs while nothing happens, in percent of a core.
pub(crate) async fn unwatched(fleet: &Fleet, window: Duration) -> f64 {
    let meter = Meter::start([fleet.server_pid]);
    sleep(window).await;
    meter.percent().iter().sum()
}

/// The memory of a daemon, at a moment that is named: it depends on what the daemon has been through.
pub(crate) fn memory(fleet: &Fleet, daemon: &Daemon, when: &str, report: &mut Report) {
    let panes = fleet.panes.len();
    let ours = resident_megabytes(daemon.pid());
    let tmux = resident_megabytes(fleet.server_pid);
    report.add(Figure {
        name: format!("memory of the daemon, {panes} agents, {when}"),
        measured: format!("{ours:.1} MB"),
        baseline: format!("the tmux server: {tmux:.1} MB"),
        ratio: Some(ours / tmux),
        goal: if panes == 100 { Goal::new(format!("≤ {MEMORY:.0} MB"), ours <= MEMORY) } else { None },
    });
}
