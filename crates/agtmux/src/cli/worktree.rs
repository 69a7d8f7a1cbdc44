//! `agtmux worktree`: the git worktrees in which agents work. `agtmux spawn --worktree` makes them.

use std::path::PathBuf;
use std::time::Duration;

use agtmux_wire::error::ErrorCode;
use agtmux_wire::worktree::{RemoveWorktree, WorktreeItem, WorktreeList};
use clap::{Args, Subcommand};

use super::confirm::confirm;
use super::list::percent_encode;
use super::spawn::absolute;
use super::table::{Sheet, or_dash};
use super::{Context, output};
use crate::error::CommandError;

/// How long git may take with the files of a large repository.
const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Subcommand)]
pub enum WorktreeVerb {
    /// List the worktrees of a repository, and who works in them
    List {
        /// A directory in the repository
        #[arg(long, value_name = "DIR", default_value = ".")]
        repo: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a worktree, if nothing would be lost by that
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Refused, with a list of what is there, for changes that are not committed, files that git does not know,\ncommits that no branch holds, a rebase or merge that is half done, a lock, and while an agent works there. None of\nthat can be forced. The branch stays."
)]
pub struct RemoveArgs {
    /// Its branch or its path
    #[arg(value_name = "BRANCH|PATH")]
    worktree: String,
    /// A directory in the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    repo: PathBuf,
    /// Remove files that git ignores with it, such as what was built
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub async fn run(verb: WorktreeVerb, context: &Context) -> Result<(), CommandError> {
    let client = context.client().patient(PATIENCE);
    match verb {
        WorktreeVerb::List { repo, json } => {
            let path = format!("/v1/worktrees?repo={}", percent_encode(&absolute(repo)?));
            if json {
                output::print_bytes(&client.get_text(&path).await?)?;
                return output::print("\n");
            }
            let list: WorktreeList = client.get(&path).await?;
            output::print(&table(&list, context.color))
        }
        WorktreeVerb::Remove(args) => {
            if !args.yes {
                confirm(&format!("remove the worktree {:?}?", args.worktree), ErrorCode::Cancelled)?;
            }
            let request = RemoveWorktree { repo: absolute(args.repo)?, worktree: args.worktree, force: args.force };
            let gone: WorktreeItem = client.post("/v1/worktrees/remove", &request).await?;
            if args.json {
                return output::print_json(&gone);
            }
            let stays = gone.branch.map_or_else(String::new, |branch| format!("; the branch {branch} stays"));
            output::print(&format!("removed {}{}\n", output::printable(&gone.path), output::printable(&stays)))
        }
    }
}

fn table(list: &WorktreeList, color: bool) -> String {
    let mut sheet = Sheet::new(&["BRANCH", "AGENTS", "PATH", "NOTE"], color);
    for tree in &list.items {
        let locked = tree.locked.as_deref().map(|why| format!("locked {why}").trim_end().to_owned());
        let note = tree.prunable.clone().or(locked).or_else(|| tree.is_main.then(|| "the repository".to_owned()));
        let branch = tree.branch.clone().or_else(|| Some(tree.head.as_ref()?.chars().take(12).collect()));
        let cells = [
            or_dash(branch.as_deref()),
            or_dash(Some(&tree.agents.join(", "))),
            tree.path.clone(),
            note.unwrap_or_default(),
        ];
        sheet.row(None, &cells);
    }
    sheet.render()
}
