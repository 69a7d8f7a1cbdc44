//! What watching adds while agents write. Told per line, since a saturated tmux takes fewer lines, not more CPU.

use std::time::Duration;

use anyhow::Result;
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::feeder::{Feeder, RATE};
use crate::fleet::{Fleet, Pane};
use crate::poller;
use crate::process::Meter;
use crate::report::{Figure, Goal, Report};
use crate::stats::median;

/// How often the unwatched and the watched server take turns.
const ROUNDS: usize = 3;

/// Lets the start of a daemon, and that of the output, fade out.
const SETTLE: Duration = Duration::from_secs(1);

/// How much may be added to what tmux costs by itself.
const ADDED: f64 = 0.35;

/// What a stretch of output cost.
struct Load {
    /// CPU of the tmux server per line, in microseconds.
    tmux_per_line: f64,
    /// Percent of a core: tmux server and daemon.
    tmux: f64,
    daemon: f64,
    /// Lines per second that the terminals took.
    lines: f64,
}

/// Needs a fleet that no daemon watches. The first `writing` panes write.
pub(crate) async fn measure(fleet: &Fleet, writing: usize, window: Duration, report: &mut Report) -> Result<()> {
    let panes = &fleet.panes[..writing.min(fleet.panes.len())];
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(load(fleet, None, panes, window).await?);
        let daemon = Daemon::settled(fleet).await?;
        watched.push(load(fleet, Some(&daemon), panes, window).await?);
        daemon.stop()?;
    }
    let of = |loads: &[Load], figure: fn(&Load) -> f64| median(loads.iter().map(figure).collect());
    let (before, after) = (of(&alone, |load| load.tmux_per_line), of(&watched, |load| load.tmux_per_line));
    let what = format!("{} agents, {} of them × {RATE} lines/s", fleet.panes.len(), panes.len());
    report.add(Figure {
        name: format!("CPU of tmux per line of output, {what}"),
        measured: format!(
            "{after:.0} µs ({:.1} % of a core, {:.0} lines/s)",
            of(&watched, |load| load.tmux),
            of(&watched, |load| load.lines)
        ),
        baseline: format!(
            "tmux unwatched: {before:.0} µs ({:.1} %, {:.0} lines/s)",
            of(&alone, |load| load.tmux),
            of(&alone, |load| load.lines)
        ),
        ratio: Some(after / before),
        // The goal is for a fleet that writes. One pipe more to poll for each pane that does not is what any `pipe-pane` costs.
        goal: if panes.len() == fleet.panes.len() {
            Goal::new(format!("≤ +{:.0} %", 100.0 * ADDED), after <= before * (1.0 + ADDED))
        } else {
            None
        },
    });

    let feeder = Feeder::start(panes)?;
    let polling = poller::poll(fleet, ROUNDS)?;
    feeder.stop()?;
    let total = of(&watched, |load| load.tmux + load.daemon);
    report.add(Figure {
        name: format!("CPU of tmux and daemon, {what}"),
        measured: format!("{total:.1} % of a core (daemon {:.1})", of(&watched, |load| load.daemon)),
        baseline: format!(
            "tmux and fork per poll: {:.0} %, a look takes {:.1} s",
            polling.percent,
            polling.cycles.p50().as_secs_f64()
        ),
        ratio: Some(total / polling.percent),
        goal: None,
    });
    Ok(())
}

async fn load(fleet: &Fleet, daemon: Option<&Daemon>, panes: &[Pane], window: Duration) -> Result<Load> {
    let feeder = Feeder::start(panes)?;
    sleep(SETTLE).await;
    let fed = feeder.taken();
    let pids = std::iter::once(fleet.server_pid).chain(daemon.map(Daemon::pids).unwrap_or_default());
    let meter = Meter::start(pids);
    sleep(window).await;
    let seconds = meter.seconds();
    let percent = meter.percent();
    let lines = (feeder.taken() - fed) as f64;
    feeder.stop()?;
    let tmux = seconds.first().copied().unwrap_or_default();
    Ok(Load {
        tmux_per_line: 1e6 * tmux / lines,
        tmux: percent.first().copied().unwrap_or_default(),
        daemon: percent.iter().skip(1).sum(),
        lines: lines / window.as_secs_f64(),
    })
}
