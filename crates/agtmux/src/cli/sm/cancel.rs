//! `sm cancel`: one message, or all of a kind that wait.

use agtmux_wire::error::ErrorDetail;
use agtmux_wire::mail::{Message, MessageList};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::inbox::{asker, is_agent};
use super::send::answer_each;
use super::text::line;
use crate::cli::list::percent_encode;
use crate::cli::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "What was typed cannot be taken back. One of those that come again and again is taken back with all that would follow it.\nAn agent takes back what it wrote itself, and the notices that wait for it.\n\nExamples:\n  sm cancel m_0d0c8d5f6f1a2b3c\n  sm cancel --category notice\n  sm cancel --category reminder api"
)]
pub struct CancelArgs {
    /// The message's id; with `--category`, the agent for which messages wait
    #[arg(value_name = "ID|TO", required_unless_present = "category", value_parser = NonEmptyStringValueParser::new())]
    what: Option<String>,
    /// All of this kind that wait, for one agent or for all
    #[arg(long, value_name = "KIND", value_parser = ["mail", "notice", "reminder"])]
    category: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: CancelArgs, context: &Context) -> Result<(), CommandError> {
    match (args.category, args.what) {
        (Some(category), to) => all(&category, to.as_deref(), args.json, context).await,
        (None, id) => one(&id.unwrap_or_default(), args.json, context).await,
    }
}

pub(super) async fn one(id: &str, json: bool, context: &Context) -> Result<(), CommandError> {
    let message = take_back(id, context).await?;
    if json { output::print_json(&message) } else { output::print(&format!("{}\n", line(&message))) }
}

async fn all(category: &str, to: Option<&str>, json: bool, context: &Context) -> Result<(), CommandError> {
    let to = to.map(|to| format!("?to={}", percent_encode(to))).unwrap_or_default();
    let list: MessageList = context.client().get(&format!("/v1/messages{to}")).await?;
    // An agent has no say in what others wrote to others.
    let asker = Some(asker(context).await?).filter(is_agent).map(|asker| asker.party.id);
    let is_its = |message: &Message, agent: &String| {
        message.from.id == *agent || message.category == "notice" && message.to.id == *agent
    };
    let is_wanted = |message: &&Message| {
        let is_meant = message.category == category && message.status == "queued";
        is_meant && asker.as_ref().is_none_or(|agent| is_its(message, agent))
    };
    let mut answers = Vec::new();
    for message in list.items.iter().filter(is_wanted) {
        // One that comes again may have gone with the one before it.
        let answer = match take_back(&message.id, context).await {
            Err(error) => match now(&message.id, context).await {
                Ok(message) if message.status == "cancelled" => Ok(message),
                _ => Err(ErrorDetail::from(error)),
            },
            Ok(message) => Ok(message),
        };
        answers.push((message.id.clone(), answer));
    }
    if answers.is_empty() && !json {
        return output::print("nothing waits\n");
    }
    answer_each(answers, json, "taken back")
}

async fn now(id: &str, context: &Context) -> Result<Message, CommandError> {
    context.client().get(&format!("/v1/messages/{}", percent_encode(id))).await
}

async fn take_back(id: &str, context: &Context) -> Result<Message, CommandError> {
    context.client().delete(&format!("/v1/messages/{}", percent_encode(id))).await
}
