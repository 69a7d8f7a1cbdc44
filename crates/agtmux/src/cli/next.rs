//! `agtmux next`: to the agent that needs you most.

use agtmux_wire::action::Aim;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::next::{Queue, QueueItem};
use clap::Args;
use jiff::Timestamp;

use super::attach::{self, AttachHow};
use super::list::{place, who};
use super::table::{Sheet, age, or_dash};
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "First come errors, then requests for permission, then questions, then turns that are done and that nobody has seen;\nof those alike, whoever waits longest. `agtmux ack` takes one out of the queue until it calls anew.\n\nExamples:\n  agtmux next                            go there\n  agtmux next --list                     who waits\n\nOn a key, in ~/.tmux.conf:\n  bind-key N run-shell \"agtmux next --client '#{client_name}'\""
)]
pub struct NextArgs {
    /// Show who waits, and go nowhere
    #[arg(long)]
    list: bool,
    /// Print the queue as JSON, and go nowhere
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: AttachHow,
}

pub async fn run(args: NextArgs, context: &Context) -> Result<(), CommandError> {
    let queue: Queue = context.client().get("/v1/next").await?;
    if args.json {
        output::print_json(&queue)?;
    }
    let Some(first) = queue.items.first() else {
        return Err(CommandError::new(ErrorCode::NobodyWaits, "no agent waits for you")
            .hint("`agtmux list panes` shows what they do"));
    };
    if args.json {
        return Ok(());
    }
    if args.list {
        return output::print(&table(&queue, context.color));
    }
    // Only if it is still the one that waits, and still waits for that.
    let runtime = first.pane.runtime_id.clone();
    let aim = Aim {
        reference: runtime.as_ref().map(|id| format!("runtime:{id}")),
        if_runtime: runtime,
        if_state: first.pane.state.clone(),
        ..Aim::default()
    };
    output::remark(&output::printable(&sentence(first)));
    attach::go(aim, &args.how, context).await
}

fn sentence(item: &QueueItem) -> String {
    let pane = &item.pane;
    let who = pane.name.as_deref().or(pane.agent.as_deref()).unwrap_or("an agent");
    let message = pane.attention.message.as_deref().map_or_else(String::new, |message| format!(": {message}"));
    format!("{who} in {} ({}){message}", place(pane), or_dash(pane.state.as_deref()))
}

fn table(queue: &Queue, color: bool) -> String {
    let now: Timestamp = queue.generated_at.parse().unwrap_or_else(|_| Timestamp::now());
    let mut sheet = Sheet::new(&["WAITS FOR", "SINCE", "AGENT", "WHERE", "PANE", "MESSAGE"], color);
    for item in &queue.items {
        let pane = &item.pane;
        sheet.row(
            pane.state.as_deref(),
            &[
                item.kind.clone(),
                age(Some(&item.waiting_since), now),
                who(pane),
                place(pane),
                pane.identity.pane_id.clone(),
                pane.attention.message.clone().unwrap_or_default(),
            ],
        );
    }
    sheet.render()
}
