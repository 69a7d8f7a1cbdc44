//! `agtmux provision`: teaches the agents of a workspace to say how they stand, by a block in their instruction files.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agtmux_agents::Registry;
use agtmux_agents::instructions::{Change, InstructionFiles, base_agent};
use agtmux_wire::error::ErrorCode;
use clap::Args;
use serde::Serialize;

use super::edits::{self, FileEdit};
use super::table::Sheet;
use super::{Context, output};
use crate::config;
use crate::daemon::startup::user_manifests;
use crate::error::CommandError;
use crate::setup::instructions::{Lessons, Wish};
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
    /// Where a file is a link out of the workspace, edit the file that it leads to
    #[arg(long)]
    follow_links: bool,
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
    /// Files that the block is taken out of, because the agent does not read them or because they hide others from it.
    former: Vec<FileEdit>,
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
    let wish = Wish { removes: args.remove, follows_links: args.follow_links };
    let mut lessons = Lessons::new(&workspace);
    let mut planned = Vec::new();
    for (agent, files) in files(args, &registry, &models) {
        let paths = files.map(|files| lessons.plan(files, wish)).transpose()?.unwrap_or_default();
        planned.push((agent, paths));
    }
    lessons.plan_exclude();
    let items: Vec<_> = planned.into_iter().map(|(agent, paths)| item(agent, &paths, &lessons, args)).collect();
    let git = edits::of(lessons.exclude().into_iter()).pop();
    let unheard = if writes { lessons.write()? } else { None };
    print(&items, git, args, context)?;
    if let Some(error) = unheard {
        output::remark(&output::printable(&format!("git was not told to ignore what was made: {error}")));
    }
    let missing: Vec<_> = items.iter().filter(|item| item.is_change()).map(|item| item.agent.as_str()).collect();
    if args.check && !missing.is_empty() {
        let message = format!("no instructions for {}", missing.join(", "));
        return Err(CommandError::new(ErrorCode::NotSetUp, message).hint("agtmux provision writes them"));
    }
    Ok(())
}

/// What becomes of an agent's files.
fn item(agent: String, paths: &[PathBuf], lessons: &Lessons, args: &ProvisionArgs) -> Item {
    let edit = |path: &PathBuf| {
        let provision = lessons.of(path)?;
        edits::of(std::iter::once((&provision.file, provision.after.as_deref()))).pop()
    };
    let Some(first) = paths.first().and_then(|path| lessons.of(path)) else {
        return Item { agent, action: "none", file: None, former: Vec::new() };
    };
    let former = paths.iter().skip(1).filter_map(edit).filter(FileEdit::is_change).collect();
    let action = action(first.change, args, first.is_change());
    Item { agent, action, file: paths.first().and_then(edit), former }
}

impl Item {
    fn is_change(&self) -> bool {
        self.file.iter().chain(&self.former).any(FileEdit::is_change)
    }
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
fn files<'r>(
    args: &ProvisionArgs,
    registry: &'r Registry,
    models: &BTreeMap<String, String>,
) -> Vec<(String, Option<&'r InstructionFiles>)> {
    let ids: Vec<_> = registry.list().map(|entry| entry.manifest.id.as_str()).collect();
    let names: Vec<String> = if args.agents.is_empty() {
        let places = Places::from_env(args.workspace.clone());
        places.agents().into_iter().map(|agent| agent.id().to_owned()).collect()
    } else {
        args.agents.clone()
    };
    let mut files: Vec<(String, Option<&InstructionFiles>)> = Vec::new();
    for name in names {
        let agent = base_agent(&name, &ids, models).unwrap_or(&name).to_owned();
        if files.iter().any(|(known, _)| *known == agent) {
            continue;
        }
        let read = registry.get(&agent).and_then(|manifest| manifest.instructions.as_ref());
        files.push((agent, read));
    }
    files
}

fn print(items: &[Item], git: Option<FileEdit>, args: &ProvisionArgs, context: &Context) -> Result<(), CommandError> {
    if args.json {
        let document = serde_json::json!({ "schema_version": agtmux_wire::SCHEMA_VERSION, "items": items, "git": git });
        return output::print_json(&document);
    }
    let mut text = String::new();
    if args.dry_run {
        let edits = items.iter().flat_map(|item| item.file.iter().chain(&item.former)).chain(&git);
        // Agents may read the same file.
        let by_path: BTreeMap<_, _> = edits.map(|edit| (&edit.path, edit)).collect();
        text.extend(by_path.into_values().map(|edit| edit.diff(context.color)));
    }
    let mut sheet = Sheet::new(&["ACTION", "AGENT", "FILE"], context.color);
    for item in items {
        let path = item.file.as_ref().map_or("(no instruction file is known)", |edit| &edit.path);
        sheet.row(None, &[item.action.to_owned(), item.agent.clone(), path.to_owned()]);
        for edit in &item.former {
            let action = if args.check { "outdated" } else { "removed" };
            sheet.row(None, &[action.to_owned(), item.agent.clone(), edit.path.clone()]);
        }
    }
    text.push_str(&sheet.render());
    output::print(&text)
}
