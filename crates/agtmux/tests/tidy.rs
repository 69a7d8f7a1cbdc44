//! House rules as tests: who may depend on whom, how long a file may be, and what must not be written.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All Rust files below a directory.
fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Source files, without tests of any kind.
fn sources() -> Vec<PathBuf> {
    let crates = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let crates = crates.chain([root().join("lab/src"), root().join("typist/src")]);
    let is_test =
        |path: &PathBuf| path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("testing.rs");
    crates.flat_map(|src| rust_files(&src)).filter(|path| !is_test(path)).collect()
}

#[test]
fn crates_depend_only_downwards() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("core", &[] as &[&str]),
        ("agents", &["agtmux-core"]),
        ("tmux", &[]),
        ("wire", &[]),
        ("shim", &[]),
        ("agtmux", &["agtmux-agents", "agtmux-core", "agtmux-shim", "agtmux-tmux", "agtmux-wire"]),
    ]);
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let manifest: toml::Table = fs::read_to_string(path.join("Cargo.toml")).unwrap().parse().unwrap();
        let ours: BTreeSet<_> = ["dependencies", "dev-dependencies", "build-dependencies"]
            .iter()
            .filter_map(|table| manifest.get(*table)?.as_table())
            .flat_map(|table| table.keys())
            .filter(|dependency| dependency.starts_with("agtmux"))
            .map(String::as_str)
            .collect();
        let allowed: BTreeSet<_> =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("crate {name} has no rule")).iter().copied().collect();
        assert!(ours.is_subset(&allowed), "{name} depends on {ours:?}, allowed are {allowed:?}");
    }
}

#[test]
fn core_and_agents_are_pure_by_their_lints() {
    for name in ["core", "agents"] {
        let bans = fs::read_to_string(root().join("crates").join(name).join("clippy.toml")).unwrap();
        for banned in ["SystemTime::now", "Instant::now", "env::var", "HashMap", "File", "UnixStream", "Command"] {
            assert!(bans.contains(banned), "crates/{name}/clippy.toml does not ban {banned}");
        }
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        for edge in ["tokio", "rustix", "rusqlite", "rand", "jiff", "uuid"] {
            assert!(!manifest.contains(&format!("\n{edge}")), "{name} is pure; {edge} is for the edges");
        }
    }
}

/// Which modules of the binary crate a module may use. `crate::error`, `paths` and `platform` are for everybody.
#[test]
fn modules_of_the_binary_depend_only_downwards() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        // The command line goes through the same door as any other client; `daemon` is what `daemon run` runs.
        ("cli", &["accuracy", "client", "config", "daemon", "hook", "setup", "target"] as &[&str]),
        ("accuracy", &[]),
        ("client", &[]),
        ("api", &["act", "daemon", "store", "target", "worktree"]),
        ("act", &["config", "daemon", "setup", "store", "target", "worktree"]),
        ("daemon", &["classify", "config", "store", "target"]),
        ("hook", &[]),
        ("ingest", &["daemon", "target"]),
        ("classify", &["config", "store"]),
        ("store", &[]),
        ("target", &[]),
        ("config", &[]),
        ("setup", &[]),
        ("worktree", &["setup"]),
        ("platform", &[]),
    ]);
    let src = root().join("crates/agtmux/src");
    for (module, allowed) in &allowed {
        for file in rust_files(&src.join(module)) {
            let text = fs::read_to_string(&file).unwrap();
            for used in text.split("crate::").skip(1) {
                let used: String = used.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                assert!(!used.is_empty(), "{}: name each use of the crate on its own", file.display());
                let free = ["error", "paths", "platform", module].contains(&used.as_str());
                let known = src.join(&used).is_dir();
                assert!(
                    free || !known || allowed.contains(&used.as_str()),
                    "{} uses crate::{used}, which {module} must not know",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn only_the_edges_know_the_domain() {
    let src = root().join("crates/agtmux/src");
    for module in ["cli", "client"] {
        for file in rust_files(&src.join(module)) {
            let text = fs::read_to_string(&file).unwrap();
            for hidden in ["agtmux_core", "crate::store", "rusqlite"] {
                assert!(!text.contains(hidden), "{} uses {hidden}; it should see the wire alone", file.display());
            }
        }
    }
}

#[test]
fn files_stay_short() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        let lines = code.lines().count();
        assert!(lines <= 600, "{} has {lines} lines; split it at the seam that made it grow", file.display());
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//!"), "{} does not say what it is for", file.display());
    }
}

#[test]
fn nothing_is_left_for_later() {
    let marks = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["unimple", "mented!"].concat(), ["XX", "X"].concat()];
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{} has a {mark}", file.display());
        }
    }
}

/// A test file that its `main.rs` does not name is never run.
#[test]
fn no_end_to_end_test_is_forgotten() {
    let dir = root().join("crates/agtmux/tests/e2e");
    let main = fs::read_to_string(dir.join("main.rs")).unwrap();
    for entry in fs::read_dir(&dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let is_module = path.is_dir() && path.join("mod.rs").exists()
            || path.extension().is_some_and(|extension| extension == "rs") && name != "main";
        if is_module {
            assert!(main.contains(&format!("mod {name};")), "tests/e2e/main.rs does not name {name}");
        }
    }
}
