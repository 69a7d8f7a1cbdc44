//! Which files git is told to ignore: those that were made for a block and hold nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use agtmux_agents::instructions::{self, excluded, is_ours_alone, pattern};

use super::SetupError;
use super::change::{self, Found};

/// The git repository that a workspace is in, found as git finds it, without running git.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repository {
    /// The root of the worktree.
    pub root: PathBuf,
    /// The folder that all worktrees of the repository share.
    common: PathBuf,
}

impl Repository {
    /// The repository that a folder is in.
    pub fn of(folder: &Path) -> Option<Self> {
        let root = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
        let mark = root.join(".git");
        let dir = if mark.is_dir() {
            mark
        } else {
            let text = fs::read_to_string(&mark).ok()?;
            root.join(text.strip_prefix("gitdir:")?.trim())
        };
        let common = match fs::read_to_string(dir.join("commondir")) {
            Ok(common) => dir.join(common.trim()),
            Err(_) => dir,
        };
        Some(Self { root: root.to_owned(), common: common.canonicalize().ok()? })
    }

    /// The exclude file, and what it should become when files of this worktree become what is planned. `planned` gives the
    /// bytes of a file that is planned; `None` of other files.
    ///
    /// # Errors
    /// Refuses an exclude file that cannot be read or understood.
    pub fn plan<'p>(
        &self,
        files: impl Iterator<Item = &'p PathBuf>,
        planned: impl Fn(&Path) -> Option<Option<Vec<u8>>>,
    ) -> Result<(Found, Option<Vec<u8>>), SetupError> {
        let file = change::read(&self.common.join("info/exclude"), true)?;
        let refused = |refusal| SetupError::Damaged { path: file.path.clone(), refusal };
        let before = excluded(file.bytes.as_deref().unwrap_or_default()).map_err(refused)?;
        let roots = self.roots();
        let is_ours = |path: &Path| {
            let bytes = planned(path).unwrap_or_else(|| fs::read(path).ok());
            bytes.is_some_and(|bytes| is_ours_alone(&bytes))
        };
        let below = |path: &PathBuf| Some(path.strip_prefix(&self.root).ok()?.to_str()?.to_owned());
        let names = before.iter().cloned().chain(files.filter_map(below));
        let wanted: BTreeSet<_> = names
            .filter(|name| pattern(name).is_some() && roots.iter().any(|root| is_ours(&root.join(name))))
            .collect();
        let after = instructions::exclude(file.bytes.as_deref(), &wanted).map_err(refused)?;
        Ok((file, after))
    }

    /// The roots of all worktrees of the repository.
    fn roots(&self) -> BTreeSet<PathBuf> {
        let main = self.common.parent().filter(|_| self.common.ends_with(".git")).map(Path::to_owned);
        let linked = fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten();
        let linked = linked.filter_map(|entry| {
            let mark = fs::read_to_string(entry.path().join("gitdir")).ok()?;
            entry.path().join(mark.trim()).parent().map(Path::to_owned)
        });
        main.into_iter().chain(linked).chain([self.root.clone()]).collect()
    }
}
