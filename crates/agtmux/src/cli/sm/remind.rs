//! `sm remind`: messages whose time comes later.

use agtmux_wire::error::ErrorCode;
use agtmux_wire::mail::{Message, MessageList, RemindRequest};
use clap::Args;

use super::cancel;
use super::follow::{fresh_id, surely, unsure};
use super::text;
use crate::cli::list::percent_encode;
use crate::cli::{Context, DurationArg, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "A reminder is a message: it waits for its time, then for the agent, survives the daemon, and `sm show` tells what became\nof it. Inside an agent's pane no TO means that agent.\n\nExamples:\n  sm remind 5m 'look whether the build is done'\n  sm remind reviewer 1h 'is the review done?'\n  sm remind reviewer 30m 'status, please' --recurring\n  sm remind reviewer 2h /compact\n  sm remind list\n  sm remind cancel m_0d0c8d5f6f1a2b3c"
)]
pub struct RemindArgs {
    /// `TIME TEXT`, `TO TIME TEXT`, `list [TO]`, or `cancel ID`
    #[arg(value_name = "WORDS", required = true, num_args = 1..=3)]
    words: Vec<String>,
    /// Again and again, each time so much later
    #[arg(long)]
    recurring: bool,
    /// It is words for the agent to read, though it begins like a command such as `/compact`
    #[arg(long = "words")]
    is_words: bool,
    /// An id of your own: asked for again with it, it does not come twice
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: RemindArgs, context: &Context) -> Result<(), CommandError> {
    let words: Vec<_> = args.words.iter().map(String::as_str).collect();
    let (to, time, text) = match words[..] {
        ["list"] => return reminders(None, args.json, context).await,
        ["list", to] => return reminders(Some(to), args.json, context).await,
        ["cancel"] => {
            return Err(CommandError::new(ErrorCode::Usage, "it is not said which reminder")
                .hint("`sm remind list` shows them: `sm remind cancel ID`"));
        }
        ["cancel", id] => return cancel::one(id, args.json, context).await,
        [time, text] => (None, time, text),
        [to, time, text] => (Some(to.to_owned()), time, text),
        _ => return Err(CommandError::new(ErrorCode::Usage, "say when, and of what").hint("see `sm remind --help`")),
    };
    let DurationArg(time) =
        time.parse().map_err(|error: String| CommandError::new(ErrorCode::Usage, error).hint("`sm remind 5m TEXT`"))?;
    let id = args.id.unwrap_or_else(fresh_id);
    let request = RemindRequest {
        session_id: to,
        delay_seconds: time.as_secs(),
        message: text.to_owned(),
        recurring: args.recurring,
        words: args.is_words,
        id: Some(id.clone()),
    };
    let client = context.client();
    let message = surely(async || client.post_unless_lost("/scheduler/remind", &request).await).await;
    let message: Message = message.map_err(|lost| unsure(lost, &id, &format!("`sm show {id}` tells")))?;
    if args.json { output::print_json(&message) } else { output::print(&format!("{}\n", text::line(&message))) }
}

async fn reminders(to: Option<&str>, json: bool, context: &Context) -> Result<(), CommandError> {
    let to = to.map(|to| format!("?to={}", percent_encode(to))).unwrap_or_default();
    let mut list: MessageList = context.client().get(&format!("/v1/messages{to}")).await?;
    list.items.retain(|message| message.category == "reminder");
    if json { output::print_json(&list) } else { output::print(&text::reminders(&list, context.color)) }
}
