//! `agtmux view-output REF`.

use agtmux_agents::printed;
use agtmux_wire::view_output::{Output, OutputSource, ViewOutputRequest};
use clap::Args;

use super::guard::GuardArgs;
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "What looks like a secret is taken out, and so is everything that a terminal would obey. Agents that have the whole\nscreen (Claude Code does) leave nothing to scroll back to: of those the conversation is shown, from their own record of\nit, where `>` is what was typed, `*` a tool, `|` what came of it and `!` a remark of the program.\n\nExamples:\n  agtmux view-output %3\n  agtmux view-output api --lines 1000 | less\n  agtmux view-output api --ansi --lines 40\n  agtmux view-output runtime:rt_3f --json | jq -r '.lines[]'"
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
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    guard: GuardArgs,
}

pub async fn run(args: ViewOutputArgs, context: &Context) -> Result<(), CommandError> {
    let aim = args.guard.aim(args.reference);
    let request = ViewOutputRequest { aim, lines: Some(args.lines), ansi: args.ansi };
    let shown: Output = context.client().post("/v1/actions/view-output", &request).await?;
    if args.json {
        return output::print_json(&shown);
    }
    output::remark(&output::printable(&heading(&shown)));
    output::print(&shown.lines.iter().map(|line| harmless(line, args.ansi) + "\n").collect::<String>())
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
