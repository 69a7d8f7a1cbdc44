//! `agtmux kill REF`.

use std::fmt::Write as _;
use std::time::Duration;

use agtmux_wire::action::{Aim, Snapshot, SnapshotRequest};
use agtmux_wire::error::ErrorCode;
use agtmux_wire::kill::{KillOutcome, KillRequest, KillSignal, Killed, Reached};
use clap::{Args, ValueEnum};

use super::acting::{Acted, act, tell_found};
use super::confirm::confirm;
use super::guard::GuardArgs;
use super::{Context, DurationArg, output};
use crate::error::CommandError;

/// How much longer than the agent the daemon may take to answer.
const ROUND_TRIP: Duration = Duration::from_secs(15);

#[derive(Debug, Args)]
#[command(
    after_help = "INT is what Ctrl-C sends: some agents end, others only stop what they are doing. TERM asks an agent to end,\nKILL ends it without a chance to clean up. The signal goes to the agent and what it runs in its pane, never to\nthe pane's shell.\n\nExamples:\n  agtmux kill %3                        asks, then interrupts the agent in pane %3\n  agtmux kill runtime:rt_3f --yes --signal TERM\n  agtmux kill api --yes --if-state idle  only if it is idle\n  agtmux kill %3 --yes --pane            and closes the pane once the agent is gone"
)]
pub struct KillArgs {
    /// Which agent: runtime:ID, pane:TARGET/SESSION/WINDOW/PANE, %PANE or a name
    #[arg(value_name = "REF")]
    reference: String,
    /// The signal
    #[arg(long, value_enum, ignore_case = true, default_value_t, value_name = "SIGNAL")]
    signal: SignalArg,
    /// Close the pane too, once the agent is gone
    #[arg(long)]
    pane: bool,
    /// How long to wait for it to end
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    wait: DurationArg,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SignalArg {
    /// Interrupt, as Ctrl-C does
    #[default]
    #[value(name = "INT")]
    Int,
    /// Ask it to end
    #[value(name = "TERM")]
    Term,
    /// End it at once
    #[value(name = "KILL")]
    Kill,
}

pub async fn run(args: KillArgs, context: &Context) -> Result<(), CommandError> {
    let signal = match args.signal {
        SignalArg::Int => KillSignal::Int,
        SignalArg::Term => KillSignal::Term,
        SignalArg::Kill => KillSignal::Kill,
    };
    let client = context.client();
    let mut aim = args.guard.aim(args.reference);
    if !args.yes {
        // What the person is shown is what is acted on: the same snapshot, or nothing.
        let request = SnapshotRequest { verb: "kill".to_owned(), aim };
        let snapshot: Snapshot = client.post("/v1/snapshots", &request).await?;
        confirm(&question(signal, &snapshot, args.pane), ErrorCode::Usage)?;
        aim = Aim { snapshot_id: Some(snapshot.snapshot_id), ..Aim::default() };
    }
    let wait = args.wait.0;
    let wait_ms = Some(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let request = KillRequest { aim, signal, close_pane: args.pane, wait_ms };
    let client = client.patient(wait + ROUND_TRIP);
    let action = request.aim.snapshot_id.clone().or_else(|| request.aim.action_id.clone()).unwrap_or_default();
    let acting = act::<Killed>(&client, "/v1/actions/kill", &request, &action);
    let killed = match output::with_progress("waiting for what comes of it", acting).await? {
        Acted::Answered(killed) => killed,
        Acted::Found(item) => return tell_found(&item, args.json),
    };
    if args.json {
        output::print_json(&killed)?;
    }
    verdict(&killed)?;
    if args.json { Ok(()) } else { output::print(&output::printable_lines(&report(&killed))) }
}

fn question(signal: KillSignal, snapshot: &Snapshot, close_pane: bool) -> String {
    let state = snapshot.state.as_deref().unwrap_or("unknown");
    let pane = if close_pane { " and close its pane" } else { "" };
    format!("send {} to {}, which is {state}{pane}?", signal.name(), agent(snapshot))
}

/// Which agent, in words.
fn agent(snapshot: &Snapshot) -> String {
    let name = snapshot.agent.as_deref().unwrap_or("the agent");
    let pid = snapshot.pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    format!("{name}{pid} in pane {} of {}", snapshot.pane_id, snapshot.target)
}

/// What was not done though it was asked for.
fn verdict(killed: &Killed) -> Result<(), CommandError> {
    if killed.outcome == KillOutcome::StillRunning {
        let state = killed.state_after.as_deref().unwrap_or("unknown");
        let message = format!("{} got {} and is {state} all the same", agent(&killed.snapshot), killed.signal.name());
        let hint = match killed.signal {
            KillSignal::Int => "--signal TERM asks it to end",
            KillSignal::Term => "--signal KILL ends it at once",
            KillSignal::Kill => "the kernel has not let go of it yet; `agtmux explain` shows when it does",
        };
        return Err(CommandError::new(ErrorCode::StillRunning, message).hint(hint));
    }
    match &killed.pane {
        Some(pane) if !pane.closed => {
            let message = format!("pane {} was left open: {}", killed.snapshot.pane_id, pane.detail);
            Err(CommandError::new(ErrorCode::PreconditionFailed, message).hint("the agent was signalled all the same"))
        }
        _ => Ok(()),
    }
}

fn report(killed: &Killed) -> String {
    let agent = agent(&killed.snapshot);
    let (signal, seconds) = (killed.signal.name(), Duration::from_millis(killed.took_ms).as_secs_f64());
    let mut text = match killed.outcome {
        KillOutcome::Ended => {
            let how = killed.ending.as_deref().map_or_else(String::new, |how| format!(" ({how})"));
            format!("{agent} ended at {signal}{how} after {seconds:.1} s\n")
        }
        KillOutcome::Interrupted | KillOutcome::StillRunning => {
            let state = |state: &Option<String>| state.clone().unwrap_or_else(|| "unknown".to_owned());
            let (before, after) = (state(&killed.state_before), state(&killed.state_after));
            format!("{agent} lives: {before} before {signal}, {after} after it\n")
        }
    };
    if killed.reached == Reached::Process {
        text.push_str("the signal went to it alone, since its process group is that of the pane's shell\n");
    }
    if let Some(pane) = &killed.pane {
        let _ = writeln!(text, "pane {} is closed: {}", killed.snapshot.pane_id, pane.detail);
    }
    text
}
