//! `sm clear-draft TO`: makes room for mail where a text in the composer cannot make room by itself.

use agtmux_wire::clear_draft::{ClearDraftRequest, ClearedDraft};
use clap::Args;

use crate::cli::acting::{Acted, act, tell_found};
use crate::cli::guard::GuardArgs;
use crate::cli::output::printable_lines;
use crate::cli::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Args)]
#[command(
    after_help = "The text is written to a file first, which is named in the answer and is yours to remove. Then the composer is cleared, by keys, while\nnobody types there, and the mail that waits is delivered. What an agent shows in place of a long paste is not the text: only the\nagent knows that, and it is left alone.\n\nExample:\n  sm clear-draft api"
)]
pub struct ClearDraftArgs {
    /// Which agent
    #[arg(value_name = "TO")]
    to: String,
    #[command(flatten)]
    guard: GuardArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(args: ClearDraftArgs, context: &Context) -> Result<(), CommandError> {
    let aim = args.guard.aim(args.to);
    let action = aim.action_id.clone().unwrap_or_default();
    let client = context.client().patient(std::time::Duration::from_secs(60));
    let acted = act::<ClearedDraft>(&client, "/v1/actions/clear-draft", &ClearDraftRequest { aim }, &action).await?;
    let cleared = match acted {
        Acted::Answered(cleared) => cleared,
        Acted::Found(item) => return tell_found(&item, args.json),
    };
    if args.json {
        return output::print_json(&cleared);
    }
    let what = if cleared.exact { "" } else { ", as the screen showed it" };
    output::print(&printable_lines(&format!("cleared; the text is in {}{what}:\n{}\n", cleared.file, cleared.text)))
}
