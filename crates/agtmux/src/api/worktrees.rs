//! `GET /v1/worktrees` and `POST /v1/worktrees/remove`: the git worktrees in which agents work.

use std::path::{Path, PathBuf};

use agtmux_core::query::PaneFilter;
use agtmux_wire::SCHEMA_VERSION;
use agtmux_wire::error::ErrorCode;
use agtmux_wire::worktree::{RemoveWorktree, WorktreeItem, WorktreeList, WorktreeQuery};
use axum::extract::State;

use super::Api;
use super::answer::{Answer, Body, Json, Params};
use crate::error::CommandError;
use crate::platform;
use crate::worktree::{self, Worktree, remove};

pub async fn list(State(api): State<Api>, Params(query): Params<WorktreeQuery>) -> Answer<WorktreeList> {
    let repository = directory(&query.repo)?;
    let residents = residents(&api).await?;
    let items = worktree::list(&repository).await?.iter().map(|tree| item(tree, &residents)).collect();
    Ok(Json(WorktreeList { schema_version: SCHEMA_VERSION, items }))
}

pub async fn remove(State(api): State<Api>, Body(request): Body<RemoveWorktree>) -> Answer<WorktreeItem> {
    let repository = directory(&request.repo)?;
    let tree = worktree::find(&repository, &request.worktree).await?;
    let residents = residents(&api).await?;
    let registry = api.hands.manifests.now();
    let taught: Vec<_> = registry.list().filter_map(|entry| entry.manifest.instructions.clone()).collect();
    let item = item(&tree, &residents);
    // git runs in the repository's own folder, which is there when the worktree is gone.
    let main = worktree::list(&repository).await?.swap_remove(0).path;
    remove::remove(&main, &tree, &item.agents, &taught, request.force).await?;
    tracing::info!(path = %tree.path.display(), "worktree removed");
    Ok(Json(item))
}

fn directory(text: &str) -> Result<PathBuf, CommandError> {
    let path = Path::new(text);
    if path.is_absolute() && path.is_dir() {
        return Ok(path.to_owned());
    }
    Err(CommandError::new(ErrorCode::Usage, format!("{text:?} is not a directory"))
        .hint("give an absolute path in `repo`"))
}

/// Where each agent works: as its process says, and as its pane shows.
async fn residents(api: &Api) -> Result<Vec<(String, PathBuf)>, CommandError> {
    let rows = api.synced().await.read(|world| world.panes(&PaneFilter::default())).await?;
    let mut residents = Vec::new();
    for view in rows {
        let Some(runtime) = view.row.runtime else { continue };
        let name = runtime.name.unwrap_or_else(|| runtime.id.to_string());
        let shown = view.surface.cwd.map(PathBuf::from);
        for place in platform::process_cwd(runtime.process.pid).into_iter().chain(shown) {
            residents.push((name.clone(), place));
        }
    }
    Ok(residents)
}

fn item(tree: &Worktree, residents: &[(String, PathBuf)]) -> WorktreeItem {
    let path = tree.path.canonicalize().unwrap_or_else(|_| tree.path.clone());
    let mut agents: Vec<_> =
        residents.iter().filter(|(_, place)| place.starts_with(&path)).map(|(name, _)| name.clone()).collect();
    agents.sort();
    agents.dedup();
    WorktreeItem {
        path: tree.path.display().to_string(),
        branch: tree.branch.clone(),
        head: tree.head.clone(),
        is_main: tree.is_main,
        locked: tree.locked.clone(),
        prunable: tree.prunable.clone(),
        agents,
    }
}
