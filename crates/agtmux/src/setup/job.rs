//! One agent set up: its files read, planned and written.

use std::path::PathBuf;

use agtmux_agents::setup::claude_plugin as plugin;
use agtmux_agents::setup::{Agent, FilePlan, Given, Installed, Plan, Refusal, Scope, Wish, plan};

use super::SetupError;
use super::change::{self, Found, Outcome};
use super::claude_plugin::Plugin;
use super::places::Places;

/// The edits of one agent, planned and not yet written.
#[derive(Debug)]
pub struct Job {
    /// The agent.
    pub agent: Agent,
    /// The files as they are.
    pub files: Vec<Found>,
    /// The files as they should be.
    pub plan: Plan,
    /// The folders that stay, one for each file.
    folders: Vec<PathBuf>,
    /// Whether this takes our hooks out.
    removes: bool,
}

/// What is wished for, and where.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Our hooks, or none of them.
    pub wish: Wish<'r>,
    /// For whom.
    pub scope: Scope,
    /// Whether the file is edited that a link leads to.
    pub follows_links: bool,
    /// What becomes of Claude's plugin.
    pub plugin: Plugin,
}

impl Job {
    /// Reads the files of an agent and plans their edits.
    ///
    /// # Errors
    /// Refuses files that cannot be read or understood.
    pub fn plan(agent: Agent, request: &Request<'_>, places: &Places) -> Result<Self, SetupError> {
        let paths = places.files(agent, request.scope)?;
        let files: Vec<_> =
            paths.iter().map(|path| change::read(path, request.follows_links)).collect::<Result<_, _>>()?;
        let given: Vec<_> = paths
            .iter()
            .zip(&files)
            .map(|(path, file)| Given { path: path.to_string_lossy().into_owned(), before: file.bytes.clone() })
            .collect();
        let refused = |files: &[Found], (file, refusal): (usize, Refusal)| SetupError::Refused {
            path: files.get(file).map(|file| file.path.clone()).unwrap_or_default(),
            refusal,
        };
        let plan = plan(agent, request.scope, request.wish, &given).map_err(|why| refused(&files, why))?;
        let specs = agent.files(request.scope);
        let folders = specs.iter().map(|file| places.folder(file.base)).collect::<Result<_, _>>()?;
        let mut job = Self { agent, files, plan, folders, removes: request.wish == Wish::Remove };
        if agent == Agent::Claude && request.scope == Scope::User && request.plugin != Plugin::AsItIs {
            job.add_plugin(request, places, refused)?;
        }
        Ok(job)
    }

    /// Plans the files of the plugin as well. Where none of them is there or wanted, nothing is said of them.
    fn add_plugin(
        &mut self,
        request: &Request<'_>,
        places: &Places,
        refused: impl Fn(&[Found], (usize, Refusal)) -> SetupError,
    ) -> Result<(), SetupError> {
        let read = |file: &plugin::PluginFile| {
            change::read(&places.folder(file.place.base)?.join(file.place.path), request.follows_links)
        };
        let files = plugin::FILES.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let before: Vec<_> = files.iter().map(|file| file.bytes.clone()).collect();
        let wanted = request.plugin == Plugin::In && request.wish != Wish::Remove;
        let planned = plugin::plan(wanted, &before).map_err(|why| refused(&files, why))?;
        if !wanted && planned.installed == Installed::Absent {
            return Ok(());
        }
        if self.plan.installed != planned.installed {
            self.plan.installed = Installed::Stale;
        }
        for (file, spec) in files.into_iter().zip(plugin::FILES) {
            self.files.push(file);
            self.folders.push(places.folder(spec.place.base)?);
        }
        self.plan.files.extend(planned.after.into_iter().map(|after| FilePlan { after }));
        Ok(())
    }

    /// How far the agent is set up.
    pub const fn installed(&self) -> Installed {
        self.plan.installed
    }

    /// Whether the plugin comes where it was not.
    pub fn puts_plugin_in(&self) -> bool {
        let added = self.agent.files(Scope::User).len();
        self.edits().skip(added).any(|(file, after)| file.bytes.is_none() && after.is_some())
    }

    /// Each file with the bytes it should have; `None` if it should not be there.
    pub fn edits(&self) -> impl DoubleEndedIterator<Item = (&Found, Option<&[u8]>)> {
        self.files.iter().zip(self.plan.files.iter().map(|file| file.after.as_deref()))
    }

    /// What becomes of each file.
    pub fn outcomes(&self) -> Vec<Outcome> {
        self.edits().map(|(file, after)| Outcome::of(file.bytes.as_deref(), after)).collect()
    }

    /// Whether there is anything to write.
    pub fn changes_anything(&self) -> bool {
        self.outcomes().iter().any(|outcome| *outcome != Outcome::Unchanged)
    }

    /// Writes the files. The first text of a file that is edited is kept beside it.
    ///
    /// Hooks are listed first and what they need after them, so that they go in last and out first: an agent never
    /// meets hooks without what they need.
    ///
    /// # Errors
    /// Fails at the first file that cannot be written, which is then as it was.
    pub fn write(&self) -> Result<(), SetupError> {
        let mut edits: Vec<_> = self.edits().zip(&self.folders).collect();
        if !self.removes {
            edits.reverse();
        }
        for ((file, after), folder) in edits {
            if Outcome::of(file.bytes.as_deref(), after) == Outcome::Edited {
                file.keep_backup()?;
            }
            let outcome = file.replace(after)?;
            if self.removes {
                file.drop_backup(after)?;
            }
            if outcome == Outcome::Deleted {
                change::prune_folders(&file.path, folder);
            }
        }
        Ok(())
    }
}
