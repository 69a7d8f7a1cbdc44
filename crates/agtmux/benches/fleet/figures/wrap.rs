//! What the wrapper adds: the same program on a terminal of its own, behind `agtmux-shim` and alone, in turns.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
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

/// A key and its echo, the memory of the wrapper, and a flood of output: where agents live, and to a reader that does nothing else.
pub(crate) fn measure(keys: usize, megabytes: u64, report: &mut Report) -> Result<()> {
    latency(keys, report)?;
    in_a_pane(megabytes / 4, report)?;
    on_a_terminal(megabytes, report)
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

/// How fast a pane of tmux takes what a program writes.
fn in_a_pane(megabytes: u64, report: &mut Report) -> Result<()> {
    let dir = tempfile::Builder::new().prefix("ab").tempdir_in("/tmp")?;
    let path = |name: &str| dir.path().join(name);
    fs::write(
        path("text"),
        b"some text of a program that writes much\n".repeat(usize::try_from(megabytes << 20)? / 40),
    )?;
    let tmux = Tmux { socket: path("t") };
    tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "200", "-y", "50", "exec sleep 1000"])?;
    let (mut ours, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        for (wrapped, rates) in [(true, &mut ours), (false, &mut alone)] {
            let note = "date +%s%N";
            let place = dir.path().display();
            let line =
                format!("{note} >{place}/began; cat {place}/text; {note} >{place}/new; mv {place}/new {place}/ended");
            let shim = if wrapped { SHIM } else { "" };
            tmux.run(&["new-window", "-d", &format!("AGTMUX_SHIM_DIR={place}/shim exec {shim} sh -c '{line}'")])?;
            let ended = path("ended");
            while !ended.exists() {
                std::thread::sleep(Duration::from_millis(5));
            }
            let read = |name: &str| Ok::<u64, anyhow::Error>(fs::read_to_string(path(name))?.trim().parse()?);
            let seconds = Duration::from_nanos(read("ended")? - read("began")?).as_secs_f64();
            rates.push(megabytes as f64 / seconds);
            fs::remove_file(ended)?;
        }
    }
    let (ours, alone) = (median(ours), median(alone));
    report.add(Figure {
        name: format!("{megabytes} MB of output through the wrapper, in a pane of tmux"),
        measured: format!("{ours:.1} MB/s"),
        baseline: format!("without it: {alone:.1} MB/s"),
        ratio: Some(ours / alone.max(f64::EPSILON)),
        goal: None,
    });
    Ok(())
}

/// A tmux server of its own.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    fn run(&self, arguments: &[&str]) -> Result<()> {
        let status = Command::new("tmux").env_remove("TMUX").arg("-S").arg(&self.socket).args(arguments).status()?;
        ensure!(status.success(), "tmux {arguments:?}: {status}");
        Ok(())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]).ok();
    }
}

/// How fast a reader that does nothing else takes it.
fn on_a_terminal(megabytes: u64, report: &mut Report) -> Result<()> {
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
        name: format!("{megabytes} MB of output through the wrapper, to a reader that drops it"),
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
