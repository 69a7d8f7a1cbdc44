//! What has to be written to set an agent up, or to take that back.

use super::Refusal;
use super::agent::{Agent, Scope};
use super::codex_config::{self, Wanted};
use super::codex_trust::{self, Trusted};
use super::{hook_file, own_file};

/// What is wished for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish<'w> {
    /// Our hooks, running this program.
    Install {
        /// The absolute path of agtmux.
        program: &'w str,
    },
    /// None of our hooks.
    Remove,
}

/// A file of [`Agent::files`] as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its absolute path, by which Codex names hooks.
    pub path: String,
    /// Its bytes, if it is there.
    pub before: Option<Vec<u8>>,
}

/// A file as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Its bytes; `None` if it should not be there.
    pub after: Option<Vec<u8>>,
}

/// How far an agent is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// Nothing of ours is there.
    Absent,
    /// Something of ours is there, but not as it should be.
    Stale,
    /// Everything is as it should be.
    Current,
}

/// Something that a person should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remark {
    /// Somebody else's `notify` stands in Codex's configuration, and stays.
    NotifyIsTaken,
    /// The configuration switches all hooks off.
    HooksAreOff,
}

/// What has to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The files, in the order of [`Agent::files`].
    pub files: Vec<FilePlan>,
    /// How far the agent is set up now, for the program that was wished for.
    pub installed: Installed,
    /// What a person should know.
    pub remarks: Vec<Remark>,
}

/// Plans the edits of an agent's files.
///
/// # Errors
/// Refuses a file that it does not understand, and says which of the files that is.
pub fn plan(agent: Agent, scope: Scope, wish: Wish<'_>, files: &[Given]) -> Result<Plan, (usize, Refusal)> {
    let (removed, _) = edit(agent, scope, Wish::Remove, files)?;
    let (wished, remarks) = edit(agent, scope, wish, files)?;
    let is_unchanged = |plans: &[FilePlan]| plans.iter().zip(files).all(|(plan, file)| plan.after == file.before);
    let installed = match wish {
        _ if is_unchanged(&removed) => Installed::Absent,
        Wish::Install { .. } if is_unchanged(&wished) => Installed::Current,
        Wish::Install { .. } | Wish::Remove => Installed::Stale,
    };
    Ok(Plan { files: wished, installed, remarks })
}

type Edits = (Vec<FilePlan>, Vec<Remark>);

fn edit(agent: Agent, scope: Scope, wish: Wish<'_>, files: &[Given]) -> Result<Edits, (usize, Refusal)> {
    let Some(hooks) = files.first() else {
        return Ok((Vec::new(), Vec::new()));
    };
    let before = hooks.before.as_deref();
    let first = |refusal| (0, refusal);
    match agent {
        Agent::Opencode | Agent::Copilot => {
            own_file::check(agent, before).map_err(first)?;
            let after = match wish {
                Wish::Install { program } => Some(own_file::text(agent, program).into_bytes()),
                Wish::Remove => None,
            };
            Ok((vec![FilePlan { after }], Vec::new()))
        }
        Agent::Claude | Agent::Gemini | Agent::Cursor => {
            let after = edit_hooks(agent, wish, before).map_err(first)?;
            let remarks = hook_file::switched_off(agent, before).map_err(first)?;
            Ok((vec![FilePlan { after }], remarks.then_some(Remark::HooksAreOff).into_iter().collect()))
        }
        Agent::Codex => edit_codex(scope, wish, files),
    }
}

fn edit_hooks(agent: Agent, wish: Wish<'_>, before: Option<&[u8]>) -> Result<Option<Vec<u8>>, Refusal> {
    match (wish, before) {
        (Wish::Install { program }, _) => hook_file::install(agent, before, program).map(Some),
        (Wish::Remove, None) => Ok(None),
        (Wish::Remove, Some(before)) => hook_file::remove(agent, before),
    }
}

/// Codex wants each hook trusted, by its place in the hooks file: both files are edited as one.
fn edit_codex(scope: Scope, wish: Wish<'_>, files: &[Given]) -> Result<Edits, (usize, Refusal)> {
    let [hooks, config] = files else {
        return Ok((Vec::new(), Vec::new()));
    };
    let first = |refusal| (0, refusal);
    let after = edit_hooks(Agent::Codex, wish, hooks.before.as_deref()).map_err(first)?;
    let former = codex_trust::trusted(&hooks.path, hooks.before.as_deref()).map_err(first)?;
    let (program, trusted): (_, Vec<Trusted>) = match wish {
        // `notify` is for all projects, and Codex takes it from the user's configuration alone.
        Wish::Install { program } => (
            (scope == Scope::User).then_some(program),
            codex_trust::trusted(&hooks.path, after.as_deref()).map_err(first)?,
        ),
        Wish::Remove => (None, Vec::new()),
    };
    let keeps_notify = scope == Scope::Project;
    let wanted = Wanted { program, keeps_notify, trusted: &trusted, former: &former };
    let edited = codex_config::edit(config.before.as_deref(), &wanted).map_err(|refusal| (1, refusal))?;
    let remarks = edited.notify_is_taken.then_some(Remark::NotifyIsTaken).into_iter().collect();
    Ok((vec![FilePlan { after }, FilePlan { after: edited.bytes }], remarks))
}
