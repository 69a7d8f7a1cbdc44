//! What a hook costs the agent that runs it, and how soon what it says is seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::daemon::Daemon;
use crate::fleet::Fleet;
use crate::follower::Follower;
use crate::probe::Probe;
use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, ratio};

/// What `agtmux setup` has agents run, as `scripts/build` makes it; without that, as cargo does.
pub(crate) fn program() -> String {
    std::env::var("AGTMUX_BENCH_HOOK").unwrap_or_else(|_| env!("CARGO_BIN_EXE_agtmux-hook").to_owned())
}

const P50: Duration = Duration::from_millis(2);
const P99: Duration = Duration::from_millis(20);

/// Says that this program is to time hooks rather than to measure a fleet: an agent runs it, so that the hooks have that
/// agent among their ancestors.
pub(crate) const TIMER: &str = "--time-hooks";

/// What Claude says at the end of a turn.
fn stop() -> String {
    let payload = json!({
        "session_id": "08a8c7a0-18ba-473f-b56d-3c06225bf2d8", "transcript_path": "/home/dev/t.jsonl", "cwd": "/home/dev",
        "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": "done", "background_tasks": [],
    });
    payload.to_string()
}

/// Exec to exit, with a daemon and then without one. The daemon is stopped by that.
pub(crate) async fn exec(fleet: &Fleet, daemon: Daemon, runs: usize, report: &mut Report) -> Result<()> {
    let empty = empty_program(fleet)?;
    let payload = fleet.root().join("stop.json");
    fs::write(&payload, stop())?;
    let timer = std::env::current_exe()?;
    let command = format!("{} {TIMER} \"$order\" {runs} {} {}", timer.display(), empty.display(), payload.display());
    let mut probe = Probe::start(fleet, &daemon, &command).await?;
    let mut daemon = Some(daemon);
    for (circumstance, name) in [("a daemon that takes it", "up"), ("no daemon: into the spool", "down")] {
        if name == "down" {
            daemon.take().map_or(Ok(()), Daemon::stop)?;
        }
        let times = fleet.root().join(name);
        probe.order(&times.display().to_string())?;
        probe.done()?;
        let (ours, nothing) = read_times(&times)?;
        report.add(Figure {
            name: format!("`agtmux-hook hook claude Stop`, exec to exit, {circumstance}"),
            measured: ours.text(),
            baseline: format!("an empty static program: {}", nothing.text()),
            ratio: Some(ratio(ours.p50(), nothing.p50())),
            goal: Goal::new("p50 ≤ 2×", ours.p50() <= nothing.p50() * 2),
        });
    }
    let spooled = fs::read_dir(fleet.paths.spool_dir())?.count();
    ensure!(spooled == runs, "{spooled} of {runs} hooks are in the spool");
    Ok(())
}

/// The least that can be started: a static program without a line.
fn empty_program(fleet: &Fleet) -> Result<PathBuf> {
    let (source, program) = (fleet.root().join("empty.rs"), fleet.root().join("empty"));
    fs::write(&source, "fn main() {}\n")?;
    let built = Command::new("rustc")
        .args(["-O", "-C", "target-feature=+crt-static", "-C", "panic=abort", "-o"])
        .args([&program, &source])
        .status()
        .context("rustc")?;
    ensure!(built.success(), "the empty program could not be built");
    Ok(program)
}

/// Times hooks and the empty program in turns, and writes down both.
pub(crate) fn time(arguments: &[String]) -> Result<()> {
    let [times, runs, empty, payload] = arguments else { anyhow::bail!("{TIMER} FILE RUNS PROGRAM PAYLOAD") };
    let mut lines = Vec::new();
    for _ in 0..runs.parse::<usize>()? {
        let hook = timed(Command::new(program()).args(["hook", "claude", "Stop"]), payload)?;
        let nothing = timed(&mut Command::new(empty), payload)?;
        lines.push(format!("{} {}\n", hook.as_nanos(), nothing.as_nanos()));
    }
    Ok(fs::write(times, lines.concat())?)
}

fn timed(command: &mut Command, payload: &str) -> Result<Duration> {
    command.stdin(fs::File::open(payload)?).stdout(Stdio::null()).stderr(Stdio::null());
    let since = Instant::now();
    let status = command.status()?;
    let elapsed = since.elapsed();
    ensure!(status.success(), "{command:?} failed");
    Ok(elapsed)
}

fn read_times(times: &Path) -> Result<(Samples, Samples)> {
    let (mut ours, mut nothing) = (Samples::default(), Samples::default());
    for line in fs::read_to_string(times)?.lines() {
        let (hook, empty) = line.split_once(' ').context("a line without a space")?;
        ours.push(Duration::from_nanos(hook.parse()?));
        nothing.push(Duration::from_nanos(empty.parse()?));
    }
    Ok((ours, nothing))
}

/// From the order to run a hook to a follower of the stream; the baseline is the same agent running a program that does
/// nothing.
pub(crate) async fn to_stream(fleet: &Fleet, daemon: &Daemon, runs: usize, report: &mut Report) -> Result<()> {
    let session =
        json!({ "session_id": "s", "transcript_path": "/t", "cwd": "/", "tool_name": "Bash", "prompt": "go" });
    let said = [("running", "UserPromptSubmit"), ("waiting_approval", "PermissionRequest")];
    for (state, event) in said {
        let mut payload = session.clone();
        payload["hook_event_name"] = event.into();
        payload["tool_input"] = json!({ "command": "touch x" });
        fs::write(fleet.root().join(state), payload.to_string())?;
    }
    let command = format!("{} hook claude <{}/$order", program(), fleet.root().display());
    let mut probe = Probe::start(fleet, daemon, &command).await?;
    let mut follower = Follower::open(&daemon.client).await?;
    let mut ours = Samples::default();
    let mut nothing = Samples::default();
    for run in 0..runs {
        let (state, _) = said[run % 2];
        let since = Instant::now();
        probe.order(state)?;
        ours.push(follower.wait_for(|frame| Probe::is_shown_as(frame, state)).await? - since);
        probe.done()?;
        let since = Instant::now();
        probe.nothing()?;
        nothing.push(since.elapsed());
    }
    let beyond = |ours: Duration, nothing: Duration| ours.saturating_sub(nothing);
    let met = beyond(ours.p50(), nothing.p50()) <= P50 && beyond(ours.p99(), nothing.p50()) <= P99;
    report.add(Figure {
        name: format!("hook run by an agent → stream, {} agents", fleet.panes.len()),
        measured: ours.text(),
        baseline: format!("the agent runs `/bin/true`: {}", nothing.text()),
        ratio: Some(ratio(ours.p50(), nothing.p50())),
        goal: Goal::new("p50 ≤ 2, p99 ≤ 20 ms beyond `/bin/true`", met),
    });
    Ok(())
}
