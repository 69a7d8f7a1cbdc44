//! From a signal to a follower of the stream: posted on a kept connection, and by `agtmux signal` in a pane.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use agtmux_wire::list::PaneItem;
use agtmux_wire::stream::Frame;
use anyhow::{Context, Result};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::json;
use tokio::time::sleep;

use crate::daemon::Daemon;
use crate::fleet::{AGTMUX, Fleet};
use crate::follower::Follower;
use crate::http::Connection;
use crate::probe::Probe;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, ratio};

const P50: Duration = Duration::from_millis(2);
const P99: Duration = Duration::from_millis(20);

/// What lies between two lines in a status file.
const APART: Duration = Duration::from_millis(25);

/// Each signal changes the state, so that each is seen.
const STATES: [&str; 2] = ["running", "waiting_input"];

/// Needs a daemon that has settled.
pub(crate) async fn posted(
    fleet: &Fleet,
    daemon: &Daemon,
    agents: &[PaneItem],
    runs: usize,
    report: &mut Report,
) -> Result<()> {
    let mut follower = Follower::open(&daemon.client).await?;
    let mut connection = Connection::open(daemon.client.socket()).await?;
    let mut notice = FileNotice::new(fleet.root())?;
    let mut ours = Samples::default();
    let mut file = Samples::default();
    for run in 0..runs {
        let agent = agents.get(run % agents.len()).context("there are no agents")?;
        let state = STATES[(run / agents.len()) % 2];
        let body = json!({ "state": state, "message": format!("run {run}"), "runtime_id": agent.runtime_id });
        let since = Instant::now();
        let answer = connection.post("/v1/events", &body).await?;
        let seen = follower
            .wait_for(|frame| shows(frame, agent, state))
            .await
            .with_context(|| format!("the daemon answered {}", String::from_utf8_lossy(&answer)))?;
        ours.push(seen - since);
        file.push(notice.round(run)?);
    }
    let met = ours.p50() <= P50 && ours.p99() <= P99;
    report.add(Figure {
        name: format!("`POST /v1/events` → stream, {} agents", agents.len()),
        measured: ours.text(),
        baseline: format!("a file written → inotify → read: {}", file.text()),
        ratio: Some(ratio(ours.p50(), file.p50())),
        goal: Goal::new("p50 ≤ 2, p99 ≤ 20 ms", met),
    });
    Ok(())
}

fn shows(frame: &Frame, agent: &PaneItem, state: &str) -> bool {
    let (Frame::Snapshot { panes, .. } | Frame::Change { panes, .. }) = frame;
    panes.iter().any(|pane| pane.runtime_id == agent.runtime_id && pane.state.as_deref() == Some(state))
}

/// The fastest way in which one process can learn of what another wrote to a file.
struct FileNotice {
    file: PathBuf,
    watch: rustix::fd::OwnedFd,
}

impl FileNotice {
    fn new(dir: &Path) -> Result<Self> {
        let file = dir.join("notice");
        let watch = inotify::init(CreateFlags::CLOEXEC)?;
        inotify::add_watch(&watch, dir, WatchFlags::CLOSE_WRITE)?;
        Ok(Self { file, watch })
    }

    fn round(&mut self, run: usize) -> Result<Duration> {
        let since = Instant::now();
        std::fs::write(&self.file, format!("running run {run}\n"))?;
        let mut buffer = [std::mem::MaybeUninit::uninit(); 1024];
        inotify::Reader::new(self.watch.as_fd(), &mut buffer).next()?;
        std::fs::read(&self.file)?;
        Ok(since.elapsed())
    }
}

/// A line in the status file of an agent.
pub(crate) async fn status_file(fleet: &Fleet, daemon: &Daemon, runs: usize, report: &mut Report) -> Result<()> {
    let _probe = Probe::start(fleet, daemon, "true").await?;
    let mut follower = Follower::open(&daemon.client).await?;
    let mut notice = FileNotice::new(fleet.root())?;
    let file = Probe::status_file(fleet);
    // Found and watched before the first measured line.
    std::fs::write(&file, "working\n")?;
    follower.wait_for(|frame| Probe::is_shown_as(frame, "running")).await.context("the status file is not watched")?;
    let mut ours = Samples::default();
    let mut bare = Samples::default();
    for run in 0..runs {
        // A file that has just told something is left alone for some milliseconds: what is written next counts as a burst.
        sleep(APART).await;
        let (word, state) = [("needs_input", "waiting_input"), ("working", "running")][run % 2];
        let since = Instant::now();
        std::fs::write(&file, format!("{word} run {run}\n"))?;
        ours.push(follower.wait_for(|frame| Probe::is_shown_as(frame, state)).await? - since);
        bare.push(notice.round(run)?);
    }
    report.add(Figure {
        name: format!("status file → stream, {} agents", fleet.panes.len()),
        measured: ours.text(),
        baseline: format!("a file written → inotify → read: {}", bare.text()),
        ratio: Some(ratio(ours.p50(), bare.p50())),
        goal: Goal::new("p50 ≤ 2, p99 ≤ 20 ms", ours.p50() <= P50 && ours.p99() <= P99),
    });
    Ok(())
}

/// `agtmux signal`, run by an agent of its own; the baseline is the same agent running a program that does nothing.
pub(crate) async fn command(fleet: &Fleet, daemon: &Daemon, runs: usize, report: &mut Report) -> Result<()> {
    let mut probe = Probe::start(fleet, daemon, &format!("{AGTMUX} signal \"$order\"")).await?;
    let mut follower = Follower::open(&daemon.client).await?;
    let mut ours = Samples::default();
    let mut nothing = Samples::default();
    for run in 0..runs {
        let state = STATES[run % 2];
        let since = Instant::now();
        probe.order(state)?;
        ours.push(follower.wait_for(|frame| Probe::is_shown_as(frame, state)).await? - since);
        probe.done()?;
        let since = Instant::now();
        probe.nothing()?;
        nothing.push(since.elapsed());
    }
    report.add(Figure {
        name: format!("`agtmux signal` run by an agent → stream, {} agents", fleet.panes.len()),
        measured: ours.text(),
        baseline: format!("the agent runs `/bin/true`: {}", nothing.text()),
        ratio: Some(ratio(ours.p50(), nothing.p50())),
        goal: None,
    });
    Ok(())
}
