//! `agtmux bench accuracy`.

use std::path::PathBuf;

use agtmux_agents::Registry;
use agtmux_wire::error::ErrorCode;
use clap::{Args, Subcommand};

use super::{Context, output};
use crate::accuracy::{self, AccuracyError, Sources};
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;

/// Where a checkout keeps the recordings.
const RECORDINGS: &str = "crates/agents/fixtures/recordings";

#[derive(Debug, Subcommand)]
pub enum BenchVerb {
    /// Measure how often the state of an agent is right, on recordings of real agents
    Accuracy(AccuracyArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A recording is a directory AGENT/CASE with truth.json, meta.json, screen.ansi, and raw.bin and hooks.jsonl\nwhere there are any. WRONG-SAFE counts where text and Enter were called safe and were not: it must be 0."
)]
pub struct AccuracyArgs {
    /// The directory of the recordings; those of the checkout by default
    #[arg(long, value_name = "DIR")]
    fixtures: Option<PathBuf>,
    /// Only recordings of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only what these sources say; each set in turn by default
    #[arg(long, value_enum, value_name = "SOURCES")]
    sources: Option<Sources>,
    /// Print the table of the documentation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(verb: BenchVerb, context: &Context) -> Result<(), CommandError> {
    let BenchVerb::Accuracy(args) = verb;
    let fixtures = match args.fixtures {
        Some(directory) => directory,
        None => recordings_of_checkout()?,
    };
    let (registry, problems) = Registry::with_user(user_manifests(&context.paths.config_dir));
    for problem in problems {
        output::remark(&format!("left out {problem}"));
    }
    let sets = args.sources.map_or_else(|| Sources::EACH.to_vec(), |sources| vec![sources]);
    let accuracy = accuracy::run(&registry, &fixtures, args.agent.as_deref(), &sets).map_err(refusal)?;
    match (args.json, args.markdown) {
        (true, _) => output::print_json(&accuracy),
        (false, true) => output::print(&accuracy.markdown()),
        (false, false) => output::print(&accuracy.text()),
    }
}

/// The recordings of the checkout that the current directory is in.
fn recordings_of_checkout() -> Result<PathBuf, CommandError> {
    let current = std::env::current_dir().map_err(CommandError::internal)?;
    let found = current.ancestors().map(|folder| folder.join(RECORDINGS)).find(|folder| folder.is_dir());
    found.ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, format!("there is no {RECORDINGS} here or above"))
            .hint("name a directory of recordings with `--fixtures DIR`")
    })
}

fn refusal(error: AccuracyError) -> CommandError {
    CommandError::new(ErrorCode::Usage, error.to_string())
        .hint("`--fixtures DIR` names a directory that holds AGENT/CASE/truth.json")
}
