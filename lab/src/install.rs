//! The real agents, installed once per lock file into the user's cache, never into the checkout.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use etcetera::BaseStrategy;
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::agent::Agent;

/// A set of agents that is pinned together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// What the stories play with.
    #[default]
    Current,
    /// At least 20 releases older.
    Older20,
    /// At least 40 releases older.
    Older40,
}

impl Release {
    /// Its `package.json`.
    const fn package(self) -> &'static str {
        match self {
            Self::Current => include_str!("../package.json"),
            Self::Older20 => include_str!("../versions/older-20/package.json"),
            Self::Older40 => include_str!("../versions/older-40/package.json"),
        }
    }

    /// Its lock file.
    const fn lock(self) -> &'static str {
        match self {
            Self::Current => include_str!("../package-lock.json"),
            Self::Older20 => include_str!("../versions/older-20/package-lock.json"),
            Self::Older40 => include_str!("../versions/older-40/package-lock.json"),
        }
    }

    /// The version of an agent in it.
    pub fn version(self, agent: Agent) -> String {
        let document: Value = serde_json::from_str(self.package()).unwrap_or_default();
        document["dependencies"][package_name(agent)].as_str().unwrap_or("?").to_owned()
    }
}

/// The installed agents.
#[derive(Clone, Debug)]
pub struct Packages {
    root: PathBuf,
}

/// Why the agents are not there.
#[derive(Debug, Error)]
pub enum InstallError {
    /// npm does not run.
    #[error("npm cannot be run: {0}")]
    NoNpm(#[source] io::Error),
    /// npm failed, most likely because its registry is out of reach.
    #[error("npm could not install the agents:\n{0}")]
    Npm(String),
    /// The cache cannot be written.
    #[error("cannot write to {path}: {error}")]
    Cache {
        /// Where.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Nobody knows where the cache is.
    #[error("no home directory, so no cache: set HOME or XDG_CACHE_HOME")]
    NoCache,
}

impl Packages {
    /// The agents of the lock file, installed now if they are not there. Of several that install at once, one does it
    /// and the others wait; one that is interrupted leaves nothing that looks installed.
    ///
    /// # Errors
    /// Fails when they are not there and cannot be installed.
    pub fn ready() -> Result<Self, InstallError> {
        Self::of(Release::Current)
    }

    /// The same for any release.
    ///
    /// # Errors
    /// Fails when they are not there and cannot be installed.
    pub fn of(release: Release) -> Result<Self, InstallError> {
        let strategy = etcetera::base_strategy::Xdg::new().map_err(|_no_home| InstallError::NoCache)?;
        let cache = strategy.cache_dir().join("agtmux-lab");
        let root = cache.join(key(release));
        let unwritable = |error| InstallError::Cache { path: cache.clone(), error };
        if !root.exists() {
            fs::create_dir_all(&cache).map_err(unwritable)?;
            let lock = File::create(cache.join("lock")).map_err(unwritable)?;
            lock.lock().map_err(unwritable)?;
            if !root.exists() {
                install(release, &cache, &root)?;
            }
        }
        Ok(Self { root })
    }

    /// Where the programs are, by their usual names.
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }
}

/// The version of an agent that the stories play with.
pub(crate) fn version(agent: Agent) -> String {
    Release::Current.version(agent)
}

const fn package_name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "@anthropic-ai/claude-code",
        Agent::Codex => "@openai/codex",
        Agent::Gemini => "@google/gemini-cli",
        Agent::Opencode => "opencode-ai",
        Agent::Copilot => "@github/copilot",
    }
}

/// A name for exactly these packages.
fn key(release: Release) -> String {
    let hash = Sha256::new().chain_update(release.package()).chain_update(release.lock()).finalize();
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn install(release: Release, cache: &Path, root: &Path) -> Result<(), InstallError> {
    let unwritable = |error| InstallError::Cache { path: cache.to_owned(), error };
    let fresh = tempfile::Builder::new().prefix("new-").tempdir_in(cache).map_err(unwritable)?;
    fs::write(fresh.path().join("package.json"), release.package()).map_err(unwritable)?;
    fs::write(fresh.path().join("package-lock.json"), release.lock()).map_err(unwritable)?;
    // Not `npm ci`: it insists on packages for platforms that a registry may not carry. Versions and hashes are those
    // of the lock file all the same, and no script of a package is run.
    let output = Command::new("npm")
        .args(["install", "--ignore-scripts", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(fresh.path())
        .stdin(Stdio::null())
        .output()
        .map_err(InstallError::NoNpm)?;
    if !output.status.success() {
        return Err(InstallError::Npm(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let bin = fresh.path().join("bin");
    fs::create_dir(&bin).map_err(unwritable)?;
    for agent in Agent::ALL {
        symlink(Path::new("../node_modules").join(program(agent)), bin.join(agent.name())).map_err(unwritable)?;
    }
    fs::rename(fresh.keep(), root).map_err(unwritable)
}

/// The program in `node_modules`. Without install scripts, the packages of two agents hold a stub, and the real program
/// is in the package for the platform.
fn program(agent: Agent) -> PathBuf {
    let os = std::env::consts::OS.replace("macos", "darwin");
    let arch = std::env::consts::ARCH.replace("x86_64", "x64").replace("aarch64", "arm64");
    let path = match agent {
        Agent::Claude => format!("@anthropic-ai/claude-code-{os}-{arch}/claude"),
        Agent::Opencode => format!("opencode-{os}-{arch}/bin/opencode"),
        Agent::Codex | Agent::Gemini | Agent::Copilot => format!(".bin/{agent}"),
    };
    path.into()
}

/// The search path with the agents first.
pub(crate) fn search_path(packages: &Packages) -> OsString {
    let inherited = std::env::var_os("PATH").unwrap_or_default();
    let mut path = packages.bin().into_os_string();
    path.push(":");
    path.push(inherited);
    path
}
