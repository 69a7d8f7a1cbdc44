//! Where each agent keeps its configuration, as the agent itself finds it, and which agents are here.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use agtmux_agents::Registry;
use agtmux_agents::setup::{Agent, Base, Scope};

use super::SetupError;

/// The variables that say where something is.
const VARIABLES: [&str; 8] = [
    "HOME",
    "PATH",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GEMINI_CLI_HOME",
    "XDG_CONFIG_HOME",
    "COPILOT_HOME",
    "OPENCODE_CONFIG_DIR",
];

/// Where things are.
#[derive(Clone, Debug)]
pub struct Places {
    variables: BTreeMap<&'static str, OsString>,
    project: PathBuf,
}

impl Places {
    /// What the environment says, and a project.
    pub fn from_env(project: PathBuf) -> Self {
        let value = |name| Some((name, env::var_os(name).filter(|value| !value.is_empty())?));
        Self { variables: VARIABLES.into_iter().filter_map(value).collect(), project }
    }

    /// What another process's environment says, and its project.
    pub fn of(variables: &BTreeMap<OsString, OsString>, project: PathBuf) -> Self {
        let value =
            |name: &'static str| Some((name, variables.get(OsStr::new(name))?)).filter(|(_, value)| !value.is_empty());
        let variables = VARIABLES.into_iter().filter_map(value).map(|(name, value)| (name, value.clone())).collect();
        Self { variables, project }
    }

    /// The folder that a file of an agent lies in.
    ///
    /// # Errors
    /// Fails if the folder follows from the home directory and there is none.
    pub fn folder(&self, base: Base) -> Result<PathBuf, SetupError> {
        let named = |name: &str| self.variables.get(name).map(PathBuf::from);
        let home = || self.home();
        let or_home = |name: &str, below: &str| match named(name) {
            Some(folder) => Ok(folder),
            None => Ok(home()?.join(below)),
        };
        match base {
            Base::Project => Ok(self.project.clone()),
            Base::ClaudeConfig => or_home("CLAUDE_CONFIG_DIR", ".claude"),
            Base::CodexHome => or_home("CODEX_HOME", ".codex"),
            // The variable stands for the home directory, not for the folder in it.
            Base::GeminiHome => Ok(or_home("GEMINI_CLI_HOME", "")?.join(".gemini")),
            Base::OpencodeConfig => match named("OPENCODE_CONFIG_DIR") {
                Some(folder) => Ok(folder),
                None => Ok(or_home("XDG_CONFIG_HOME", ".config")?.join("opencode")),
            },
            Base::CopilotHome => or_home("COPILOT_HOME", ".copilot"),
            Base::CursorHome => Ok(home()?.join(".cursor")),
        }
    }

    /// The home directory.
    ///
    /// # Errors
    /// Fails if there is none.
    pub fn home(&self) -> Result<PathBuf, SetupError> {
        self.variables.get("HOME").map(PathBuf::from).ok_or(SetupError::NoHome)
    }

    /// The files of an agent.
    ///
    /// # Errors
    /// As [`Self::folder`].
    pub fn files(&self, agent: Agent, scope: Scope) -> Result<Vec<PathBuf>, SetupError> {
        agent.files(scope).iter().map(|file| Ok(self.folder(file.base)?.join(file.path))).collect()
    }

    /// The agents that are here: those whose program is on the path, and those that have been configured.
    pub fn agents(&self) -> Vec<Agent> {
        let registry = Registry::builtin();
        let is_here = |agent: &Agent| {
            let manifest = registry.list().map(|entry| &entry.manifest).find(|manifest| manifest.id == agent.id());
            let programs = manifest.map(|manifest| manifest.process.programs.as_slice()).unwrap_or_default();
            programs.iter().any(|program| self.on_path(program).is_some())
                || self.folder(agent.home()).is_ok_and(|folder| folder.is_dir())
        };
        Agent::ALL.into_iter().filter(is_here).collect()
    }

    /// The path by which hooks run agtmux: where the shell finds it, if that is this program. That stays when a package
    /// manager replaces what it links to. Of `agtmux` the small program beside it, which starts sooner, if it is there.
    ///
    /// # Errors
    /// Fails if the path is not text.
    pub fn program(&self, running: &Path) -> Result<String, SetupError> {
        let name = running.file_name().unwrap_or_default().to_string_lossy();
        let is_running = |found: &PathBuf| fs::canonicalize(found).ok() == fs::canonicalize(running).ok();
        let program = self.on_path(&name).filter(is_running).unwrap_or_else(|| running.to_owned());
        let small = program.with_file_name("agtmux-hook");
        let program = if name == "agtmux" && runs(&small) { small } else { program };
        let text = program.to_str().filter(|text| !text.chars().any(char::is_control)).map(str::to_owned);
        text.ok_or(SetupError::UnspeakableProgram { path: program })
    }

    /// Where a program is, by the `PATH`.
    pub fn find(&self, program: &str) -> Option<PathBuf> {
        self.on_path(program)
    }

    fn on_path(&self, program: &str) -> Option<PathBuf> {
        find_program(self.variables.get("PATH")?, program)
    }
}

/// Where a program is, by the folders of a `PATH`. Relative ones do not count: they mean something else elsewhere.
pub fn find_program(path: &OsStr, program: &str) -> Option<PathBuf> {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|path| runs(path))
}

fn runs(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
