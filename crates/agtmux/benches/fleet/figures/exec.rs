//! What it costs to start the program at all: every command and every hook pays this.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::fleet::AGTMUX;
use crate::report::{Figure, Report};
use crate::stats::{Samples, ratio};

pub(crate) fn measure(runs: usize, report: &mut Report) -> Result<()> {
    let mut ours = Samples::default();
    let mut empty = Samples::default();
    let nothing = if Path::new("/bin/true").exists() { "/bin/true" } else { "/usr/bin/true" };
    for _ in 0..runs {
        ours.push(timed(Command::new(AGTMUX).arg("--version"))?);
        empty.push(timed(&mut Command::new(nothing))?);
    }
    report.add(Figure {
        name: "`agtmux --version`, exec to exit".into(),
        measured: ours.text(),
        baseline: format!("`{nothing}`: {}", empty.text()),
        ratio: Some(ratio(ours.p50(), empty.p50())),
        goal: None,
    });
    Ok(())
}

/// Runs a command to its end, its output thrown away.
pub(crate) fn timed(command: &mut Command) -> Result<Duration> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let since = Instant::now();
    let status = command.status()?;
    let elapsed = since.elapsed();
    ensure!(status.success(), "{command:?} failed");
    Ok(elapsed)
}
