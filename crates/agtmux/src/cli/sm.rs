//! `agtmux sm`, and `sm` alone: messages that wait until the agent can take them, and say what became of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::mail::{Message, MessageList, PostMessage, RemindRequest, SendQueue};
use clap::{Args, Subcommand};

use super::list::{ListVerb, PanesArgs, percent_encode};
use super::output::printable;
use super::spawn::SpawnArgs;
use super::table::Sheet;
use super::view_output::ViewOutputArgs;
use super::wait::WaitArgs;
use super::{Context, DurationArg, adopt, body, list, output, spawn, view_output, wait};
use crate::error::CommandError;

/// How long `--wait` waits unless told.
const WAIT: Duration = Duration::from_secs(600);

/// Between what the daemon may take to answer and what is waited for.
const GRACE: Duration = Duration::from_secs(15);

#[derive(Debug, Subcommand)]
pub enum SmVerb {
    /// Write to an agent: it reads the message when it has nothing left to do
    Send(SendArgs),
    /// Show the messages that wait
    Queue {
        /// Only those for this agent
        #[arg(value_name = "TO")]
        to: Option<String>,
        /// Those that are over too
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a message and what became of it
    Show {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Wait until an agent is in a state
    Wait(WaitArgs),
    /// Say in a line what an agent is doing
    What {
        /// Which agent
        #[arg(value_name = "TO")]
        to: String,
    },
    /// List the agents
    List(PanesArgs),
    /// Show what an agent printed
    Output(ViewOutputArgs),
    /// Give an agent a name
    Name {
        /// Which agent
        #[arg(value_name = "TO")]
        to: String,
        /// The name
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Start an agent in a window of its own
    #[command(visible_alias = "new")]
    Spawn(Box<SpawnArgs>),
    /// Be reminded, or remind an agent, of something later
    #[command(visible_alias = "wake")]
    Remind(RemindArgs),
    /// Take a message back that waits
    Cancel {
        /// Its id
        #[arg(value_name = "ID")]
        id: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
#[command(
    group = clap::ArgGroup::new("body").required(true),
    after_help = "The message is on the disk when this returns, and ends in one of three ways: confirmed, when the agent itself says that it\nwas given it; unconfirmed, when it was typed and nobody can say; not delivered. It is never typed into a dialog, over\nsomebody's draft, or at another agent, and never twice.\n\nExamples:\n  sm send reviewer 'the tests are green, please look at the diff'\n  sm send api --file plan.md --important\n  git diff | sm send api - --timeout 10m\n  sm send api 'are you done?' --wait 5m"
)]
pub struct SendArgs {
    /// To whom: a name, `%3`, `runtime:ID` or `pane:TARGET/SESSION/WINDOW/PANE`
    #[arg(value_name = "TO")]
    to: String,
    /// The message; `-` reads it from standard input
    #[arg(value_name = "TEXT", group = "body", allow_hyphen_values = true)]
    text: Option<String>,
    /// A file that holds the message
    #[arg(long, value_name = "FILE", group = "body")]
    file: Option<PathBuf>,
    /// When its turn has ended, though something in the background may wake it
    #[arg(long)]
    important: bool,
    /// Do not deliver it later than this from now, such as `5m`
    #[arg(long, value_name = "TIME")]
    timeout: Option<DurationArg>,
    /// Tell the agent that sends it when it was delivered
    #[arg(long)]
    notify_on_delivery: bool,
    /// Tell the agent that sends it so long after it was delivered, to look what came of it
    #[arg(long, value_name = "TIME")]
    notify_after: Option<DurationArg>,
    /// The message that it answers
    #[arg(long, value_name = "ID")]
    reply_to: Option<String>,
    /// Wait until it is known what became of it, 10 minutes unless told
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = false)]
    wait: Option<Option<DurationArg>>,
    /// An id of your own: sent again with it, it is not delivered twice
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A reminder is a message: it waits for its time, then for the agent, survives the daemon, and `sm show` tells what became\nof it. Inside an agent's pane no TO means that agent.\n\nExamples:\n  sm remind 5m 'look whether the build is done'\n  sm remind reviewer 1h 'is the review done?'\n  sm remind reviewer 30m 'status, please' --recurring\n  sm remind list\n  sm remind cancel m_0d0c8d5f6f1a2b3c"
)]
pub struct RemindArgs {
    /// `TIME TEXT`, `TO TIME TEXT`, `list`, or `cancel ID`
    #[arg(value_name = "WORDS", required = true, num_args = 1..=3)]
    words: Vec<String>,
    /// Again and again, each time so much later
    #[arg(long)]
    recurring: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(verb: SmVerb, context: &Context) -> Result<(), CommandError> {
    match verb {
        SmVerb::Send(args) => send(args, context).await,
        SmVerb::Remind(args) => remind(args, context).await,
        SmVerb::Wait(args) => wait::run(args, context).await,
        SmVerb::What { to } => output::print(&format!("{}\n", wait::what(&wait::look(context, &to).await?))),
        SmVerb::List(args) => list::run(ListVerb::Panes(args), context).await,
        SmVerb::Output(args) => view_output::run(args, context).await,
        SmVerb::Name { to, name } => adopt::name(to, name, context).await,
        SmVerb::Spawn(args) => spawn::run(*args, context).await,
        SmVerb::Queue { to: Some(to), all: false, json: true } => {
            let path = format!("/sessions/{}/send-queue", percent_encode(&to));
            let queue: SendQueue = context.client().get(&path).await?;
            output::print_json(&queue)
        }
        SmVerb::Queue { to, all, json } => {
            let to = to.map(|to| format!("&to={}", percent_encode(&to))).unwrap_or_default();
            let list: MessageList = context.client().get(&format!("/v1/messages?all={all}{to}")).await?;
            if json { output::print_json(&list) } else { output::print(&table(&list, context.color)) }
        }
        SmVerb::Show { id, json } => {
            let message: Message = context.client().get(&format!("/v1/messages/{}", percent_encode(&id))).await?;
            if json { output::print_json(&message) } else { output::print(&story(&message)) }
        }
        SmVerb::Cancel { id, json } => cancel(&id, json, context).await,
    }
}

async fn send(args: SendArgs, context: &Context) -> Result<(), CommandError> {
    let text = match (args.text.as_deref(), &args.file) {
        (Some("-"), _) => body::read(Path::new("-"))?,
        (Some(text), _) => text.to_owned(),
        (None, Some(file)) => body::read(file)?,
        (None, None) => {
            return Err(CommandError::new(ErrorCode::Usage, "there is no message").hint("see `sm send --help`"));
        }
    };
    let request = PostMessage {
        to: args.to,
        text,
        delivery_mode: args.important.then(|| "important".to_owned()),
        id: args.id,
        timeout_seconds: args.timeout.map(|DurationArg(timeout)| timeout.as_secs().max(1)),
        reply_to: args.reply_to,
        notify_on_delivery: args.notify_on_delivery,
        notify_after_seconds: args.notify_after.map(|DurationArg(after)| after.as_secs().max(1)),
        ..PostMessage::default()
    };
    let mut message: Message = context.client().post("/v1/messages", &request).await?;
    if let Some(wait) = args.wait {
        let wait = wait.map_or(WAIT, |DurationArg(wait)| wait);
        let path = format!("/v1/messages/{}?wait_ms={}", percent_encode(&message.id), wait.as_millis());
        message = context.client().patient(wait + GRACE).get(&path).await?;
    }
    if args.json {
        output::print_json(&message)?;
    } else {
        output::print(&format!("{}\n", line(&message)))?;
    }
    match (args.wait.is_some(), message.verdict.as_deref()) {
        (false, _) | (true, Some("confirmed")) => Ok(()),
        (true, None) => {
            Err(CommandError::new(ErrorCode::Timeout, format!("{} is still {}", message.id, message.status))
                .hint(format!("it goes on by itself; `sm show {}` tells", message.id)))
        }
        (true, Some("unconfirmed")) => {
            Err(CommandError::new(ErrorCode::Unconfirmed, format!("{} is unconfirmed: {}", message.id, why(&message)))
                .hint("look at its pane before you send it again: it may be there already"))
        }
        (true, Some(_)) => Err(CommandError::new(
            ErrorCode::PreconditionFailed,
            format!("{} was not delivered: {}", message.id, why(&message)),
        )
        .hint("send it again when it can be")),
    }
}

async fn remind(args: RemindArgs, context: &Context) -> Result<(), CommandError> {
    let words: Vec<_> = args.words.iter().map(String::as_str).collect();
    let (to, time, text) = match words[..] {
        ["list"] => return reminders(args.json, context).await,
        ["cancel", id] => return cancel(id, args.json, context).await,
        [time, text] => (None, time, text),
        [to, time, text] => (Some(to.to_owned()), time, text),
        _ => return Err(CommandError::new(ErrorCode::Usage, "say when, and of what").hint("see `sm remind --help`")),
    };
    let DurationArg(time) =
        time.parse().map_err(|error: String| CommandError::new(ErrorCode::Usage, error).hint("`sm remind 5m TEXT`"))?;
    let request = RemindRequest {
        session_id: to,
        delay_seconds: time.as_secs(),
        message: text.to_owned(),
        recurring: args.recurring,
    };
    let message: Message = context.client().post("/scheduler/remind", &request).await?;
    if args.json { output::print_json(&message) } else { output::print(&format!("{}\n", line(&message))) }
}

async fn reminders(json: bool, context: &Context) -> Result<(), CommandError> {
    let mut list: MessageList = context.client().get("/v1/messages").await?;
    list.items.retain(|message| message.category == "reminder");
    if json { output::print_json(&list) } else { output::print(&table(&list, context.color)) }
}

async fn cancel(id: &str, json: bool, context: &Context) -> Result<(), CommandError> {
    let message: Message = context.client().delete(&format!("/v1/messages/{}", percent_encode(id))).await?;
    if json { output::print_json(&message) } else { output::print(&format!("{}\n", line(&message))) }
}

/// A message in a line.
fn line(message: &Message) -> String {
    let waits = message.estimated_delivery.as_deref().map(|what| what.replace('_', " "));
    let detail = match (&message.verdict, message.queue_position) {
        (Some(_), _) => why(message).to_owned(),
        (None, Some(place)) => format!("number {place}, {}", waits.unwrap_or_default()),
        (None, None) => waits.unwrap_or_default(),
    };
    let (id, status, to) = (&message.id, &message.status, &message.to.name);
    printable(&format!("{id} {status} for {to}: {detail}")).trim_end_matches([':', ' ']).to_owned()
}

/// The last thing that happened to a message.
fn why(message: &Message) -> &str {
    message.steps.last().map_or("", |step| &step.why)
}

fn story(message: &Message) -> String {
    let Message { from, to, .. } = message;
    let mut lines = vec![
        line(message),
        format!("from     {} ({})", from.name, from.id),
        format!("to       {} ({})", to.name, to.id),
        format!("mode     {}", message.delivery_mode),
        format!("text     {} bytes: {}", message.bytes, message.preview),
    ];
    lines.extend(message.steps.iter().map(|step| format!("{}  {:<11} {}", step.at, step.to, step.why)));
    lines.iter().map(|line| printable(line.trim_end()) + "\n").collect()
}

fn table(list: &MessageList, color: bool) -> String {
    let mut sheet = Sheet::new(&["ID", "TO", "FROM", "STATUS", "MODE", "WAITS FOR", "TEXT"], color);
    for message in &list.items {
        let waits =
            message.estimated_delivery.as_deref().unwrap_or("").trim_start_matches("waiting_for_").replace('_', " ");
        let cells = [
            message.id.clone(),
            message.to.name.clone(),
            message.from.name.clone(),
            message.status.clone(),
            message.delivery_mode.clone(),
            waits,
            message.preview.clone(),
        ];
        sheet.row(None, &cells);
    }
    sheet.render()
}
