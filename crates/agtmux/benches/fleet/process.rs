//! What processes cost, as the kernel counts it.

use std::fs;
use std::time::{Duration, Instant};

/// Ticks per second of the times in `/proc/PID/stat`; fixed for programs on Linux.
const TICKS: f64 = 100.0;

/// CPU time of a few processes over a stretch of time.
pub(crate) struct Meter {
    pids: Vec<u32>,
    before: Vec<Duration>,
    since: Instant,
}

impl Meter {
    pub(crate) fn start(pids: impl IntoIterator<Item = u32>) -> Self {
        let pids: Vec<u32> = pids.into_iter().collect();
        let before = pids.iter().map(|pid| cpu(*pid)).collect();
        Self { pids, before, since: Instant::now() }
    }

    /// Seconds of CPU that each process used.
    pub(crate) fn seconds(&self) -> Vec<f64> {
        self.pids
            .iter()
            .zip(&self.before)
            .map(|(pid, before)| cpu(*pid).saturating_sub(*before).as_secs_f64())
            .collect()
    }

    /// Percent of one core that each process used.
    pub(crate) fn percent(&self) -> Vec<f64> {
        let elapsed = self.since.elapsed().as_secs_f64();
        self.seconds().into_iter().map(|seconds| 100.0 * seconds / elapsed).collect()
    }
}

/// CPU time that a process used so far, with that of the children it has waited for. The scheduler counts running
/// threads by the nanosecond; threads that have ended are in the tick counts only, so the larger of both is taken.
fn cpu(pid: u32) -> Duration {
    let times = stat_fields(pid);
    let ticks = |field: usize| times.get(field).copied().unwrap_or_default() / TICKS;
    let own = ticks(0) + ticks(1);
    let children = ticks(2) + ticks(3);
    Duration::from_secs_f64(scheduled(pid).as_secs_f64().max(own) + children)
}

/// CPU time of the children that a process has waited for.
pub(crate) fn cpu_of_children(pid: u32) -> Duration {
    let times = stat_fields(pid);
    Duration::from_secs_f64(times.iter().skip(2).sum::<f64>() / TICKS)
}

fn scheduled(pid: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanos = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanos.sum())
}

/// `utime`, `stime`, `cutime` and `cstime`. The name before them may hold anything, so they are counted from its end.
fn stat_fields(pid: u32) -> Vec<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    after_name.split_whitespace().skip(11).take(4).filter_map(|field| field.parse().ok()).collect()
}

/// Memory of a process that is in RAM, in megabytes.
pub(crate) fn resident_megabytes(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() / 1024.0
}

/// Bytes that a process has written so far.
pub(crate) fn written(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

/// The processes whose parent is this one.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}
