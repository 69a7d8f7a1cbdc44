//! Which figures are measured, on which fleet, in which order.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use rustix::process::Signal;

use crate::cleanup;
use crate::composer::{self, COMPOSER};
use crate::daemon::Daemon;
use crate::figures::changes::{Changes, Pace};
use crate::figures::{durable, exec, hook, idle, kill, list, mail, output, restart, signal, wrap};
use crate::fleet::{Fleet, Pane};
use crate::poller::{self, Polling};
use crate::report::{self, Report, say};

/// How much is measured.
struct Plan {
    /// Sizes of fleet for the list; the last one is for everything else.
    fleets: &'static [usize],
    /// How often a process that takes milliseconds is run.
    runs: usize,
    /// How many titles are set at each pace.
    changes: usize,
    /// How many agents are ended in each way at each pace; four times as many, and the titles, must fit the fleet.
    ends: usize,
    /// How often something is changed that may take seconds to be seen.
    slow_changes: usize,
    restarts: usize,
    polls: usize,
    idle: Duration,
    output: Duration,
    /// Batches of a thousand events.
    batches: u64,
    rounds: usize,
    /// How many agents are written to.
    recipients: usize,
}

const FULL: Plan = Plan {
    fleets: &[10, 100, 500],
    runs: 100,
    changes: 100,
    ends: 100,
    slow_changes: 20,
    restarts: 5,
    polls: 3,
    // One whole round of what the daemon does by itself.
    idle: Duration::from_secs(60),
    output: Duration::from_secs(5),
    batches: 100,
    rounds: 3,
    recipients: 100,
};

const QUICK: Plan = Plan {
    fleets: &[10, 100],
    runs: 20,
    changes: 20,
    ends: 20,
    slow_changes: 4,
    restarts: 2,
    polls: 2,
    idle: Duration::from_secs(5),
    output: Duration::from_secs(2),
    batches: 20,
    rounds: 1,
    recipients: 20,
};

/// Figures that need no fleet can be measured alone; the others go together.
const PARTS: [&str; 6] = ["exec", "wrap", "writer", "kill", "mail", "fleet"];

/// What was asked for.
struct Arguments {
    quick: bool,
    write: bool,
    only: Option<String>,
}

impl Arguments {
    fn wants(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only == part)
    }
}

pub(crate) fn main() -> Result<()> {
    let mut given: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, socket, sessions @ ..] = given.as_slice()
        && flag == kill::PLAIN_WATCHER
    {
        return kill::plain_watcher(socket, sessions);
    }
    if let [flag, arguments @ ..] = given.as_slice()
        && flag == hook::TIMER
    {
        return hook::time(arguments);
    }
    if let [flag, arguments @ ..] = given.as_slice()
        && flag == mail::TIMER
    {
        return mail::time(arguments);
    }
    if let [flag] = given.as_slice()
        && flag == COMPOSER
    {
        return composer::be(Path::new(&std::env::var("HOME")?));
    }
    // Cargo says whether it was asked to bench; `cargo test --benches` does not mean this.
    let asked = given.iter().any(|argument| argument == "--bench");
    given.retain(|argument| argument != "--bench");
    if !asked {
        return Ok(());
    }
    let arguments = parse(&given)?;
    cleanup::on_signals()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(measure(&arguments))
}

fn parse(given: &[String]) -> Result<Arguments> {
    let mut arguments = Arguments { quick: false, write: false, only: None };
    for argument in given {
        match argument.split_once('=').unwrap_or((argument, "")) {
            ("--quick", "") => arguments.quick = true,
            ("--write", "") => arguments.write = true,
            ("--only", part) if PARTS.contains(&part) => arguments.only = Some(part.to_owned()),
            ("--only", part) => bail!("there is no {part:?} to measure; there are {PARTS:?}"),
            _ => bail!("unknown argument {argument:?}; there are --quick, --write and --only=PART"),
        }
    }
    ensure!(
        arguments.only.is_none() || !arguments.write,
        "a part of the table is not written in the place of all of it"
    );
    Ok(arguments)
}

