//! `agtmux approve REF` and `agtmux deny REF`.

use agtmux_wire::action::Aim;
use agtmux_wire::approve::{AnswerOutcome, Answered, ApproveRequest, DenyRequest};
use agtmux_wire::error::ErrorCode;
use clap::Args;
use serde::Serialize;

use super::acting::{Acted, act, tell_found};
use super::guard::GuardArgs;
use super::output::printable;
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux approve %3                        whatever it asks right now; the answer says what that was\n  agtmux list panes --json --needs-action  shows what is asked, as prompt.subject and prompt.hash\n  agtmux approve %3 --if-prompt 1f0c9a     only if it still asks that\n\nThe answer is for the question that is asked when the command is run, and for no other: if that changes first, nothing\nis done. It allows this once; \"always\" is for the person at the terminal."
)]
pub struct ApproveArgs {
    #[command(flatten)]
    question: QuestionArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux deny %3\n  agtmux deny %3 --reason 'use make test instead'\n  agtmux deny %3 --if-prompt 1f0c9a\n\nWith a reason the agent goes on and takes it into account; that is possible where the agent has a channel for it\n(Claude Code with the hooks of `agtmux setup`, opencode with --port), and refused elsewhere."
)]
pub struct DenyArgs {
    #[command(flatten)]
    question: QuestionArgs,
    /// What the agent is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, Args)]
struct QuestionArgs {
    /// Which agent
    #[arg(value_name = "REF")]
    reference: String,
    /// It asks this, by the hash that `list panes --json` and `explain` show, or six or more characters of it
    #[arg(long, value_name = "HASH", help_heading = "Only if")]
    if_prompt: Option<String>,
    #[command(flatten)]
    guard: GuardArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl QuestionArgs {
    fn aim(self) -> Aim {
        Aim { if_prompt: self.if_prompt, ..self.guard.aim(self.reference) }
    }
}

pub async fn approve(args: ApproveArgs, context: &Context) -> Result<(), CommandError> {
    let json = args.question.json;
    let request = ApproveRequest { aim: args.question.aim() };
    answer("/v1/actions/approve", &request, &request.aim, json, context).await
}

pub async fn deny(args: DenyArgs, context: &Context) -> Result<(), CommandError> {
    let json = args.question.json;
    let request = DenyRequest { aim: args.question.aim(), reason: args.reason };
    answer("/v1/actions/deny", &request, &request.aim, json, context).await
}

async fn answer(
    path: &str,
    request: &impl Serialize,
    aim: &Aim,
    json: bool,
    context: &Context,
) -> Result<(), CommandError> {
    let action = aim.action_id.clone().unwrap_or_default();
    match act(&context.client(), path, request, &action).await? {
        Acted::Answered(answered) => show(&answered, json),
        Acted::Found(item) => tell_found(&item, json),
    }
}

fn show(answered: &Answered, json: bool) -> Result<(), CommandError> {
    if json {
        output::print_json(answered)?;
    }
    let about = answered.prompt.subject.as_deref().unwrap_or(&answered.prompt.hash);
    let whom = format!("{} in {}, {}", answered.agent, answered.pane_id, answered.way.words());
    let done = match answered.outcome {
        AnswerOutcome::Approved => "approved",
        AnswerOutcome::Denied => "denied",
        AnswerOutcome::Unconfirmed => {
            let message = format!("{} was answered ({whom}) and still asks the same", printable(about));
            return Err(CommandError::new(ErrorCode::Unconfirmed, message)
                .hint(format!("look at it before you try again: `agtmux explain {}`", answered.runtime_id)));
        }
    };
    if json { Ok(()) } else { output::print(&format!("{done} {} ({whom})\n", printable(about))) }
}
