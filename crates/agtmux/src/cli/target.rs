//! `agtmux target add|connect|list|remove`.

use agtmux_wire::error::ErrorCode;
use agtmux_wire::target::{AddTarget, TargetItem, TargetKind, TargetList};
use clap::{Args, Subcommand, ValueEnum};

use super::confirm::confirm;
use super::list::percent_encode;
use super::table::{Sheet, or_dash};
use super::{Context, output};
use crate::error::CommandError;

#[derive(Debug, Subcommand)]
pub enum TargetVerb {
    /// Make a place known
    Add(AddArgs),
    /// Connect to a place now
    Connect {
        /// Its name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the places and how they are
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Forget a place, and everything known about it
    Remove {
        /// Its name
        name: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct AddArgs {
    /// Its name: lower-case letters, digits, `.`, `_`, `-`
    name: String,
    /// How it is reached
    #[arg(long, value_enum)]
    kind: KindArg,
    /// The host as in `ssh HOST`; for `--kind ssh`
    #[arg(long, value_name = "SSH_HOST", required_if_eq("kind", "ssh"))]
    ssh_target: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindArg {
    /// This host
    Local,
    /// Another host, by OpenSSH
    Ssh,
}

pub async fn run(verb: TargetVerb, context: &Context) -> Result<(), CommandError> {
    if let TargetVerb::Connect { name, .. } | TargetVerb::Remove { name, .. } = &verb
        && name.is_empty()
    {
        return Err(
            CommandError::new(ErrorCode::BadName, "the name is empty").hint("`agtmux target list` shows the names")
        );
    }
    let client = context.client();
    match verb {
        TargetVerb::Add(args) => {
            let kind = match args.kind {
                KindArg::Local => TargetKind::Local,
                KindArg::Ssh => TargetKind::Ssh,
            };
            let request = AddTarget { name: args.name, kind, ssh_target: args.ssh_target };
            let target: TargetItem = client.post("/v1/targets", &request).await?;
            report(&target, "added", args.json)
        }
        TargetVerb::Connect { name, json } => {
            let path = format!("/v1/targets/{}/connect", percent_encode(&name));
            let target: TargetItem = client.post(&path, &serde_json::json!({})).await?;
            report(&target, "is", json)
        }
        TargetVerb::List { json } => {
            if json {
                output::print_bytes(&client.get_text("/v1/targets").await?)?;
                return output::print("\n");
            }
            let list: TargetList = client.get("/v1/targets").await?;
            output::print(&table(&list, context.color))
        }
        TargetVerb::Remove { name, yes, json } => {
            if !yes {
                let question = format!("forget target {name:?} and everything known about it?");
                confirm(&question, ErrorCode::Cancelled)?;
            }
            let target: TargetItem = client.delete(&format!("/v1/targets/{}", percent_encode(&name))).await?;
            report(&target, "removed", json)
        }
    }
}

fn report(target: &TargetItem, done: &str, json: bool) -> Result<(), CommandError> {
    if json {
        return output::print_json(target);
    }
    let detail = target.detail.as_deref().map_or_else(String::new, |detail| format!(": {detail}"));
    output::print(&format!("target {} {done} ({}{detail})\n", target.identity.target, target.health))
}

fn table(list: &TargetList, color: bool) -> String {
    let mut sheet = Sheet::new(&["HEALTH", "TARGET", "KIND", "CONNECTION", "AGENTS", "DETAIL"], color);
    for target in &list.items {
        let kind = match target.kind {
            TargetKind::Local => "local",
            TargetKind::Ssh => "ssh",
        };
        sheet.row(
            Some(&target.health),
            &[
                target.health.clone(),
                format!("{}{}", target.identity.target, if target.is_default { " (default)" } else { "" }),
                kind.to_owned(),
                or_dash(target.connection_ref.as_deref()),
                target.runtimes.to_string(),
                target.detail.clone().unwrap_or_default(),
            ],
        );
    }
    sheet.render()
}
