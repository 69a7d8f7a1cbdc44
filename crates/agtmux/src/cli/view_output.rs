//! `agtmux view-output REF`.

use std::time::Duration;

use agtmux_agents::following::Following;
use agtmux_agents::printed;
use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::view_output::{Output, OutputSource, ViewOutputRequest};
use clap::Args;

use super::guard::GuardArgs;
use super::{Context, output};
use crate::client::follow::{Follower, is_gone};
use crate::error::CommandError;

const ROUTE: &str = "/v1/actions/view-output";

/// How often it is looked again.
const PAUSE: Duration = Duration::from_millis(300);

/// How much is looked at again. What an agent prints between two looks and is longer is cut.
const FOLLOWED: u32 = 1_000;

#[derive(Debug, Args)]
#[command(
    after_help = "What looks like a secret is taken out, and so is everything that a terminal would obey. Agents that have the whole\nscreen (Claude Code does) leave nothing to scroll back to: of those the conversation is shown, from their own record of\nit, where `>` is what was typed, `*` a tool, `|` what came of it and `!` a remark of the program.\n\nExamples:\n  agtmux view-output %3\n  agtmux view-output api --lines 1000 | less\n  agtmux view-output api --ansi --lines 40\n  agtmux view-output api --follow\n  agtmux view-output runtime:rt_3f --json | jq -r '.lines[]'"
)]
pub struct ViewOutputArgs {
    /// Which agent or pane: runtime:ID, pane:TARGET/SESSION/WINDOW/PANE, %PANE or a name
    #[arg(value_name = "REF")]
    reference: String,
    /// The last so many lines, 10000 at most
    #[arg(short = 'n', long, default_value_t = 100, value_name = "N")]
    lines: u32,
    /// Keep colours
    #[arg(long)]
    ansi: bool,
    /// Show the markers too by which agents signal
    #[arg(long)]
    raw: bool,
    /// Go on with what it prints from then on, until it ends
    #[arg(short, long)]
    follow: bool,
    /// Print JSON; with --follow a document for all that is new, one on each line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

pub async fn run(args: ViewOutputArgs, context: &Context) -> Result<(), CommandError> {
    let aim = args.guard.aim(args.reference);
    let request = ViewOutputRequest { aim, lines: Some(args.lines), ansi: args.ansi, raw: args.raw, continues: None };
    if args.follow && (1..=FOLLOWED).contains(&args.lines) {
        let request = ViewOutputRequest { lines: Some(FOLLOWED), ..request };
        return follow(request, args.lines as usize, args.json, context).await;
    }
    if args.follow {
        let message = format!("{} lines cannot be followed", args.lines);
        return Err(CommandError::new(ErrorCode::Usage, message).hint("from 1 to 1,000 lines can"));
    }
    let shown: Output = context.client().post(ROUTE, &request).await?;
    if args.json {
        return output::print_json(&shown);
    }
    output::remark(&output::printable(&heading(&shown)));
    print(&shown.lines, args.ansi)
}

/// Shows the last lines and then what is new, until the agent ends. Whoever only looks need not be told how that came about.
async fn follow(request: ViewOutputRequest, lines: usize, json: bool, context: &Context) -> Result<(), CommandError> {
    let client = context.client();
    let first: Output = client.post(ROUTE, &request).await?;
    // Tells when the daemon is gone and another has come.
    let mut follower = Follower::open(client.clone(), None).await?;
    let client = client.never_starting();
    let ansi = request.ansi;
    let tell = |lines: Vec<String>, of: &Output| match (lines.is_empty(), json) {
        (true, _) => Ok(()),
        (false, true) => output::print_json(&Output { lines, ..of.clone() }),
        (false, false) => print(&lines, ansi),
    };
    if !json {
        output::remark(&output::printable(&heading(&first)));
    }
    tell(first.lines[first.lines.len().saturating_sub(lines)..].to_vec(), &first)?;
    // A daemon that was started meanwhile knows nothing of the first look.
    let anew = ViewOutputRequest { aim: same_agent(&first, &request.aim), ..request };
    let mut again = anew.clone().going_on(&first);
    let mut source = first.source;
    let mut following = Following::after(first.lines);
    let mut last = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        let mut looked = client.post::<Output>(ROUTE, &again).await;
        if matches!(&looked, Err(error) if error.code == ErrorCode::SnapshotExpired) {
            looked = client.post::<Output>(ROUTE, &anew).await;
        }
        match looked {
            Ok(now) if now.source != source => {
                // Another page altogether: the program took the whole screen, or gave it back.
                again = anew.clone().going_on(&now);
                source = now.source;
                following = Following::default();
                following.next(now.lines);
            }
            Ok(now) => {
                again = anew.clone().going_on(&now);
                tell(following.next(now.lines.clone()), &now)?;
                last = Some(now);
            }
            Err(error) if is_gone(&error) => {
                follower.next().await?;
            }
            Err(error) if matches!(error.code, ErrorCode::RuntimeStale | ErrorCode::RefNotFound) => {
                if let Some(last) = &last {
                    tell(following.rest(), last)?;
                }
                output::remark(&output::printable(&error.message));
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

/// The agent that was looked at, and nobody who takes its place; the pane, where there was no agent.
fn same_agent(shown: &Output, aim: &Aim) -> Aim {
    match &shown.snapshot.runtime_id {
        Some(runtime) => {
            Aim { reference: Some(format!("runtime:{runtime}")), if_runtime: Some(runtime.clone()), ..Aim::default() }
        }
        None => aim.clone(),
    }
}

fn print(lines: &[String], ansi: bool) -> Result<(), CommandError> {
    output::print(&lines.iter().map(|line| harmless(line, ansi) + "\n").collect::<String>())
}

/// Where the lines are from, for people; on standard error, where it cannot spoil them.
fn heading(shown: &Output) -> String {
    let whose = shown.snapshot.agent.as_deref().unwrap_or("pane");
    let from = match shown.source {
        OutputSource::Scrollback => "screen and scrollback",
        OutputSource::Screen => "screen; it has all of it, and leaves nothing above",
        OutputSource::Transcript => "own record of the conversation",
    };
    let more = if shown.truncated { "; there is more above (--lines)" } else { "" };
    let redacted = if shown.redacted { "; something that looks like a secret was taken out" } else { "" };
    format!("{whose} in {}, from its {from}{more}{redacted}", shown.snapshot.pane_id)
}

/// A line that may be printed. The daemon has cleaned it; whatever answered on the socket may not have.
fn harmless(line: &str, ansi: bool) -> String {
    let line = printed::lines(line.as_bytes()).into_iter().next().unwrap_or_default();
    if ansi { line.styled } else { line.text }
}
