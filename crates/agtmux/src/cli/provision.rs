//! `agtmux provision`: teaches the agents of a workspace to say how they stand, by a block in their instruction files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agtmux_agents::Registry;
use agtmux_agents::instructions::{Change, base_agent};
use agtmux_wire::error::ErrorCode;
use clap::Args;
use serde::Serialize;

use super::edits::{self, FileEdit};
use super::table::Sheet;
use super::{Context, output};
use crate::config;
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;
use crate::setup::SetupError;
use crate::setup::instructions::Provision;
use crate::setup::lock::SetupLock;
use crate::setup::places::Places;

#[derive(Debug, Args)]
#[command(after_help = "What the block says and how it is taken back: docs/setup.md")]
pub struct ProvisionArgs {
    /// The workspace
    #[arg(value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// The agent, or a model that it runs, such as claude-opus; without any, all agents that are found here
    #[arg(long = "agent", value_name = "AGENT")]
    agents: Vec<String>,
    /// Change nothing; fail unless all instruction files have the block as it should be
    #[arg(long, conflicts_with_all = ["remove", "dry_run"])]
    check: bool,
    /// Take the block out
    #[arg(long)]
    remove: bool,
    /// Change nothing; show what would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of one agent's file.
#[derive(Debug, Serialize)]
struct Item {
    agent: String,
    /// `created`, `appended`, `updated`, `unchanged` or `removed`; of a check `missing`, `outdated` or `unchanged`; `none`
    /// for an agent without an instruction file.
    action: &'static str,
    file: Option<FileEdit>,
}

pub fn run(args: &ProvisionArgs, context: &Context) -> Result<(), CommandError> {
    let workspace = args.workspace.canonicalize().map_err(|error| {
        CommandError::new(ErrorCode::SetupRefused, format!("{}: {error}", args.workspace.display()))
            .hint("name a directory that exists")
    })?;
    let (registry, _problems) = Registry::with_user(user_manifests(&context.paths.config_dir));
    let models = config::load(&context.paths.config_dir)?.config.provision.models;
    let writes = !args.check && !args.dry_run;
    let _lock = if writes { Some(SetupLock::take(&context.paths.state_dir)?) } else { None };

    // Everything is planned before anything is written: a file that is refused refuses all.
    let plan = |file: String| Provision::plan(&workspace, &file, args.remove);
    let planned = files(args, &registry, &models)
        .into_iter()
        .map(|(agent, file)| Ok((agent, file.map(plan).transpose()?)))
        .collect::<Result<Vec<_>, SetupError>>()?;
    let mut items = Vec::new();
    let mut missing = Vec::new();
    for (agent, provision) in planned {
        let Some(provision) = provision else {
            items.push(Item { agent, action: "none", file: None });
            continue;
        };
        if writes {
            provision.write(&workspace)?;
        }
        let edit = edits::of(std::iter::once((&provision.file, provision.after.as_deref()))).pop();
        let changes = edit.as_ref().is_some_and(FileEdit::is_change);
        if changes {
            missing.push(agent.clone());
        }
        let action = action(provision.change, args, changes);
        items.push(Item { agent, action, file: edit });
    }
    print(&items, args, context)?;
    if args.check && !missing.is_empty() {
        let message = format!("no instructions for {}", missing.join(", "));
        return Err(CommandError::new(ErrorCode::NotSetUp, message).hint("agtmux provision writes them"));
    }
    Ok(())
}

/// What was done, or what a check found.
const fn action(change: Change, args: &ProvisionArgs, changes: bool) -> &'static str {
    match change {
        _ if args.remove && changes => "removed",
        Change::Created | Change::Appended if args.check => "missing",
        Change::Updated if args.check => "outdated",
        Change::Unchanged => "unchanged",
        _ if args.remove => "unchanged",
        Change::Created => "created",
        Change::Appended => "appended",
        Change::Updated => "updated",
    }
}

/// The agents that are meant, each with its instruction file. A name that nobody knows has none: nothing is done for it,
/// and its signals still work.
fn files(
    args: &ProvisionArgs,
    registry: &Registry,
    models: &BTreeMap<String, String>,
) -> Vec<(String, Option<String>)> {
    let ids: Vec<_> = registry.list().map(|entry| entry.manifest.id.as_str()).collect();
    let names: Vec<String> = if args.agents.is_empty() {
        let places = Places::from_env(args.workspace.clone());
        places.agents().into_iter().map(|agent| agent.id().to_owned()).collect()
    } else {
        args.agents.clone()
    };
    let mut files: Vec<(String, Option<String>)> = Vec::new();
    for name in names {
        let agent = base_agent(&name, &ids, models).unwrap_or(&name).to_owned();
        if files.iter().any(|(known, _)| *known == agent) {
            continue;
        }
        let manifest = registry.list().map(|entry| &entry.manifest).find(|manifest| manifest.id == agent);
        let file = manifest.and_then(|manifest| manifest.instructions.clone());
        files.push((agent, file));
    }
    files
}

fn print(items: &[Item], args: &ProvisionArgs, context: &Context) -> Result<(), CommandError> {
    if args.json {
        let document = serde_json::json!({ "schema_version": agtmux_wire::SCHEMA_VERSION, "items": items });
        return output::print_json(&document);
    }
    let mut text = String::new();
    if args.dry_run {
        text.extend(items.iter().filter_map(|item| item.file.as_ref()).map(|edit| edit.diff(context.color)));
    }
    let mut sheet = Sheet::new(&["ACTION", "AGENT", "FILE"], context.color);
    for item in items {
        let path = item.file.as_ref().map_or("(no instruction file is known)", |edit| &edit.path);
        sheet.row(None, &[item.action.to_owned(), item.agent.clone(), path.to_owned()]);
    }
    text.push_str(&sheet.render());
    output::print(&text)
}