async fn measure(arguments: &Arguments) -> Result<()> {
    let plan = if arguments.quick { &QUICK } else { &FULL };
    let load = report::load_average();
    say(&format!("load average before: {load}"));
    let mut report = Report::default();
    if arguments.wants("exec") {
        exec::measure(plan.runs, &mut report)?;
    }
    if arguments.wants("wrap") {
        wrap::measure(plan.runs * 20, 64, &mut report)?;
    }
    if arguments.wants("writer") {
        durable::by_writer(plan.batches, plan.rounds, &mut report).await?;
    }
    if arguments.wants("kill") {
        kill::measure(&mut report).await?;
    }
    if arguments.wants("mail") {
        mail::measure(plan.recipients, plan.runs, &mut report).await?;
    }
    if arguments.wants("fleet") {
        fleets(plan, &mut report).await?;
    }

    let table = report.markdown(&report::circumstances(&load));
    say(&format!("\n{table}"));
    say(&format!("{} goals missed", report.missed()));
    if arguments.write {
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md");
        report::write_into(&document, &table)?;
    }
    Ok(())
}

async fn fleets(plan: &Plan, report: &mut Report) -> Result<()> {
    let (largest, smaller) = plan.fleets.split_last().map_or((&0, &[][..]), |split| split);
    for agents in smaller {
        let fleet = Fleet::of_agents(*agents)?;
        let daemon = Daemon::settled(&fleet).await?;
        list::measure(&fleet, plan.runs, report)?;
        idle::memory(&fleet, &daemon, "fresh", report);
        let (items, _) = daemon.wait_for_agents(*agents).await?;
        durable::through_daemon(&daemon, &items, plan.rounds, report).await?;
        idle::memory(&fleet, &daemon, "after the posts above", report);
        if agents == &smaller[0] {
            hook::exec(&fleet, daemon, plan.runs, report).await?;
        }
    }
    largest_fleet(*largest, plan, report).await
}

/// First what needs an unwatched fleet, then what needs a watched one, and last what uses agents up.
async fn largest_fleet(agents: usize, plan: &Plan, report: &mut Report) -> Result<()> {
    let fleet = Fleet::of_agents(agents)?;
    let alone = idle::unwatched(&fleet, plan.idle / 3).await;
    let polling = poller::poll(&fleet, plan.polls)?;
    restart::measure(&fleet, plan.restarts, &polling, report).await?;
    for writing in [agents / 10, agents] {
        output::measure(&fleet, writing, plan.output, report).await?;
    }

    let daemon = Daemon::settled(&fleet).await?;
    idle::cpu(&fleet, &daemon, plan.idle, alone, &polling, report).await?;
    list::measure(&fleet, plan.runs, report)?;
    let (items, _) = daemon.wait_for_agents(agents).await?;
    signal::posted(&fleet, &daemon, &items, plan.runs * 5, report).await?;
    signal::command(&fleet, &daemon, plan.runs, report).await?;
    signal::status_file(&fleet, &daemon, plan.runs, report).await?;
    hook::to_stream(&fleet, &daemon, plan.runs, report).await?;
    durable::through_daemon(&daemon, &items, plan.rounds, report).await?;
    idle::memory(&fleet, &daemon, "after the posts above", report);
    changes(&fleet, &daemon, &polling, plan, report).await
}

async fn changes(fleet: &Fleet, daemon: &Daemon, polling: &Polling, plan: &Plan, report: &mut Report) -> Result<()> {
    let changes = Changes { fleet, daemon, polling };
    changes.markers(some(&fleet.panes, plan.changes), report).await?;
    changes.jobs(plan.slow_changes, report).await?;
    let mut unused = 0;
    for pace in [Pace::Apart, Pace::BackToBack] {
        changes.titles(some(&fleet.panes, plan.changes), pace, report).await?;
        for signal in [Signal::TERM, Signal::KILL] {
            // Titles come first and need their panes, so agents are ended from the back.
            changes.ends(last(&fleet.panes, unused, plan.ends), signal, pace, report).await?;
            unused += plan.ends;
        }
    }
    Ok(())
}

/// The first panes.
fn some(panes: &[Pane], count: usize) -> &[Pane] {
    &panes[..count.min(panes.len())]
}

/// Panes from the back, those before the last `skipped`.
fn last(panes: &[Pane], skipped: usize, count: usize) -> &[Pane] {
    let end = panes.len().saturating_sub(skipped);
    &panes[end.saturating_sub(count)..end]
}
