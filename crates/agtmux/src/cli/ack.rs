//! `agtmux ack REF`: you know.

use agtmux_wire::next::{AckRequest, Acknowledged};
use clap::Args;

use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "The agent's state stays what it is; it only stops calling you, and `agtmux next` passes it over, until it has something\nnew to say.\n\nExamples:\n  agtmux ack %3\n  agtmux ack --all"
)]
pub struct AckArgs {
    /// Which agent: runtime:ID, pane:TARGET/SESSION/WINDOW/PANE, %PANE or a name
    #[arg(value_name = "REF", required_unless_present = "all", conflicts_with = "all")]
    reference: Option<String>,
    /// All that wait for you now
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(args: AckArgs, context: &Context) -> Result<(), CommandError> {
    let request = AckRequest { reference: args.reference, all: args.all };
    let done: Acknowledged = context.client().post("/v1/acks", &request).await?;
    if args.json {
        return output::print_json(&done);
    }
    if done.items.is_empty() {
        output::remark("nobody waits");
    }
    let line = |item: &agtmux_wire::next::AckItem| format!("{} in {} is acknowledged\n", item.agent, item.pane_id);
    output::print(&output::printable_lines(&done.items.iter().map(line).collect::<String>()))
}
