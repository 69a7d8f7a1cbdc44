//! `agtmux audit`, and what `agtmux events --audit` shows.

use agtmux_wire::audit::{AuditItem, AuditList, AuditVerdict};
use agtmux_wire::error::ErrorCode;
use clap::{Args, Subcommand};

use super::list::Query;
use super::table::{Sheet, or_dash};
use super::{Context, output};
use crate::error::CommandError;

/// The record of who did what to which agent.
#[derive(Debug, Subcommand)]
pub enum AuditVerb {
    /// Check that nothing was changed in it or taken out of it
    ///
    /// Every row holds the hash of the row before it. The command walks along all of them, compares them with the log, says
    /// which is the first that is not as it was written, and prints the hash of the last. Keep that hash where the agents
    /// of this machine cannot reach: given back with --head it also shows that nothing was cut off at the end since.
    #[command(after_help = "Examples:\n  agtmux audit verify\n  agtmux audit verify --head \"$(cat kept-elsewhere)\"")]
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// A hash that was printed before and must still be in the chain
    #[arg(long, value_name = "HASH")]
    head: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(verb: AuditVerb, context: &Context) -> Result<(), CommandError> {
    let AuditVerb::Verify(args) = verb;
    let mut query = Query::new("/v1/audit/verify");
    query.text("head", args.head.as_deref());
    let verdict: AuditVerdict = context.client().get(&query.path).await?;
    if args.json {
        output::print_json(&verdict)?;
    } else {
        output::print(&summary(&verdict))?;
    }
    match verdict.broken {
        None => Ok(()),
        Some(why) => Err(CommandError::new(ErrorCode::AuditBroken, format!("the audit chain is not whole: {why}"))
            .hint("somebody or something other than agtmux wrote to its database; what stands before that row still counts")),
    }
}

fn summary(verdict: &AuditVerdict) -> String {
    let Some(head) = &verdict.head else {
        return "no rows: nothing was done to any agent yet\n".to_owned();
    };
    let first = verdict.first.unwrap_or(head.n);
    let counted = format!("{} rows, {first} to {}\nhead {}\n", verdict.rows, head.n, head.hash);
    let kept = verdict.kept.map(|row| format!("the kept hash is that of row {row}\n")).unwrap_or_default();
    counted + &kept + if verdict.whole { "whole\n" } else { "" }
}

/// Shows the newest actions.
pub async fn list(limit: u32, json: bool, context: &Context) -> Result<(), CommandError> {
    let mut query = Query::new("/v1/audit");
    query.text("limit", Some(&limit.to_string()));
    let list: AuditList = context.client().get(&query.path).await?;
    if json {
        return output::print_json(&list);
    }
    let mut sheet = Sheet::new(&["AT", "WHO", "VERB", "REF", "RUNTIME", "GUARD", "OUTCOME", "TEXT"], context.color);
    for item in &list.items {
        sheet.row(None, &cells(item));
    }
    output::print(&sheet.render())
}

fn cells(item: &AuditItem) -> [String; 8] {
    let who = match (&item.actor.runtime_id, &item.actor.program) {
        (Some(runtime), _) => runtime.clone(),
        (None, Some(program)) => format!("uid {} by {program}", item.actor.uid),
        (None, None) => format!("uid {}", item.actor.uid),
    };
    let outcome = match &item.code {
        Some(code) => format!("{} {code}", item.outcome),
        None => item.outcome.clone(),
    };
    [
        item.at.clone(),
        who,
        or_dash(item.verb.as_deref()),
        or_dash(item.reference.as_deref()),
        or_dash(item.snapshot.as_ref().and_then(|snapshot| snapshot.runtime_id.as_deref())),
        guard(item),
        outcome,
        text(item),
    ]
}

/// What was to be done, and what came of it.
fn text(item: &AuditItem) -> String {
    let texts: Vec<_> = item.detail.iter().chain(&item.text).map(String::as_str).collect();
    texts.join(": ")
}

fn guard(item: &AuditItem) -> String {
    let Some(guard) = &item.guard else {
        return "-".to_owned();
    };
    let texts = [("runtime", &guard.if_runtime), ("state", &guard.if_state), ("prompt", &guard.if_prompt)];
    let mut parts: Vec<_> =
        texts.iter().filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}"))).collect();
    parts.extend(guard.if_updated_within_ms.map(|ms| format!("within={ms}ms")));
    parts.extend(guard.force_stale.then(|| "force-stale".to_owned()));
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}
