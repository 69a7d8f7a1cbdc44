//! `sm inbox` and `sm whoami`.

use agtmux_wire::inbox::{Inbox, InboxItem, Whoami};
use clap::Args;

use super::text::way;
use crate::cli::list::percent_encode;
use crate::cli::output::{printable, printable_lines};
use crate::cli::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "What waits is delivered when its time has come, whether it was read here or not. Texts are shown until then; of what was\ngiven, how it begins. A text is kept until it is known what became of the message, and longer only for what comes again or\nmay be sent anew to who goes on with the conversation.\n\nExamples:\n  sm inbox                in an agent's pane\n  sm inbox reviewer       a person, of an agent"
)]
pub struct InboxArgs {
    /// Which agent's; in an agent's pane that one's
    #[arg(value_name = "TO")]
    of: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: InboxArgs, context: &Context) -> Result<(), CommandError> {
    let of = args.of.map(|of| format!("?ref={}", percent_encode(&of))).unwrap_or_default();
    let inbox: Inbox = context.client().get(&format!("/v1/inbox{of}")).await?;
    if args.json { output::print_json(&inbox) } else { output::print(&text(&inbox)) }
}

pub(super) async fn whoami(json: bool, context: &Context) -> Result<(), CommandError> {
    let who = asker(context).await?;
    if json {
        return output::print_json(&who);
    }
    output::print(&format!("{}\n", printable(&format!("{} {} ({})", who.kind, who.party.name, who.party.id))))
}

/// For whom the daemon takes who runs this.
pub(super) async fn asker(context: &Context) -> Result<Whoami, CommandError> {
    context.client().get("/v1/whoami").await
}

pub(super) fn is_agent(who: &Whoami) -> bool {
    who.kind == "agent"
}

fn text(inbox: &Inbox) -> String {
    let mut text = String::new();
    let (waiting, given) = (inbox.waiting.len(), inbox.given.len());
    text.push_str(&printable(&format!("{}: {waiting} waiting, {given} given lately", inbox.agent.name)));
    text.push('\n');
    if let Some(busy) = &inbox.busy {
        text.push_str(&printable(&format!("busy until {} at the latest: {}", busy.until, busy.reason)));
        text.push('\n');
    }
    for item in inbox.waiting.iter().chain(&inbox.given) {
        text.push('\n');
        text.push_str(&entry(item));
    }
    text
}

fn entry(InboxItem { message, text }: &InboxItem) -> String {
    let head = format!("{} {}, {}", message.id, message.status, way(message));
    let body = text.as_deref().unwrap_or(&message.preview);
    let body: String = printable_lines(body).lines().map(|line| format!("  {line}\n")).collect();
    format!("{}\n{body}", printable(&head))
}
