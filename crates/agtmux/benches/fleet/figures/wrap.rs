//! What the wrapper adds: the same program on a terminal of its own, behind `agtmux-shim` and alone, in turns.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::pty::OpenptFlags;
use tempfile::TempDir;

use crate::report::{Figure, Goal, Report};
use crate::stats::{Samples, median, ratio};

const SHIM: &str = env!("CARGO_BIN_EXE_agtmux-shim");

/// Gives back every key at once.
const ECHO: &str = "stty raw -echo; printf '!'; exec cat";

/// A program on a terminal of the bench's.
struct Terminal {
    _dir: TempDir,
    ends: File,
    child: Child,
}

impl Terminal {
    fn start(wrapped: bool, line: &str) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("ab").tempdir_in("/tmp")?;
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags)?;
        rustix::pty::unlockpt(&master)?;
        let slave = rustix::pty::ioctl_tiocgptpeer(&master, flags)?;
        let mut command = Command::new("setsid");
        command.arg("--ctty").args(wrapped.then_some(SHIM)).args(["sh", "-c", line]);
        command.env(agtmux_shim::SOCKETS_VARIABLE, dir.path().join("shim"));
        command.stdin(Stdio::from(slave.try_clone()?)).stdout(Stdio::from(slave.try_clone()?));
        let child = command.stderr(Stdio::from(slave)).spawn()?;
        Ok(Self { _dir: dir, ends: File::from(master), child })
    }

    /// Reads so many bytes.
    fn read(&mut self, mut count: u64) -> Result<()> {
        let mut piece = [0; 65_536];
        while count > 0 {
            let most = piece.len().min(usize::try_from(count)?);
            let read = self.ends.read(&mut piece[..most])?;
            ensure!(read > 0, "the terminal ended with {count} bytes left");
            count -= read as u64;
        }
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A key and its echo, a flood of output, and the memory of the wrapper.
pub(crate) fn measure(keys: usize, megabytes: u64, report: &mut Report) -> Result<()> {
    latency(keys, report)?;
    throughput(megabytes, report)
}

fn latency(keys: usize, report: &mut Report) -> Result<()> {
    let (mut wrapped, mut bare) = (Terminal::start(true, ECHO)?, Terminal::start(false, ECHO)?);
    wrapped.read(1)?;
    bare.read(1)?;
    let (mut ours, mut alone) = (Samples::default(), Samples::default());
    for _ in 0..keys {
        for (terminal, samples) in [(&mut wrapped, &mut ours), (&mut bare, &mut alone)] {
            let since = Instant::now();
            terminal.ends.write_all(b"k")?;
            terminal.read(1)?;
            samples.push(since.elapsed());
        }
    }
    let added = ours.p99().saturating_sub(alone.p50());
    report.add(Figure {
        name: "a key and its echo, behind the wrapper".into(),
        measured: ours.text(),
        baseline: format!("without it: {}", alone.text()),
        ratio: Some(ratio(ours.p50(), alone.p50())),
        goal: Goal::new("p99 ≤ 1 ms beyond", added <= Duration::from_millis(1)),
    });
    let private = private_megabytes(wrapped.child.id())?;
    report.add(Figure {
        name: "private memory of the wrapper".into(),
        measured: format!("{private:.2} MB"),
        baseline: "–".into(),
        ratio: None,
        goal: Goal::new("≤ 2 MB", private <= 2.0),
    });
    Ok(())
}

fn throughput(megabytes: u64, report: &mut Report) -> Result<()> {
    let bytes = megabytes << 20;
    let line = format!("stty raw -echo; yes 'some text of a program that writes much' | head -c {bytes}; read -r end");
    let (mut ours, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        for (wrapped, rates) in [(true, &mut ours), (false, &mut alone)] {
            let mut terminal = Terminal::start(wrapped, &line)?;
            terminal.read(1)?;
            let since = Instant::now();
            terminal.read(bytes - 1)?;
            rates.push(megabytes as f64 / since.elapsed().as_secs_f64());
        }
    }
    let (ours, alone) = (median(ours), median(alone));
    report.add(Figure {
        name: format!("{megabytes} MB of output through the wrapper"),
        measured: format!("{ours:.0} MB/s"),
        baseline: format!("without it: {alone:.0} MB/s"),
        ratio: Some(ours / alone.max(f64::EPSILON)),
        goal: Goal::new("≥ 0.8×", ours >= 0.8 * alone),
    });
    Ok(())
}

/// Memory that no other process shares.
fn private_megabytes(pid: u32) -> Result<f64> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"))?;
    ensure!(Path::new(SHIM).ends_with(name.trim()), "{pid} is {name}");
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let kilobytes =
        text.lines().filter(|line| line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"));
    let kilobytes: Option<Vec<f64>> = kilobytes.map(|line| line.split_whitespace().nth(1)?.parse().ok()).collect();
    Ok(kilobytes.context("no figure of memory")?.iter().sum::<f64>() / 1_024.0)
}
