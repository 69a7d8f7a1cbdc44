//! The agents that are known: the built-in manifests and the user's own.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::extension::Extension;
use crate::manifest::{Manifest, ManifestError};

/// The only list of built-in agents.
const BUILTIN: &[(&str, &str)] = &[
    ("claude.toml", include_str!("../manifests/claude.toml")),
    ("codex.toml", include_str!("../manifests/codex.toml")),
    ("copilot.toml", include_str!("../manifests/copilot.toml")),
    ("cursor.toml", include_str!("../manifests/cursor.toml")),
    ("gemini.toml", include_str!("../manifests/gemini.toml")),
    ("opencode.toml", include_str!("../manifests/opencode.toml")),
];

/// Every known agent by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Registry {
    entries: BTreeMap<String, Entry>,
}

/// A manifest and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub manifest: Manifest,
    pub origin: Origin,
}

/// Where a manifest came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Builtin,
    /// The name of the user's file.
    User(String),
}

/// A file of the user that was left out, and why. The other files count all the same.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{file}: {error}")]
pub struct ManifestProblem {
    pub file: String,
    #[source]
    pub error: ManifestError,
}

impl Registry {
    /// The agents that are known without any configuration.
    pub fn builtin() -> Self {
        Self::with_user(Vec::new()).0
    }

    /// The built-in agents, with those of the user's files added or, where the id is the same, in their
    /// place; a file with `extends = "ID"` changes some of what is known about that agent. A file with a problem is left out, so that a typing error costs one agent and not all of them.
    pub fn with_user(files: Vec<(String, String)>) -> (Self, Vec<ManifestProblem>) {
        let mut registry = Self::default();
        let mut problems = Vec::new();
        let builtin = BUILTIN.iter().map(|(file, text)| (Origin::Builtin, (*file).to_owned(), (*text).to_owned()));
        let user = files.into_iter().map(|(file, text)| (Origin::User(file.clone()), file, text));
        for (origin, file, text) in builtin.chain(user) {
            let added = registry.read(&text).and_then(|manifest| registry.add(manifest, origin));
            if let Err(error) = added {
                problems.push(ManifestProblem { file, error });
            }
        }
        (registry, problems)
    }

