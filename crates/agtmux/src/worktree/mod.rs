//! Git worktrees for agents: made in a predictable place, and never removed with anybody's work in them.
//!
//! | file | what it does |
//! |---|---|
//! | [`git`] | runs the system's git, without hooks and without what our own environment says about repositories |
//! | [`add`] | makes a worktree for a branch |
//! | [`remove`] | removes one, if nothing would be lost by that |

pub mod add;
pub mod git;
pub mod remove;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use agtmux_wire::error::ErrorCode;

use crate::error::CommandError;
use git::Git;

/// A worktree of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Worktree {
    /// Where it is.
    pub path: PathBuf,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// The branch that is checked out; none if it is a commit alone.
    pub branch: Option<String>,
    /// Whether it is the repository's own.
    pub is_main: bool,
    /// Whether it is a repository without files.
    pub is_bare: bool,
    /// Why it is locked, if it is.
    pub locked: Option<String>,
    /// Why it is not really there, if it is not.
    pub prunable: Option<String>,
}

/// The worktrees of the repository that a directory is in, its own first.
///
/// # Errors
/// Fails if it is in none.
pub async fn list(directory: &Path) -> Result<Vec<Worktree>, CommandError> {
    let output = Git::at(directory).run(["worktree", "list", "--porcelain", "-z"]).await?;
    let mut worktrees = parse(&output);
    match worktrees.first_mut() {
        Some(first) => first.is_main = true,
        None => return Err(refused(format!("{} is in no git repository", directory.display()))),
    }
    Ok(worktrees)
}

/// The worktree of a repository that is meant: by its branch, or by its path.
///
/// # Errors
/// Refused if there is none.
pub async fn find(repository: &Path, meant: &str) -> Result<Worktree, CommandError> {
    let path = std::path::absolute(repository.join(meant)).unwrap_or_else(|_| PathBuf::from(meant));
    let path = path.canonicalize().unwrap_or(path);
    let worktrees = list(repository).await?;
    let known = worktrees.iter().find(|tree| tree.branch.as_deref() == Some(meant) || tree.path == path);
    known.cloned().ok_or_else(|| {
        let branches: Vec<_> = worktrees.iter().filter_map(|tree| tree.branch.as_deref()).collect();
        refused(format!("no worktree has the branch or the path {meant:?}"))
            .hint(format!("there is {}; `agtmux worktree list` shows where", branches.join(", ")))
    })
}

fn parse(output: &[u8]) -> Vec<Worktree> {
    let mut worktrees: Vec<Worktree> = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        let (key, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let text = || String::from_utf8_lossy(value).into_owned();
        if key == b"worktree" {
            worktrees.push(Worktree { path: OsString::from_vec(value.to_vec()).into(), ..Worktree::default() });
            continue;
        }
        let Some(tree) = worktrees.last_mut() else { continue };
        match key {
            b"HEAD" => tree.head = Some(text()),
            b"branch" => tree.branch = Some(text().trim_start_matches("refs/heads/").to_owned()),
            b"bare" => tree.is_bare = true,
            b"locked" => tree.locked = Some(text()),
            b"prunable" => tree.prunable = Some(text()),
            _ => {}
        }
    }
    worktrees
}

pub(crate) fn refused(message: String) -> CommandError {
    CommandError::new(ErrorCode::Worktree, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worktrees_are_read_whatever_they_are_called() {
        let text = "worktree /w/a\nb\0HEAD 12\0branch refs/heads/feat/x\0\0worktree /w/c\0HEAD 34\0detached\0locked on a\nstick\0\0worktree /w/d.git\0bare\0\0";
        let trees = parse(text.as_bytes());
        assert_eq!(trees[0].path, Path::new("/w/a\nb"));
        assert_eq!(trees[0].branch.as_deref(), Some("feat/x"));
        assert_eq!((trees[1].branch.as_deref(), trees[1].locked.as_deref()), (None, Some("on a\nstick")));
        assert!(trees[2].is_bare);
        assert_eq!(trees.len(), 3);
    }
}
