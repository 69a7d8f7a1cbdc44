//! `agtmux adopt`: gives an agent a name by which it can be spoken of.

use agtmux_wire::adopt::{AdoptRequest, Adopted};
use clap::Args;

use super::guard::GuardArgs;
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agtmux adopt %3 --name api       from now on `api` is a reference to that agent\n  agtmux adopt api --no-name       take the name away\n\nA name is of one agent and ends with it; another agent in the same pane does not inherit it."
)]
pub struct AdoptArgs {
    /// The agent: a runtime, a pane, a name
    #[arg(value_name = "REF")]
    reference: String,
    /// The name: letters, digits, `.`, `_`, `-`; empty to take it away
    #[arg(long, required_unless_present = "no_name")]
    name: Option<String>,
    /// Take the name away
    #[arg(long, conflicts_with = "name")]
    no_name: bool,
    #[command(flatten)]
    guard: GuardArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Names an agent.
pub(super) async fn name(reference: String, name: String, context: &Context) -> Result<(), CommandError> {
    let args = AdoptArgs { reference, name: Some(name), no_name: false, guard: GuardArgs::default(), json: false };
    run(args, context).await
}

pub async fn run(args: AdoptArgs, context: &Context) -> Result<(), CommandError> {
    let request = AdoptRequest { aim: args.guard.aim(args.reference), name: args.name.filter(|name| !name.is_empty()) };
    let adopted: Adopted = context.client().post("/v1/actions/adopt", &request).await?;
    if args.json {
        return output::print_json(&adopted);
    }
    let name = adopted.name.as_deref().map_or_else(|| "has no name".to_owned(), |name| format!("is {name}"));
    output::print(&format!("{} ({} in {}) {name}\n", adopted.runtime_id, adopted.agent, adopted.pane_id))
}
