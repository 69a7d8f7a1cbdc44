//! `agtmux list panes --json` against one fork of `tmux list-panes` that shows as much.

use anyhow::Result;

use super::exec::timed;
use crate::fleet::Fleet;
use crate::poller::FULL_FORMAT;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, ratio};

/// The size of fleet that the goal is for.
const GOAL_AT: usize = 500;

/// Needs a daemon that has settled.
pub(crate) fn measure(fleet: &Fleet, runs: usize, report: &mut Report) -> Result<()> {
    let mut ours = Samples::default();
    let mut tmux = Samples::default();
    for _ in 0..runs {
        ours.push(timed(fleet.agtmux().args(["list", "panes", "--json"]))?);
        tmux.push(timed(fleet.tmux().args(["list-panes", "-a", "-F", FULL_FORMAT]))?);
    }
    let panes = fleet.panes.len();
    let ratio = ratio(ours.p50(), tmux.p50());
    report.add(Figure {
        name: format!("`agtmux list panes --json`, {panes} agents"),
        measured: ours.text(),
        baseline: format!("`tmux list-panes -a`, ten fields: {}", tmux.text()),
        ratio: Some(ratio),
        goal: if panes >= GOAL_AT { Goal::new("≤ 0.5×", ratio <= 0.5) } else { None },
    });
    Ok(())
}
