//! Making a worktree for a branch.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::git::Git;
use super::{list, refused};
use crate::error::CommandError;

/// A worktree that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Where it is.
    pub path: PathBuf,
    /// The branch that is checked out in it.
    pub branch: String,
    /// Whether the branch was made too.
    pub is_new_branch: bool,
}

/// Where a branch comes from.
enum Origin {
    Local,
    Remote(String),
    New,
}

/// Makes a worktree for a branch: one that is there, one that a remote has, or a new one from what is checked out in the
/// directory.
///
/// # Errors
/// Refused for what cannot name a branch, for a branch that is checked out elsewhere, and where something is in the way.
pub async fn add(directory: &Path, branch: &str, root: Option<&Path>) -> Result<Made, CommandError> {
    let git = Git::at(directory);
    let is_name = !branch.starts_with('-') && !branch.contains('\0');
    if !is_name || !git.says(["check-ref-format", &format!("refs/heads/{branch}")]).await? {
        return Err(
            refused(format!("{branch:?} cannot name a branch")).hint("`git help check-ref-format` has the rules")
        );
    }
    let worktrees = list(directory).await?;
    if let Some(other) = worktrees.iter().find(|tree| tree.branch.as_deref() == Some(branch)) {
        let path = other.path.display();
        return Err(refused(format!("{branch} is checked out already, in {path}"))
            .hint(format!("work there, with --workspace {path}, or name another branch")));
    }
    let main = worktrees.first().map(|tree| tree.path.clone()).unwrap_or_default();
    let path = place(&main, branch, root);
    if fs::symlink_metadata(&path).is_ok() {
        return Err(refused(format!("{} is there already, and is not of {branch}", path.display()))
            .hint("move it away, or make a worktree by hand and name it with --workspace"));
    }
    let origin = origin(&git, branch).await?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| refused(format!("{}: {error}", folder.display())))?;
    }
    let words: Vec<&OsStr> = match &origin {
        Origin::Local => vec!["--".as_ref(), path.as_ref(), branch.as_ref()],
        Origin::Remote(of) => {
            vec!["--track".as_ref(), "-b".as_ref(), branch.as_ref(), "--".as_ref(), path.as_ref(), of.as_ref()]
        }
        Origin::New => vec!["-b".as_ref(), branch.as_ref(), "--".as_ref(), path.as_ref(), "HEAD".as_ref()],
    };
    git.run([OsStr::new("worktree"), OsStr::new("add")].into_iter().chain(words)).await?;
    Ok(Made { path, branch: branch.to_owned(), is_new_branch: !matches!(origin, Origin::Local) })
}

/// The place of a branch: beside the repository, or below the folder that is configured. A branch with slashes is one folder
/// and not several: `feature` and `feature/x` must not lie inside one another.
pub fn place(main: &Path, branch: &str, root: Option<&Path>) -> PathBuf {
    let name = main.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".git").filter(|rest| !rest.is_empty()).unwrap_or(&name);
    let folder = match root {
        Some(root) => root.join(name),
        None => main.with_file_name(format!("{name}-worktrees")),
    };
    folder.join(branch.replace('/', "-"))
}

async fn origin(git: &Git, branch: &str) -> Result<Origin, CommandError> {
    if git.says(["show-ref", "--verify", "--quiet", &format!("refs/heads/{branch}")]).await? {
        return Ok(Origin::Local);
    }
    let remotes = git.run(["remote"]).await?;
    let remotes = String::from_utf8_lossy(&remotes).into_owned();
    let mut found = Vec::new();
    for remote in remotes.lines() {
        let name = format!("refs/remotes/{remote}/{branch}");
        if git.says(["show-ref", "--verify", "--quiet", &name]).await? {
            found.push(name);
        }
    }
    match found.as_slice() {
        [] => Ok(Origin::New),
        [one] => Ok(Origin::Remote(one.clone())),
        many => Err(refused(format!("several remotes have {branch}: {}", many.join(", ")))
            .hint("make the branch you want first: `git branch NAME REMOTE/NAME`")),
    }
}

#[cfg(test)]
mod tests {
    use super::place;
    use std::path::Path;

    #[test]
    fn a_branch_has_its_place() {
        let of = |main: &str, branch: &str, root: Option<&str>| {
            place(Path::new(main), branch, root.map(Path::new)).display().to_string()
        };
        assert_eq!(of("/src/api", "feat/x", None), "/src/api-worktrees/feat-x");
        assert_eq!(of("/src/api.git", "main", None), "/src/api-worktrees/main");
        assert_eq!(of("/src/api", "feat/x", Some("/wt")), "/wt/api/feat-x");
    }
}
