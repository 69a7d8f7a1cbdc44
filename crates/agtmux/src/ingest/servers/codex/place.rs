//! Where the server is that a Codex in a pane is a client of.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agtmux_agents::Registry;

use crate::daemon::roster::Member;
use crate::ingest::servers::own_processes;
use crate::platform;
use crate::target::manifests::Manifests;

/// The socket of the server that all of a person's Codexes share, in Codex's directory.
const SHARED: &str = "app-server-control/app-server-control.sock";

/// A process that writes to a conversation holds a file of its name open in this directory of Codex's.
const LOCKS: &str = "thread-writer-locks";

/// The socket of the server that an agent may be a client of; none if it surely is not.
pub(super) async fn find(member: Arc<Member>, manifests: &Manifests) -> Option<PathBuf> {
    let registry = manifests.now();
    tokio::task::spawn_blocking(move || {
        let pid = member.process.pid;
        let environment = platform::process_environment(pid);
        let arguments: Vec<Vec<String>> =
            own_processes(&registry, &member).into_iter().map(|process| process.argv).collect();
        let is_it = platform::process_stat(pid).is_some_and(|stat| stat.start == member.process.start);
        is_it.then(|| place(&arguments, &environment))?
    })
    .await
    .unwrap_or_default()
}

/// Whether an agent itself, and no server that it shares with others, writes to this conversation.
pub(in crate::ingest) fn holds(registry: &Registry, member: &Member, conversation: &str) -> bool {
    let name = format!("{conversation}.lock");
    let is_lock = |path: &PathBuf| {
        path.file_name() == Some(OsStr::new(&name))
            && path.parent().and_then(Path::file_name) == Some(OsStr::new(LOCKS))
    };
    own_processes(registry, member).iter().any(|process| platform::open_files(process.pid).iter().any(is_lock))
}

fn place(arguments: &[Vec<String>], environment: &BTreeMap<OsString, OsString>) -> Option<PathBuf> {
    let named = |name: &str| environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = named("CODEX_HOME").or_else(|| Some(named("HOME")?.join(".codex")));
    let shared = home.filter(|home| home.is_absolute()).map(|home| home.join(SHARED));
    if arguments.iter().flatten().any(|word| word == "--no-daemon") {
        return None;
    }
    match arguments.iter().find_map(|argv| remote(argv)) {
        // Without a path, the usual one is meant. Servers elsewhere are not asked.
        Some(address) => match address.strip_prefix("unix://")? {
            "" => shared,
            path => Some(PathBuf::from(path)).filter(|path| path.is_absolute()),
        },
        None => shared,
    }
}

fn remote(argv: &[String]) -> Option<&str> {
    let mut words = argv.iter();
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some(("--remote", address)) => return Some(address),
            _ if word == "--remote" => return words.next().map(String::as_str),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_named_or_the_usual_one() {
        let environment = |variables: &[(&str, &str)]| {
            variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect()
        };
        let home = environment(&[("HOME", "/h")]);
        let place = |line: &str, environment: &BTreeMap<_, _>| {
            let argv = line.split(' ').map(str::to_owned).collect();
            place(&[argv], environment).map(|place| place.display().to_string()).unwrap_or_default()
        };
        let usual = "/h/.codex/app-server-control/app-server-control.sock";
        assert_eq!(place("node codex", &home), usual);
        assert_eq!(place("codex --remote unix://", &home), usual);
        assert_eq!(place("codex --remote unix:///run/c.sock", &home), "/run/c.sock");
        assert_eq!(place("codex --remote=unix:///run/c.sock resume", &home), "/run/c.sock");
        let other = environment(&[("HOME", "/h"), ("CODEX_HOME", "/c")]);
        assert_eq!(place("codex", &other), "/c/app-server-control/app-server-control.sock");
        for none in ["codex --no-daemon", "codex --remote ws://127.0.0.1:4500", "codex --remote unix://c.sock"] {
            assert_eq!(place(none, &home), "", "{none}");
        }
        assert_eq!(place("codex", &BTreeMap::new()), "");
    }
}
