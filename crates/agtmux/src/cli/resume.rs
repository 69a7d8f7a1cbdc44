//! `agtmux resume`: starts an agent again, in the conversation that it was in when it ended.

use std::path::PathBuf;

use agtmux_wire::resume::ResumeRequest;
use agtmux_wire::spawn::SpawnRequest;
use clap::Args;

use super::Context;
use super::spawn::{StartArgs, absolute, patience, progress, report};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux resume api                          the agent that had this name last\n  agtmux resume rt_7f3k                      a runtime that ended\n  agtmux resume 0c1d… --agent claude         a conversation that only the agent knows of\n\nIt runs in a new window of the session where it was, in the directory of before, by the name of before if nobody has that\nnow. A conversation that an agent is still in is left alone."
)]
pub struct ResumeArgs {
    /// A runtime that ended, the name it had, or the agent's own id of the conversation
    #[arg(value_name = "REF")]
    reference: String,
    /// The agent, where only it knows of the conversation
    #[arg(long)]
    agent: Option<String>,
    #[command(flatten)]
    start: StartArgs,
}

pub async fn run(args: ResumeArgs, context: &Context) -> Result<(), CommandError> {
    let json = args.start.json();
    let start = SpawnRequest { agent: args.agent.clone().unwrap_or_default(), ..args.start.request(false)? };
    let here = absolute(PathBuf::from(".")).ok();
    let progress = progress(args.agent.as_deref().unwrap_or("the agent"));
    let client = context.client().patient(patience(&start));
    let spawned = client.post("/v1/actions/resume", &ResumeRequest { reference: args.reference, here, start }).await;
    progress.abort();
    report(&spawned?, json)
}
