//! The block in the instruction files of agents, in a workspace.
//!
//! Everything is planned before anything is written, so that a file that is refused refuses all. Files that several agents
//! read are planned and written once.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agtmux_agents::instructions::{self, Change, InstructionFiles, Reach, has_instructions};

use super::SetupError;
use super::change::{self, Found};
use super::exclude::Repository;

/// An instruction file, and what it should become.
#[derive(Debug, Clone)]
pub struct Provision {
    /// The file as it is.
    pub file: Found,
    /// Its bytes as they should be; `None` if it should not be there.
    pub after: Option<Vec<u8>>,
    /// How far the block is there.
    pub change: Change,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish {
    /// Whether the block is taken out.
    pub removes: bool,
    /// Whether the file is edited that a link out of the workspace leads to.
    pub follows_links: bool,
}

/// Everything that is to be written in a workspace.
#[derive(Debug)]
pub struct Lessons {
    workspace: PathBuf,
    /// By path, links followed.
    files: BTreeMap<PathBuf, Provision>,
    /// What git is told to ignore, where it is a repository.
    exclude: Option<(Found, Option<Vec<u8>>)>,
    /// Why git cannot be told.
    unheard: Option<SetupError>,
}

impl Provision {
    fn plan(path: &Path, wish: Wish) -> Result<Self, SetupError> {
        let file = change::read(path, wish.follows_links)?;
        let refused = |refusal| SetupError::Damaged { path: file.path.clone(), refusal };
        let (ensured, change) = instructions::ensure(file.bytes.as_deref()).map_err(refused)?;
        let after = match (wish.removes, file.bytes.as_deref()) {
            (false, _) => Some(ensured),
            (true, None) => None,
            (true, Some(before)) => instructions::remove(before).map_err(refused)?,
        };
        Ok(Self { file, after, change })
    }

    /// Whether the file becomes another.
    pub fn is_change(&self) -> bool {
        self.file.bytes != self.after
    }
}

impl Lessons {
    /// Plans nothing yet. The workspace must be the path by which it is known, without links.
    pub fn new(workspace: &Path) -> Self {
        Self { workspace: workspace.to_owned(), files: BTreeMap::new(), exclude: None, unheard: None }
    }

    /// Plans the block of one agent: in the file that it reads, and out of those it should not read it from. Gives the paths,
    /// the file that it reads first.
    ///
    /// # Errors
    /// Refuses files that cannot be read or understood, and links out of the workspace.
    pub fn plan(&mut self, files: &InstructionFiles, wish: Wish) -> Result<Vec<PathBuf>, SetupError> {
        let chosen = files.choose(|file| self.is_there(file, files.reach()));
        let mut paths = vec![self.edit(chosen, wish)?];
        let others: Vec<_> = if wish.removes {
            files.all().collect()
        } else {
            // A file of ours alone must not hide the one that a person wrote since.
            let hiding = [files.created()].into_iter().filter(|file| is_ours_alone(&self.workspace.join(file)));
            files.former().chain(hiding).collect()
        };
        for other in others {
            let holds_block = fs::read(self.workspace.join(other)).is_ok_and(|bytes| has_instructions(&bytes));
            if other != chosen && holds_block {
                let other = self.edit(other, Wish { removes: true, ..wish })?;
                if !paths.contains(&other) {
                    paths.push(other);
                }
            }
        }
        Ok(paths)
    }

    /// Plans one file by its place in the workspace, unless it is planned already, and gives its path.
    fn edit(&mut self, file: &str, wish: Wish) -> Result<PathBuf, SetupError> {
        let path = self.workspace.join(file);
        // What lies in the workspace is edited by whatever name it has there: `CLAUDE.md` may be a link to `AGENTS.md`.
        let stays = path.canonicalize().is_ok_and(|real| real.starts_with(&self.workspace));
        let provision = Provision::plan(&path, Wish { follows_links: wish.follows_links || stays, ..wish })?;
        let real = provision.file.path.clone();
        self.files.entry(real.clone()).or_insert(provision);
        Ok(real)
    }

    /// Whether a file that is not ours alone exists in the workspace, or in a folder above it that counts.
    fn is_there(&self, file: &str, reach: Reach) -> bool {
        let top = match reach {
            Reach::Workspace => Some(self.workspace.clone()),
            Reach::Repository => Repository::of(&self.workspace).map(|repository| repository.root),
            Reach::Everything => None,
        };
        let home = std::env::home_dir();
        let is_within = |folder: &&Path| top.as_ref().is_none_or(|top| folder.starts_with(top));
        self.workspace.ancestors().take_while(is_within).any(|folder| {
            // Such a folder of the home directory holds the configuration of a person, not of a project.
            let is_personal = file.starts_with('.') && home.as_deref() == Some(folder);
            let path = folder.join(file);
            !is_personal && path.exists() && !is_ours_alone(&path)
        })
    }

    /// Plans what git is told, when all files are planned. A repository in which that cannot be is no reason to teach nobody.
    pub fn plan_exclude(&mut self) {
        let Some(repository) = Repository::of(&self.workspace) else { return };
        let planned = |path: &Path| self.files.get(path).map(|provision| provision.after.clone());
        match repository.plan(self.files.keys(), planned) {
            Ok(plan) => self.exclude = Some(plan),
            Err(error) => self.unheard = Some(error),
        }
    }

    /// What is planned for a file.
    pub fn of(&self, path: &Path) -> Option<&Provision> {
        self.files.get(path)
    }

    /// What git is told to ignore, if that changes.
    pub fn exclude(&self) -> Option<(&Found, Option<&[u8]>)> {
        let changed = self.exclude.as_ref().filter(|(file, after)| file.bytes != *after);
        changed.map(|(file, after)| (file, after.as_deref()))
    }

    /// Writes the files, and gives why git could not be told to ignore those that were made, if so. The files are under the eyes
    /// of whoever works there, so that no copies are kept beside them.
    ///
    /// # Errors
    /// Fails at the first file that cannot be written, which is then as it was.
    pub fn write(self) -> Result<Option<SetupError>, SetupError> {
        for provision in self.files.values().filter(|provision| provision.is_change()) {
            provision.file.replace(provision.after.as_deref())?;
            if provision.after.is_none() {
                change::prune_folders(&provision.file.path, &self.workspace);
            }
        }
        let told = self.exclude().map_or(Ok(()), |(file, after)| file.replace(after).map(|_| ()));
        Ok(self.unheard.or(told.err()))
    }
}

fn is_ours_alone(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| instructions::is_ours_alone(&bytes))
}
