//! From the start of a daemon to the truth: every agent listed, and every pane read.

use std::time::Duration;

use anyhow::Result;

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::poller::Polling;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, millis, ratio};

const TRUTH: Duration = Duration::from_millis(150);
const STREAMS: Duration = Duration::from_secs(2);

/// Needs a fleet that no daemon watches. Leaves it so.
pub(crate) async fn measure(fleet: &Fleet, restarts: usize, polling: &Polling, report: &mut Report) -> Result<()> {
    // The first start has no log to replay; the figure is for a daemon that comes back.
    Daemon::settled(fleet).await?.stop()?;
    let mut truth = Samples::default();
    let mut streams = Samples::default();
    let panes = fleet.panes.len();
    for _ in 0..restarts {
        let daemon = Daemon::spawn(fleet)?;
        truth.push(daemon.wait_for_agents(panes).await?.1);
        streams.push(daemon.wait_for_streams(fleet).await?);
        daemon.stop()?;
    }
    let once = polling.cycles.p50();
    let figure = |name: &str, samples: &Samples, goal: Duration| Figure {
        name: format!("daemon start → {name}, {panes} agents"),
        measured: format!("{} (worst {:.0} of {restarts})", millis(samples.p50()), samples.p99().as_secs_f64() * 1e3),
        baseline: format!("one fork per pane, once: {}", millis(once)),
        ratio: Some(ratio(samples.p50(), once)),
        goal: Goal::new(format!("≤ {} ms", goal.as_millis()), samples.p50() <= goal),
    };
    report.add(figure("every agent listed", &truth, TRUTH));
    report.add(figure("every pane read", &streams, STREAMS));
    Ok(())
}
