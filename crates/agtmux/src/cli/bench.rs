//! `agtmux bench accuracy`.

use std::path::{Path, PathBuf};

use agtmux_agents::Registry;
use agtmux_wire::error::ErrorCode;
use clap::{Args, Subcommand};

use super::{Context, output};
use crate::accuracy::{self, AccuracyError, Selection, Sources};
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;

/// Where a checkout keeps the recordings.
const RECORDINGS: [&str; 2] = ["crates/agents/fixtures/recordings", "crates/agents/fixtures/variants"];

#[derive(Debug, Subcommand)]
pub enum BenchVerb {
    /// Measure how often the state of an agent is right, on recordings of real agents
    Accuracy(AccuracyArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "A recording is a directory AGENT/CASE or VARIANT/AGENT/CASE with truth.json, meta.json, screen.ansi, and raw.bin\nand hooks.jsonl where there are any. WRONG-SAFE counts where text and Enter were called safe and were not: it must be 0."
)]
pub struct AccuracyArgs {
    /// A directory of recordings, may be repeated; those of the checkout by default
    #[arg(long, value_name = "DIR")]
    fixtures: Vec<PathBuf>,
    /// Only recordings of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only recordings of this variant, such as `narrow`
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
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
    let fixtures = if args.fixtures.is_empty() { recordings_of_checkout()? } else { args.fixtures };
    let (registry, problems) = Registry::with_user(user_manifests(&context.paths.config_dir));
    for problem in problems {
        output::remark(&format!("left out {problem}"));
    }
    let selection = Selection { agent: args.agent, variant: args.variant };
    let sets = args.sources.map_or_else(|| Sources::EACH.to_vec(), |sources| vec![sources]);
    let accuracy = accuracy::run(&registry, &fixtures, &selection, &sets).map_err(refusal)?;
    match (args.json, args.markdown) {
        (true, _) => output::print_json(&accuracy),
        (false, true) => output::print(&accuracy.markdown()),
        (false, false) => output::print(&accuracy.text()),
    }
}

/// The recordings of the checkout that the current directory is in.
fn recordings_of_checkout() -> Result<Vec<PathBuf>, CommandError> {
    let current = std::env::current_dir().map_err(CommandError::internal)?;
    let of = |root: &Path| RECORDINGS.map(|folder| root.join(folder));
    let found = current.ancestors().map(of).find(|folders| folders.iter().all(|folder| folder.is_dir()));
    found.map(Vec::from).ok_or_else(|| {
        CommandError::new(ErrorCode::Usage, format!("there is no {} here or above", RECORDINGS[0]))
            .hint("name a directory of recordings with `--fixtures DIR`")
    })
}

fn refusal(error: AccuracyError) -> CommandError {
    CommandError::new(ErrorCode::Usage, error.to_string())
        .hint("`--fixtures DIR` names a directory that holds AGENT/CASE/truth.json or VARIANT/AGENT/CASE/truth.json")
}
