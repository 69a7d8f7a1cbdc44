//! From something that happens in a pane to a follower of the stream: titles, ends, Ctrl-Z and starts.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::{Duration, Instant};

use agtmux_wire::list::PaneItem;
use agtmux_wire::stream::Frame;
use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::time::sleep;

use crate::cleanup::send;
use crate::daemon::Daemon;
use crate::fleet::{Fleet, Pane};
use crate::follower::Follower;
use crate::poller::Polling;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, ratio};

/// For what tmux or the kernel tells of.
const TOLD: Duration = Duration::from_millis(25);

/// For what an agent writes into its pane.
const MARKER_P50: Duration = Duration::from_millis(3);
const MARKER_P99: Duration = Duration::from_millis(20);

/// For what has to be looked for.
const SWEPT: Duration = Duration::from_secs(2);

/// The longest pause before a change, so that changes fall on every phase of what is done regularly.
const PHASES: Duration = Duration::from_millis(1_500);

/// How close changes follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// With time for everything that a change sets off.
    Apart,
    /// The next one as soon as the one before is seen, while the daemon may still be busy with it.
    BackToBack,
}

impl Pace {
    fn name(self) -> &'static str {
        match self {
            Self::Apart => "250 ms apart",
            Self::BackToBack => "back to back",
        }
    }

    async fn pause(self) {
        if self == Self::Apart {
            sleep(Duration::from_millis(250)).await;
        }
    }
}

/// What is measured, on what, and against what.
pub(crate) struct Changes<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) daemon: &'a Daemon,
    pub(crate) polling: &'a Polling,
}

