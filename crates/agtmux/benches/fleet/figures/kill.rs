//! A daemon killed with SIGKILL while panes write as fast as they can: no pane may stop, and nothing may stay behind.
//!
//! The baseline is a watcher on plain control clients, one per session, that dies in the same way. What it does to tmux
//! depends on the layout, so both are tried: tmux stops reading a pane once every attached client is behind on it, and
//! a client of another session counts as one that is not.

use std::collections::BTreeSet;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::cleanup;
use crate::daemon::Daemon;
use crate::fleet::{Fleet, Layout};
use crate::process::written;
use crate::report::{Figure, Goal, Report, say};

/// How many panes write.
const PANES: usize = 5;

/// How long a dead watcher may go on to have an effect.
const AFTER: Duration = Duration::from_secs(2);

/// A pane that writes nothing for so long stands still; a running one writes megabytes.
const STILL: Duration = Duration::from_secs(1);

/// How much a client of the baseline has read before its watcher is killed, in bytes.
const ENOUGH: usize = 1_000_000;

/// The argument that makes this program the watcher of the baseline.
pub(crate) const PLAIN_WATCHER: &str = "--plain-watcher";

pub(crate) async fn measure(report: &mut Report) -> Result<()> {
    for (layout, name) in [(Layout::OneSession, "in one session"), (Layout::SessionEach, "in a session each")] {
        let (frozen, left) = daemon_killed(layout).await?;
        let (plain_frozen, plain_left) = plain_watcher_killed(layout)?;
        let remains = if left.is_empty() { "0".to_owned() } else { format!("{}: {}", left.len(), left.join(", ")) };
        report.add(Figure {
            name: format!("daemon killed with -9, {PANES} flooding panes {name}: panes that stand still, things left"),
            measured: format!("{frozen} of {PANES}, {remains}"),
            baseline: format!("plain `tmux -C attach` clients: {plain_frozen} of {PANES}, dead clients {plain_left}"),
            ratio: None,
            goal: Goal::new("0 and 0", frozen == 0 && left.is_empty()),
        });
    }
    Ok(())
}

async fn daemon_killed(layout: Layout) -> Result<(usize, Vec<String>)> {
    let fleet = Fleet::of_floods(PANES, layout)?;
    let before = surroundings(&fleet)?;
    Daemon::settled(&fleet).await?.kill()?;
    sleep(AFTER);
    let left = surroundings(&fleet)?.difference(&before).cloned().collect();
    Ok((frozen(&fleet), left))
}

fn plain_watcher_killed(layout: Layout) -> Result<(usize, usize)> {
    let fleet = Fleet::of_floods(PANES, layout)?;
    let sessions = fleet.ask(&["list-sessions", "-F", "#{session_name}"])?;
    let mut watcher = Command::new(std::env::current_exe()?)
        .arg(PLAIN_WATCHER)
        .arg(&fleet.socket)
        .args(sessions.lines())
        .env_remove("TMUX")
        .stdout(Stdio::piped())
        .spawn()
        .context("the plain watcher")?;
    cleanup::register_process(watcher.id());
    watcher.stdout.take().context("no output")?.read_exact(&mut [0])?;
    cleanup::kill(watcher.id());
    watcher.wait()?;
    sleep(AFTER);
    let clients = fleet.ask(&["list-clients", "-F", "#{client_name}"])?;
    Ok((frozen(&fleet), clients.lines().count()))
}

fn frozen(fleet: &Fleet) -> usize {
    let before: Vec<_> = fleet.panes.iter().map(|pane| written(pane.pid)).collect();
    sleep(STILL);
    fleet.panes.iter().zip(before).filter(|(pane, before)| written(pane.pid) == *before).count()
}

/// Everything in tmux by which a watcher could show.
fn surroundings(fleet: &Fleet) -> Result<BTreeSet<String>> {
    let mut seen = BTreeSet::new();
    for question in [
        &["show-hooks", "-g"][..],
        &["list-sessions", "-F", "session #{session_name}"],
        &["list-clients", "-F", "client #{client_name}"],
        &["list-buffers", "-F", "buffer #{buffer_name}"],
        &["list-panes", "-a", "-F", "pane #{pane_id}, piped: #{pane_pipe}"],
        &["show-environment", "-g"],
        &["show-environment", "-gh"],
        &["show-options", "-g"],
        &["show-options", "-gw"],
        &["show-options", "-s"],
    ] {
        seen.extend(fleet.ask(question)?.lines().map(str::to_owned));
    }
    Ok(seen)
}

/// The watcher of the baseline: a plain control client on every session, read without pause until it is killed.
pub(crate) fn plain_watcher(socket: &str, sessions: &[String]) -> Result<()> {
    let mut outputs = Vec::new();
    let mut inputs = Vec::new();
    for session in sessions {
        let mut client = Command::new("tmux")
            .args(["-S", socket, "-C", "attach", "-t", &format!("={session}")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        inputs.extend(client.stdin.take());
        outputs.extend(client.stdout.take());
    }
    let (enough, brought) = std::sync::mpsc::channel();
    for mut output in outputs {
        let enough = enough.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; ENOUGH];
            if output.read_exact(&mut buffer).is_ok() {
                enough.send(()).ok();
                std::io::copy(&mut output, &mut std::io::sink()).ok();
            }
        });
    }
    for _ in sessions {
        brought.recv()?;
    }
    say("reading");
    loop {
        std::thread::park();
    }
}
