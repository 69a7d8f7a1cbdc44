//! `sm busy` and `sm ready`: an agent has something to do though nothing of its is under way, and has done it.

use agtmux_wire::busy::{BusyRequest, Readiness, ReadyRequest};
use agtmux_wire::error::ErrorCode;
use clap::Args;

use super::inbox::{asker, is_agent};
use crate::cli::output::printable;
use crate::cli::{Context, DurationArg, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "What can wait waits until the agent is ready; important messages and reminders of its own do not. It ends with `sm ready`,\nwhen the agent ends, and after --for, so that what was forgotten strands nothing.\n\nExamples:\n  sm busy 'the build runs'              in an agent's pane\n  sm busy 'long job' --for 3h\n  sm busy reviewer 'I am at it'         a person, for an agent"
)]
pub struct BusyArgs {
    /// `REASON`, in an agent's pane; `TO` or `TO REASON`, from a shell
    #[arg(value_name = "WORDS", num_args = 0..=2)]
    words: Vec<String>,
    /// At most so long, up to 24 hours
    #[arg(long = "for", value_name = "TIME", default_value = "1h")]
    within: DurationArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct ReadyArgs {
    /// Which agent; in an agent's pane that one
    #[arg(value_name = "TO")]
    to: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn busy(args: BusyArgs, context: &Context) -> Result<(), CommandError> {
    if args.within.0.as_secs() == 0 {
        return Err(CommandError::new(ErrorCode::Usage, "--for is less than a second")
            .hint("`sm ready` says that it has done it"));
    }
    let is_agent = is_agent(&asker(context).await?);
    let mut words = args.words.into_iter();
    let (reference, reason) = match (is_agent, words.next(), words.next()) {
        (true, reason, None) => (None, reason),
        (_, Some(to), reason) => (Some(to), reason),
        (false, None, _) => {
            return Err(CommandError::new(ErrorCode::Usage, "it is not said which agent is busy")
                .hint("an agent means itself; from a shell: `sm busy reviewer`"));
        }
        (true, None, Some(_)) => return Err(CommandError::internal("a second word without a first")),
    };
    let request = BusyRequest { reference, reason, for_seconds: Some(args.within.0.as_secs()) };
    show(&context.client().post("/v1/busy", &request).await?, args.json)
}

pub(super) async fn ready(args: ReadyArgs, context: &Context) -> Result<(), CommandError> {
    let request = ReadyRequest { reference: args.to };
    show(&context.client().post("/v1/ready", &request).await?, args.json)
}

fn show(readiness: &Readiness, json: bool) -> Result<(), CommandError> {
    if json {
        return output::print_json(readiness);
    }
    let name = &readiness.agent.name;
    let text = match &readiness.busy {
        None => format!("{name} is ready"),
        Some(busy) => {
            let reason = if busy.reason.is_empty() { String::new() } else { format!(": {}", busy.reason) };
            format!("{name} is busy until {} at the latest{reason}", busy.until)
        }
    };
    output::print(&format!("{}\n", printable(&text)))
}
