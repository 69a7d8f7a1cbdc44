//! What is done to everything around while people type and messages come in: the daemon is killed, wrappers are asked nonsense,
//! stopped, and left without descriptors. None of it is to reach an agent.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use clap::ValueEnum;
use fastrand::Rng;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;

use crate::stage::Tmux;

/// How long a process may take to die.
const DEATH: Duration = Duration::from_secs(30);

/// A kind of mischief.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mischief {
    /// The daemon is stopped or killed and started again
    Restarts,
    /// Wrappers get garbage and half requests, are stopped, and run out of descriptors; agents are stopped
    Chaos,
}

/// A pane to which it is done.
#[derive(Clone, Debug)]
pub struct Victim {
    /// The process in the pane: the wrapper.
    pub wrapper: Pid,
    /// The agent.
    pub agent: Pid,
    /// The socket of the wrapper.
    pub socket: PathBuf,
}

impl Mischief {
    /// Makes it so many times.
    pub fn make(self, times: usize, tmux: &Tmux, agtmux: &Path, victims: &[Victim], random: &mut Rng) -> Result<()> {
        for _ in 0..times {
            match self {
                Self::Restarts => restart(tmux, agtmux, random)?,
                Self::Chaos => plague(&victims[random.usize(..victims.len())], random)?,
            }
        }
        Ok(())
    }
}

/// Starts a daemon, lets it work for a moment, and ends it in one way or another.
fn restart(tmux: &Tmux, agtmux: &Path, random: &mut Rng) -> Result<()> {
    let mut start = Command::new(agtmux);
    tmux.isolate(&mut start);
    let output = start.args(["daemon", "start", "--json"]).output().context("agtmux cannot be run")?;
    ensure!(output.status.success(), "no daemon: {}", String::from_utf8_lossy(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout)?;
    let pid = status["pid"].as_i64().or_else(|| status["daemon"]["pid"].as_i64());
    let pid =
        pid.and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?)).with_context(|| format!("no pid in {status}"))?;
    sleep(Duration::from_millis(random.u64(..1_500)));
    kill_process(pid, if random.bool() { Signal::KILL } else { Signal::TERM })?;
    let since = Instant::now();
    while test_kill_process(pid).is_ok() {
        if since.elapsed() > DEATH {
            bail!("the daemon {pid:?} does not end");
        }
        sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Something bad for one wrapper or its agent.
fn plague(victim: &Victim, random: &mut Rng) -> Result<()> {
    match random.u32(..9) {
        0 => say(victim, &garbage(random, 4_096)),
        1 => say(victim, &vec![b'x'; 1 << 20]),
        2 => say(victim, b"{\"do\":\"inject\",\"id\":\"z\",\"length\":3,\"surprise\":1}\nabc"),
        3 => say(victim, b"{\"do\":\"inject\",\"id\":\"half\",\"len"),
        4 => {
            let mut request = b"{\"do\":\"inject\",\"id\":\"half\",\"length\":200000}\n".to_vec();
            request.extend(garbage(random, 100_000));
            say(victim, &request);
        }
        5 => {
            // More than are let in at once, who say nothing and go.
            let crowd: Vec<_> = (0..40).filter_map(|_| connect(victim)).collect();
            sleep(Duration::from_millis(random.u64(..100)));
            drop(crowd);
        }
        6 => stop_for_a_while(victim.wrapper, random)?,
        7 => stop_for_a_while(victim.agent, random)?,
        _ => without_descriptors(victim.wrapper, random)?,
    }
    sleep(Duration::from_millis(random.u64(..200)));
    Ok(())
}

fn garbage(random: &mut Rng, most: usize) -> Vec<u8> {
    let count = random.usize(1..most);
    std::iter::repeat_with(|| random.u8(..)).take(count).collect()
}

/// Says something to a wrapper and hangs up. That it does not listen to the end is its right.
fn say(victim: &Victim, bytes: &[u8]) {
    if let Some(mut stream) = connect(victim) {
        stream.write_all(bytes).ok();
    }
}

/// There may be no room for one more.
fn connect(victim: &Victim) -> Option<UnixStream> {
    let stream = UnixStream::connect(&victim.socket).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

fn stop_for_a_while(process: Pid, random: &mut Rng) -> Result<()> {
    kill_process(process, Signal::STOP).context("it is gone")?;
    sleep(Duration::from_millis(random.u64(..400)));
    kill_process(process, Signal::CONT).context("it is gone")
}

/// Takes away the right to open anything more.
#[cfg(target_os = "linux")]
fn without_descriptors(process: Pid, random: &mut Rng) -> Result<()> {
    use rustix::process::{Resource, Rlimit, prlimit};
    let few = Rlimit { current: Some(3), maximum: None };
    let before = prlimit(Some(process), Resource::Nofile, Rlimit { maximum: maximum(process)?, ..few })?;
    sleep(Duration::from_millis(random.u64(..600)));
    prlimit(Some(process), Resource::Nofile, before)?;
    return Ok(());

    fn maximum(process: Pid) -> Result<Option<u64>> {
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.as_raw_nonzero()))?;
        let line = limits.lines().find(|line| line.starts_with("Max open files")).context("no limit")?;
        Ok(line.split_whitespace().nth(4).and_then(|word| word.parse().ok()))
    }
}

#[cfg(not(target_os = "linux"))]
fn without_descriptors(_process: Pid, _random: &mut Rng) -> Result<()> {
    Ok(())
}