impl Changes<'_> {
    /// Titles of panes, set by what runs in them.
    pub(crate) async fn titles(&self, panes: &[Pane], pace: Pace, report: &mut Report) -> Result<()> {
        let mut follower = Follower::open(&self.daemon.client).await?;
        let mut samples = Samples::default();
        for (run, pane) in panes.iter().enumerate() {
            pace.pause().await;
            let title = format!("working on {run}, {}", pace.name());
            let mut tty = OpenOptions::new().write(true).open(&pane.tty)?;
            let since = Instant::now();
            write!(tty, "\x1b]2;{title}\x07")?;
            let seen = follower
                .wait_for(|frame| shown(frame, &pane.id).is_some_and(|shown| shown.title.as_deref() == Some(&title)));
            samples.push(seen.await.with_context(|| format!("title of {}", pane.id))? - since);
        }
        self.add(&format!("title, {}", pace.name()), &samples, TOLD, report);
        Ok(())
    }

    /// Markers, written by what runs in a pane. Each says something new: one that repeats the last may be a redraw.
    pub(crate) async fn markers(&self, panes: &[Pane], report: &mut Report) -> Result<()> {
        let mut follower = Follower::open(&self.daemon.client).await?;
        let mut samples = Samples::default();
        for (run, pane) in panes.iter().enumerate() {
            let message = format!("question {run}");
            let mut tty = OpenOptions::new().write(true).open(&pane.tty)?;
            let since = Instant::now();
            write!(tty, "--<[schmux:needs_input:{message}]>--\r\n")?;
            let asks = |item: &PaneItem| item.attention.message.as_deref() == Some(message.as_str());
            let seen = follower.wait_for(|frame| shown(frame, &pane.id).is_some_and(asks));
            samples.push(seen.await.with_context(|| format!("marker of {}", pane.id))? - since);
        }
        let (middle, worst) = self.polling.staleness();
        report.add(Figure {
            name: format!("marker in a pane → stream, {} agents", self.fleet.panes.len()),
            measured: samples.text(),
            baseline: format!(
                "fork per poll: {:.0} ms, worst {:.0}",
                middle.as_secs_f64() * 1e3,
                worst.as_secs_f64() * 1e3
            ),
            ratio: Some(ratio(samples.p50(), middle)),
            goal: Goal::new("p50 ≤ 3, p99 ≤ 20 ms", samples.p50() <= MARKER_P50 && samples.p99() <= MARKER_P99),
        });
        Ok(())
    }

    /// Ends of agents whose pane ends with them.
    pub(crate) async fn ends(&self, panes: &[Pane], signal: Signal, pace: Pace, report: &mut Report) -> Result<()> {
        let mut follower = Follower::open(&self.daemon.client).await?;
        let mut samples = Samples::default();
        for pane in panes {
            pace.pause().await;
            let since = Instant::now();
            send(pane.pid, signal);
            let seen = follower.wait_for(|frame| {
                is_removed(frame, &pane.id) || shown(frame, &pane.id).is_some_and(|shown| shown.runtime_id.is_none())
            });
            samples.push(seen.await.with_context(|| format!("end of {}", pane.id))? - since);
        }
        let name = if signal == Signal::KILL { "`kill -9`" } else { "end" };
        self.add(&format!("{name}, {}", pace.name()), &samples, TOLD, report);
        Ok(())
    }

    /// Agents that are started from a shell, suspended with Ctrl-Z, and killed.
    pub(crate) async fn jobs(&self, runs: usize, report: &mut Report) -> Result<()> {
        self.fleet.ask(&["new-session", "-d", "-s", "shell", "exec bash --norc --noprofile -i"])?;
        let pane = self.fleet.ask(&["display-message", "-p", "-t", "=shell:", "#{pane_id}"])?.trim().to_owned();
        let mut follower = Follower::open(&self.daemon.client).await?;
        let (mut starts, mut stops, mut kills) = (Samples::default(), Samples::default(), Samples::default());
        for run in 0..runs {
            let pause = PHASES * u32::try_from((run * 7) % 10).unwrap_or_default() / 10;
            sleep(pause).await;
            let agent = format!("{} 2147483647", self.fleet.quiet_agent().display());
            let since = Instant::now();
            self.fleet.ask(&["send-keys", "-t", &pane, &agent, "Enter"])?;
            let (seen, pid) = follower
                .find(|frame| shown(frame, &pane).and_then(|shown| shown.pid))
                .await
                .context("start of an agent")?;
            starts.push(seen - since);

            sleep(pause).await;
            let since = Instant::now();
            self.fleet.ask(&["send-keys", "-t", &pane, "C-z"])?;
            let seen = follower.wait_for(|frame| {
                shown(frame, &pane).is_some_and(|shown| shown.reason_code.as_deref() == Some("suspended"))
            });
            stops.push(seen.await.context("Ctrl-Z")? - since);

            let since = Instant::now();
            send(pid, Signal::KILL);
            let seen = follower.wait_for(|frame| shown(frame, &pane).is_some_and(|shown| shown.runtime_id.is_none()));
            kills.push(seen.await.context("end of a job")? - since);
        }
        self.add("start from a shell", &starts, SWEPT, report);
        self.add("Ctrl-Z", &stops, SWEPT, report);
        self.add("`kill -9` of a job", &kills, TOLD, report);
        self.fleet.ask(&["kill-session", "-t", "=shell"]).map(|_| ())
    }

    fn add(&self, what: &str, samples: &Samples, goal: Duration, report: &mut Report) {
        let (middle, worst) = self.polling.staleness();
        report.add(Figure {
            name: format!("{what} → stream, {} agents", self.fleet.panes.len()),
            measured: samples.text(),
            baseline: format!(
                "fork per poll: {:.0} ms, worst {:.0}",
                middle.as_secs_f64() * 1e3,
                worst.as_secs_f64() * 1e3
            ),
            ratio: Some(ratio(samples.p50(), middle)),
            goal: Goal::new(format!("p99 ≤ {} ms", goal.as_millis()), samples.p99() <= goal),
        });
    }
}

fn shown<'a>(frame: &'a Frame, pane: &str) -> Option<&'a PaneItem> {
    let (Frame::Snapshot { panes, .. } | Frame::Change { panes, .. }) = frame;
    panes.iter().find(|item| item.identity.pane_id == pane)
}

fn is_removed(frame: &Frame, pane: &str) -> bool {
    match frame {
        Frame::Snapshot { panes, .. } => panes.iter().all(|item| item.identity.pane_id != pane),
        Frame::Change { removed, .. } => removed.iter().any(|gone| gone.identity.pane_id == pane),
    }
}
