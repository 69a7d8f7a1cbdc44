//! `agtmux sm`, and `sm` alone: messages that wait until the agent can take them, and say what became of them.

mod busy;
mod cancel;
mod clear_draft;
mod follow;
mod inbox;
mod remind;
mod send;
mod text;

use agtmux_wire::mail::{Message, MessageList, SendQueue};
use clap::Subcommand;
use clap::builder::NonEmptyStringValueParser;

use super::list::{ListVerb, PanesArgs, percent_encode};
use super::spawn::SpawnArgs;
use super::view_output::ViewOutputArgs;
use super::wait::WaitArgs;
use super::{Context, adopt, list, output, spawn, view_output, wait};
use crate::error::CommandError;
pub use text::table as messages_table;
pub use text::way;
use text::{story, table};

#[derive(Debug, Subcommand)]
pub enum SmVerb {
    /// Write to agents: each reads the message when it has nothing left to do
    Send(send::SendArgs),
    /// Show what waits for the agent in this pane, what it was given lately, and who wrote it
    Inbox(inbox::InboxArgs),
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
        #[arg(value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
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
        /// Print JSON: the pane as `list panes` shows it
        #[arg(long)]
        json: bool,
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
    Remind(remind::RemindArgs),
    /// Take messages back that wait
    Cancel(cancel::CancelArgs),
    /// Keep the text in an agent's composer in a file and clear it, so that its mail can be delivered
    ClearDraft(clear_draft::ClearDraftArgs),
    /// Say that the agent in this pane has something to do between its turns: what can wait waits
    Busy(busy::BusyArgs),
    /// Say that it has done it
    Ready(busy::ReadyArgs),
    /// Show for whom the daemon takes you: a person, or the agent in this pane
    Whoami {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub async fn run(verb: SmVerb, context: &Context) -> Result<(), CommandError> {
    match verb {
        SmVerb::Send(args) => send::run(args, context).await,
        SmVerb::Inbox(args) => inbox::run(args, context).await,
        SmVerb::Remind(args) => remind::run(args, context).await,
        SmVerb::Wait(args) => wait::run(args, context).await,
        SmVerb::What { to, json } => wait::show(&wait::look(context, &to).await?, json),
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
        SmVerb::Cancel(args) => cancel::run(args, context).await,
        SmVerb::ClearDraft(args) => clear_draft::run(args, context).await,
        SmVerb::Busy(args) => busy::busy(args, context).await,
        SmVerb::Ready(args) => busy::ready(args, context).await,
        SmVerb::Whoami { json } => inbox::whoami(json, context).await,
    }
}
