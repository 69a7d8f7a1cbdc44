//! What the environment of an agent's process says about where its files are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::claude::SessionFile;
use super::events::EventsFile;
use super::located::Located;
use super::record::{Keeper, Record};
use super::status::StatusFile;
use super::trace::Trace;
use crate::daemon::roster::Member;
use crate::platform;
use crate::target::manifests::Manifests;

/// Everything that is to be read of a runtime.
pub(super) fn traces(member: &Member, manifests: &Manifests) -> Vec<Box<dyn Trace>> {
    let surroundings = Surroundings::of(member);
    let mut traces: Vec<Box<dyn Trace>> = Vec::new();
    if let Some(file) = surroundings.file("SCHMUX_STATUS_FILE", "signal", "") {
        traces.push(Box::new(StatusFile::new(file)));
    }
    if let Some(file) = surroundings.file("SCHMUX_EVENTS_FILE", "events", ".jsonl") {
        traces.push(Box::new(EventsFile::new(file)));
    }
    if let Some((keeper, variable, usual)) = Keeper::of(member.agent.as_str())
        && let Some(config) = surroundings.config(variable, usual)
    {
        if keeper == Keeper::Claude {
            traces.push(Box::new(SessionFile::new(config.clone())));
        }
        traces.push(Box::new(Record::new(keeper, config, manifests.clone())));
    }
    traces
}

/// The environment and the directory of a process.
struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    cwd: Option<PathBuf>,
}

impl Surroundings {
    fn of(member: &Member) -> Self {
        let pid = member.process.pid;
        let surroundings = Self { variables: platform::process_environment(pid), cwd: platform::process_cwd(pid) };
        // Read before the check: a pid that has come to mean another process gives nothing.
        let is_it = platform::process_stat(pid).is_some_and(|stat| stat.start == member.process.start);
        if is_it { surroundings } else { Self { variables: BTreeMap::new(), cwd: None } }
    }

    fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty())
    }

    /// A directory that a variable may name; else the usual one in the home directory.
    fn config(&self, variable: Option<&str>, usual: &str) -> Option<PathBuf> {
        let named = variable.and_then(|variable| self.variable(variable)).map(PathBuf::from);
        named.or_else(|| Some(Path::new(self.variable("HOME")?).join(usual))).filter(|path| path.is_absolute())
    }

    /// A file that a variable names; else, for an agent that has a session, the one of that session in its workspace.
    fn file(&self, variable: &str, kind: &str, suffix: &str) -> Option<Located> {
        if let Some(path) = self.variable(variable) {
            return Located::in_workspace(Path::new(path));
        }
        let session = self.variable("SCHMUX_SESSION_ID")?.to_str()?;
        let is_one_name = Path::new(session).components().eq([Component::Normal(session.as_ref())]);
        let dir = self.cwd.as_ref()?.join(".schmux").join(kind);
        is_one_name.then(|| Located::in_workspace(&dir.join(format!("{session}{suffix}"))))?
    }
}
