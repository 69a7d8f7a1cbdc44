//! `agtmux events`.

use std::time::Duration;

use agtmux_wire::event::EventList;
use agtmux_wire::stream::MessageEvent;
use clap::Args;

use super::audit;
use super::list::Query;
use super::output::printable;
use super::{Context, output};
use crate::error::CommandError;

/// How often `--follow` asks again. The log is for reading back; `watch` is the live view.
const FOLLOW_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Args)]
pub struct EventsArgs {
    /// Only events after this place in the log; without it, the newest are shown
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: u32,
    /// Only events of this runtime (a reference, as for `explain`)
    #[arg(long, value_name = "REF")]
    runtime: Option<String>,
    /// Show who did what to which agent, and what was refused, instead of the log
    #[arg(long, conflicts_with_all = ["after", "runtime", "follow"])]
    audit: bool,
    /// Show every tick; without it only those by which a message took a step
    #[arg(long, conflicts_with = "audit")]
    ticks: bool,
    /// Go on with new ones as they come
    #[arg(long, short)]
    follow: bool,
    /// Print JSON, one document per batch
    #[arg(long)]
    json: bool,
}

pub async fn run(args: EventsArgs, context: &Context) -> Result<(), CommandError> {
    if args.audit {
        return audit::list(args.limit, args.json, context).await;
    }
    let client = context.client();
    let mut after = args.after;
    loop {
        let mut query = Query::new("/v1/events");
        query.text("after", after.map(|seq| seq.to_string()).as_deref());
        query.text("limit", Some(&args.limit.to_string()));
        query.text("runtime", args.runtime.as_deref());
        query.text("ticks", (!args.ticks).then_some("false"));
        let list: EventList = client.get(&query.path).await?;
        if !args.follow || !list.items.is_empty() {
            if args.json { output::print_json(&list)? } else { output::print(&render(&list))? }
        }
        if !args.follow {
            return Ok(());
        }
        after = Some(list.next_after);
        if !list.truncated {
            tokio::time::sleep(FOLLOW_EVERY).await;
        }
    }
}

fn render(list: &EventList) -> String {
    list.items
        .iter()
        .map(|event| {
            let runtime = event.runtime_id.as_deref().unwrap_or("-");
            let text = printable(&event.text);
            let line = format!("{:>8}  {}  {:<16} {:<20} {text}\n", event.seq, event.at, event.kind, runtime);
            event.messages.iter().fold(line, |lines, step| lines + &step_line(step))
        })
        .collect()
}

/// A step that a message took by an event, below it.
fn step_line(step: &MessageEvent) -> String {
    let why = if step.why.is_empty() { String::new() } else { format!(": {}", step.why) };
    let text = format!("{} from {} to {} is {}{why}", step.id, step.from.name, step.to.name, step.status);
    format!("{:>8}  {}  message          {:<20} {}\n", "", step.at, step.to.id, printable(&text))
}
