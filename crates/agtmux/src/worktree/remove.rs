//! Removing a worktree, if nothing would be lost by that.
//!
//! Nothing here can be forced but the removal of files that git ignores. Changes, files that git does not know, commits that
//! no branch holds, and what is locked or half done stay, and the refusal lists them. Git itself is asked to remove the
//! worktree without force, so that it looks once more. The branch is never deleted.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agtmux_agents::instructions::{self, InstructionFiles};

use super::git::Git;
use super::{Worktree, refused};
use crate::error::CommandError;
use crate::setup::instructions::{Lessons, Wish};

/// How many things of a kind are named.
const NAMED: usize = 5;

/// What git writes down while something is half done.
const HALF_DONE: [(&str, &str); 6] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("BISECT_LOG", "a bisection"),
];

/// What is in a worktree that is in no commit.
#[derive(Debug, Default, PartialEq, Eq)]
struct Dirt {
    changed: Vec<String>,
    unknown: Vec<String>,
    ignored: Vec<String>,
}

/// Removes a worktree. `agents` are those that live in it; `taught` are the files that agtmux writes
/// instructions to; with `ignored_too` files that git ignores go with it.
///
/// # Errors
/// Refused, with what would be lost, if anything would.
pub async fn remove(
    repository: &Path,
    worktree: &Worktree,
    agents: &[String],
    taught: &[InstructionFiles],
    ignored_too: bool,
) -> Result<(), CommandError> {
    let path = worktree.path.display();
    if worktree.is_main || worktree.is_bare {
        return Err(refused(format!("{path} is the repository itself")).hint("only further worktrees can be removed"));
    }
    let mut reasons = Vec::new();
    if !agents.is_empty() {
        reasons.push(format!("an agent lives there: {}", named(agents)));
    }
    if let Some(why) = &worktree.locked {
        reasons.push(format!("it is locked{}", if why.is_empty() { String::new() } else { format!(": {why}") }));
    }
    if worktree.prunable.is_none() {
        reasons.extend(work_in(worktree, taught, ignored_too).await?);
    }
    if !reasons.is_empty() {
        return Err(refused(format!("{path} was left as it is: {}", reasons.join("; ")))
            .hint("commit it, or move it away; only ignored files can be given up, with --force"));
    }
    if worktree.prunable.is_none() {
        let mut lessons = Lessons::new(&worktree.path);
        for files in taught {
            lessons.plan(files, Wish { removes: true, follows_links: false })?;
        }
        lessons.plan_exclude();
        lessons.write()?;
    }
    Git::at(repository).run(["worktree".as_ref(), "remove".as_ref(), "--".as_ref(), worktree.path.as_os_str()]).await?;
    // The folder that holds all worktrees goes with the last of them.
    if let Some(folder) = worktree.path.parent().filter(|folder| folder.to_string_lossy().ends_with("-worktrees")) {
        fs::remove_dir(folder).ok();
    }
    Ok(())
}

/// Everything in a worktree that is nowhere else.
async fn work_in(
    worktree: &Worktree,
    taught: &[InstructionFiles],
    ignored_too: bool,
) -> Result<Vec<String>, CommandError> {
    let git = Git::at(&worktree.path);
    let status = git.run(["status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching"]).await?;
    let mut dirt = parse(&status);
    for file in taught.iter().flat_map(InstructionFiles::all).collect::<BTreeSet<_>>() {
        if is_only_taught(&git, &worktree.path, file).await {
            dirt.changed.retain(|changed| changed != file);
            dirt.unknown.retain(|unknown| unknown != file);
            dirt.ignored.retain(|ignored| ignored != file);
        }
    }
    // The files by which agents signal say nothing that has not been heard.
    dirt.ignored.retain(|ignored| !ignored.starts_with(".schmux/"));
    let mut reasons = Vec::new();
    let mut tell = |what: &str, files: &[String]| {
        if !files.is_empty() {
            reasons.push(format!("{what}: {}", named(files)));
        }
    };
    tell("changes that are not committed", &dirt.changed);
    tell("files that git does not know", &dirt.unknown);
    if !ignored_too {
        tell("files that git ignores", &dirt.ignored);
    }
    let git_dir = git.run(["rev-parse", "--path-format=absolute", "--git-dir"]).await?;
    let git_dir = Path::new(std::str::from_utf8(&git_dir).unwrap_or_default().trim_end()).to_owned();
    let half_done = HALF_DONE.iter().find(|(file, _)| git_dir.join(file).exists());
    reasons.extend(half_done.map(|(_, what)| format!("{what} is half done")));
    if worktree.branch.is_none() {
        let commits =
            git.run(["rev-list", "--max-count=6", "HEAD", "--not", "--branches", "--tags", "--remotes"]).await?;
        let commits: Vec<_> =
            String::from_utf8_lossy(&commits).lines().map(|line| line.chars().take(12).collect()).collect();
        if !commits.is_empty() {
            reasons.push(format!("commits that no branch holds: {}", named(&commits)));
        }
    }
    Ok(reasons)
}

/// Whether a file differs from what is committed by nothing but the block that agtmux writes.
async fn is_only_taught(git: &Git, worktree: &Path, file: &str) -> bool {
    let Ok(bytes) = fs::read(worktree.join(file)) else { return false };
    match instructions::remove(&bytes) {
        Ok(None) => true,
        Ok(Some(left)) => git.run(["show", &format!("HEAD:{file}")]).await.is_ok_and(|committed| committed == left),
        Err(_) => false,
    }
}

fn parse(status: &[u8]) -> Dirt {
    let mut dirt = Dirt::default();
    let mut records = status.split(|byte| *byte == 0);
    while let Some(record) = records.next() {
        let text = String::from_utf8_lossy(record).into_owned();
        let after = |words: usize| text.splitn(words + 1, ' ').nth(words).unwrap_or_default().to_owned();
        match text.chars().next() {
            Some('1') => dirt.changed.push(after(8)),
            Some('2') => {
                dirt.changed.push(after(9));
                // The name from before is a record of its own.
                records.next();
            }
            Some('u') => dirt.changed.push(after(10)),
            Some('?') => dirt.unknown.push(after(1)),
            Some('!') => dirt.ignored.push(after(1)),
            _ => {}
        }
    }
    dirt
}

fn named(things: &[String]) -> String {
    let shown = things.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match things.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_dirt_is_seen() {
        let status = "1 .M N... 100644 100644 100644 aa bb a b.txt\x002 R. N... 100644 100644 100644 aa bb R100 new\x00old\x00u UU N... 1 2 3 4 aa bb cc both\x00? un known\x00! target/\x00";
        let expected = Dirt {
            changed: vec!["a b.txt".to_owned(), "new".to_owned(), "both".to_owned()],
            unknown: vec!["un known".to_owned()],
            ignored: vec!["target/".to_owned()],
        };
        assert_eq!(parse(status.as_bytes()), expected);
    }
}