    /// Every agent, by id.
    pub fn list(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    pub fn get(&self, id: &str) -> Option<&Manifest> {
        self.entries.get(id).map(|entry| &entry.manifest)
    }

    /// The manifests in the order in which they may claim a process: what the user wrote comes first.
    pub(crate) fn in_order_of_claim(&self) -> impl Iterator<Item = &Manifest> {
        let of_user = |entry: &&Entry| entry.origin != Origin::Builtin;
        let built_in = |entry: &&Entry| entry.origin == Origin::Builtin;
        self.list().filter(of_user).chain(self.list().filter(built_in)).map(|entry| &entry.manifest)
    }

    fn read(&self, text: &str) -> Result<Manifest, ManifestError> {
        let Some(extension) = Extension::parse(text)? else {
            return Manifest::parse(text);
        };
        let base = self.get(&extension.extends).cloned();
        base.map(|base| extension.applied_to(base))
            .ok_or_else(|| ManifestError::about_key(text, "extends", "there is no such agent"))
    }

    fn add(&mut self, manifest: Manifest, origin: Origin) -> Result<(), ManifestError> {
        if let Some(Entry { origin: Origin::User(first), .. }) = self.entries.get(&manifest.id) {
            return Err(ManifestError {
                line: None,
                key: None,
                message: format!("agent `{}` is described in {first} already", manifest.id),
            });
        }
        self.entries.insert(manifest.id.clone(), Entry { manifest, origin });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{BUILTIN, Origin, Registry};

    fn user(file: &str, id: &str) -> (String, String) {
        let text =
            format!("contract = 1\nid = \"{id}\"\nname = \"Mine\"\nrecorded = []\n[process]\nprograms = [\"mine\"]\n");
        (file.to_owned(), text)
    }

    fn render(registry: &Registry) -> Vec<String> {
        registry
            .list()
            .map(|entry| match &entry.origin {
                Origin::Builtin => entry.manifest.id.clone(),
                Origin::User(file) => format!("{} from {file}", entry.manifest.id),
            })
            .collect()
    }

    #[test]
    fn every_built_in_manifest_is_valid_and_named_like_its_file() {
        let (registry, problems) = Registry::with_user(Vec::new());
        assert_eq!(problems, []);
        let files: Vec<String> = registry.list().map(|entry| format!("{}.toml", entry.manifest.id)).collect();
        assert_eq!(files, BUILTIN.iter().map(|(file, _)| *file).collect::<Vec<_>>());
    }

    #[test]
    fn an_extension_replaces_rules_by_id_adds_others_and_leaves_the_rest() {
        let rule = |id: &str| {
            format!("[[screen.rules]]\nid = \"{id}\"\npriority = 99\nregion = \"footer\"\nmeans = \"running\"\n")
        };
        let text = format!("contract = 1\nextends = \"claude\"\n{}{}", rule("spinner"), rule("mine"));
        let (registry, problems) = Registry::with_user(vec![("c.toml".to_owned(), text)]);
        assert_eq!(problems, []);
        let builtin = Registry::builtin();
        let (ours, theirs) = (registry.get("claude").expect("claude"), builtin.get("claude").expect("claude"));
        let ids = |manifest: &crate::Manifest| {
            manifest.screen.in_order().iter().map(|rule| rule.id.clone()).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!(ids(ours).difference(&ids(theirs)).collect::<Vec<_>>(), ["mine"]);
        assert_eq!(ours.screen.in_order().first().map(|rule| rule.id.as_str()), Some("spinner"));
        assert_eq!((&ours.process, &ours.composer), (&theirs.process, &theirs.composer));
    }

    #[test]
    fn an_extension_is_as_strict_as_a_manifest() {
        let cases = [
            ("contract = 1\nextends = \"nobody\"\n", "c.toml: line 2 (`extends`): there is no such agent"),
            ("contract = 1\nextends = \"claude\"\nname = \"x\"\n", "c.toml: line 3 (`name`): unknown field `name`"),
            ("contract = 2\nextends = \"claude\"\n", "c.toml: line 1 (`contract`): contract 2 is not supported"),
        ];
        for (text, expected) in cases {
            let (_, problems) = Registry::with_user(vec![("c.toml".to_owned(), text.to_owned())]);
            let refusal = problems.first().expect("a problem").to_string();
            assert!(refusal.starts_with(expected), "{refusal}");
        }
    }

    #[test]
    fn every_built_in_agent_but_cursor_is_tested_and_has_lifetimes() {
        for entry in Registry::builtin().list() {
            let manifest = &entry.manifest;
            assert_eq!(manifest.is_tested(), manifest.id != "cursor", "{}", manifest.id);
            assert!(!manifest.lifetimes().is_empty(), "{}", manifest.id);
        }
    }

    #[test]
    fn a_user_file_adds_or_replaces_by_id() {
        let (registry, problems) = Registry::with_user(vec![user("a.toml", "aider"), user("b.toml", "codex")]);
        assert_eq!(problems, []);
        assert_eq!(
            render(&registry),
            ["aider from a.toml", "claude", "codex from b.toml", "copilot", "cursor", "gemini", "opencode"]
        );
        assert_eq!(registry.get("codex").map(|manifest| manifest.name.as_str()), Some("Mine"));
    }

    #[test]
    fn a_bad_user_file_is_a_problem_and_the_built_in_agent_stays() {
        let (file, text) = user("bad.toml", "claude");
        let broken = (file, text.replace("programs", "programmes"));
        let (registry, problems) = Registry::with_user(vec![broken, user("good.toml", "aider")]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].starts_with("bad.toml: line 6 (`programmes`): unknown field `programmes`"), "{problems:?}");
        assert_eq!(
            render(&registry),
            ["aider from good.toml", "claude", "codex", "copilot", "cursor", "gemini", "opencode"]
        );
    }

    #[test]
    fn the_first_of_two_user_files_for_one_agent_counts() {
        let (registry, problems) = Registry::with_user(vec![user("a.toml", "aider"), user("b.toml", "aider")]);
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(problems, ["b.toml: agent `aider` is described in a.toml already"]);
        assert!(render(&registry).contains(&"aider from a.toml".to_owned()));
    }
}
