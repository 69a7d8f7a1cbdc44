//! The versions of the agents that run or are installed, against those that agtmux was checked with.
//!
//! A version is read from files beside the program. No agent's program is run to ask it.

use std::collections::BTreeSet;
use std::env;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use agtmux_agents::release::Coverage;
use agtmux_agents::{Manifest, Registry};
use agtmux_wire::list::PaneList;
use serde_json::Value;

use super::{Finding, Status, finding, ok};
use crate::cli::Context;
use crate::platform;
use crate::setup::places::find_program;

const CHECK: &str = "agent versions";

/// How many folders above a program its package may be.
const DEEPEST: usize = 6;

/// The largest `package.json` that is read.
const LARGEST: u64 = 1 << 20;

/// One finding for each version outside of what was recorded, or one for all that are within.
pub(super) async fn findings(registry: &Registry, context: &Context) -> Vec<Finding> {
    let panes = context.quiet_client().get::<PaneList>("/v1/panes").await;
    let running = panes.into_iter().flat_map(|panes| panes.items).filter_map(|pane| Some((pane.agent?, pane.pid?)));
    let running: Vec<_> = running.filter_map(|(agent, pid)| Some((agent, program_of(pid)?))).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let mut within = BTreeSet::new();
    let mut outside = Vec::new();
    for entry in registry.list() {
        let manifest = &entry.manifest;
        let runs = running.iter().filter(|(agent, _)| *agent == manifest.id).map(|(_, program)| program.clone());
        let installed = manifest.process.programs.iter().filter_map(|program| find_program(&path, program));
        let versions: BTreeSet<_> =
            runs.chain(installed).filter_map(|program| version_of(manifest, &program)).collect();
        for version in versions {
            match manifest.coverage(&version) {
                Some(Coverage::Within) => drop(within.insert(format!("{} {version}", manifest.id))),
                Some(coverage) => outside.extend(outside_of_recorded(manifest, &version, coverage)),
                None => {}
            }
        }
    }
    if outside.is_empty() {
        let known = within.into_iter().collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "no version is known".to_owned() } else { format!("{known}: as recorded") };
        return vec![ok(CHECK, known)];
    }
    outside
}

fn outside_of_recorded(manifest: &Manifest, version: &str, coverage: Coverage) -> Option<Finding> {
    let (oldest, newest) = manifest.recorded_range()?;
    let id = &manifest.id;
    let (relation, fix) = match coverage {
        Coverage::Within => return None,
        Coverage::Older => ("older", format!("update {id}")),
        Coverage::Newer => ("newer", "update agtmux; its hooks tell the state meanwhile".to_owned()),
    };
    let range = if oldest == newest { oldest.to_owned() } else { format!("{oldest} to {newest}") };
    let detail =
        format!("{id} {version} is {relation} than what agtmux was checked with, {range}; its screen may be misread");
    Some(finding(CHECK, Status::Warn, detail, fix))
}

/// The file that a process runs: the first word of its command line that is a path to one, or the program on the `PATH`.
fn program_of(pid: u32) -> Option<PathBuf> {
    let words = platform::process_argv(pid);
    let is_node = |word: &&String| Path::new(word).file_name().is_some_and(|name| name == "node");
    let is_program = |word: &&String| !word.starts_with('-') && !is_node(word);
    let word = words.iter().find(is_program)?;
    if Path::new(word).is_absolute() {
        return Some(PathBuf::from(word));
    }
    find_program(&env::var_os("PATH")?, word)
}

/// The version of an agent's program: its own name, as the native installer has it, or that of its package.
fn version_of(manifest: &Manifest, program: &Path) -> Option<String> {
    let program = fs::canonicalize(program).ok()?;
    let name = program.file_name()?.to_str()?;
    if manifest.process.version_named && name.starts_with(|first: char| first.is_ascii_digit()) {
        return Some(name.to_owned());
    }
    program.ancestors().skip(1).take(DEEPEST).find_map(|folder| package_version(manifest, &folder.join("package.json")))
}

/// The version in a `package.json`, if that is of this agent or of its build for one platform.
fn package_version(manifest: &Manifest, path: &Path) -> Option<String> {
    let mut text = String::new();
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    let name = package.get("name")?.as_str()?;
    let names = manifest.process.packages.iter().chain(&manifest.process.programs);
    let is_its =
        |own: &String| name.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    let version = package.get("version")?.as_str()?;
    let version = version.chars().filter(|c| c.is_ascii_graphic()).take(40).collect();
    names.into_iter().any(is_its).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed(packages: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (place, text) in packages {
            let place = folder.path().join(place);
            fs::create_dir_all(place.join("bin")).expect("a folder");
            fs::write(place.join("package.json"), text).expect("a file");
            fs::write(place.join("bin/run"), "").expect("a file");
        }
        folder
    }

    #[test]
    fn a_version_is_that_of_the_package_of_the_program() {
        let registry = Registry::builtin();
        let folder = installed(&[
            ("node_modules/@google/gemini-cli", r#"{"name":"@google/gemini-cli","version":"0.61.0"}"#),
            ("node_modules/opencode-linux-x64", r#"{"name":"opencode-linux-x64","version":"1.18.33"}"#),
            ("node_modules/opencoder", r#"{"name":"opencoder","version":"9.9.9"}"#),
            ("node_modules/broken", "{"),
        ]);
        let version = |agent: &str, place: &str| {
            let program = folder.path().join("node_modules").join(place).join("bin/run");
            version_of(registry.get(agent).expect("a built-in agent"), &program)
        };
        assert_eq!(version("gemini", "@google/gemini-cli").as_deref(), Some("0.61.0"));
        assert_eq!(version("opencode", "opencode-linux-x64").as_deref(), Some("1.18.33"));
        assert_eq!(version("opencode", "opencoder"), None, "another package that begins alike");
        assert_eq!(version("codex", "broken"), None);
    }

    #[test]
    fn a_native_program_is_named_by_its_version() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("2.1.400");
        fs::write(&program, "").expect("a file");
        let registry = Registry::builtin();
        let claude = registry.get("claude").expect("a built-in agent");
        assert_eq!(version_of(claude, &program).as_deref(), Some("2.1.400"));
        let newer = outside_of_recorded(claude, "2.1.400", Coverage::Newer).expect("a finding");
        assert_eq!(newer.status, Status::Warn);
        assert!(
            newer.detail.starts_with("claude 2.1.400 is newer than what agtmux was checked with, "),
            "{}",
            newer.detail
        );
    }
}
