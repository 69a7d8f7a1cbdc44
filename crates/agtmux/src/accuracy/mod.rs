//! How often agtmux is right: recordings of real agents, read by the code that the daemon uses, against what is true.
//!
//! A recording becomes traces, traces become readings, readings become signals of an engine, and the engine's verdict
//! is compared with the recording's truth. Each set of sources is measured alone, and all together.

mod recording;
mod replay;
mod report;

use std::path::PathBuf;

use agtmux_agents::Registry;
use thiserror::Error;

pub use recording::Recording;
pub use replay::{Measured, measure};
pub use report::{Accuracy, EnterScore, Miss, Score};

/// Where traces come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Sources {
    /// What the agent's hooks said
    Hooks,
    /// What the screen shows
    Screen,
    /// Markers, control sequences and titles in the pane's stream
    Stream,
    /// Files that the agent's vendor writes
    Vendor,
    /// All of them
    All,
}

impl Sources {
    /// Every set, in the order in which they are shown.
    pub const EACH: [Self; 5] = [Self::All, Self::Hooks, Self::Screen, Self::Stream, Self::Vendor];

    /// The name used on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hooks => "hooks",
            Self::Screen => "screen",
            Self::Stream => "stream",
            Self::Vendor => "vendor",
            Self::All => "all",
        }
    }

    /// Whether traces of that kind belong to the set.
    pub fn include(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

/// Why accuracy could not be measured.
#[derive(Debug, Error)]
pub enum AccuracyError {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("{}: {error}", path.display())]
    NotJson { path: PathBuf, error: serde_json::Error },
    #[error("{}: {what}", path.display())]
    Malformed { path: PathBuf, what: String },
    #[error("there are no recordings in {}", path.display())]
    NoRecordings { path: PathBuf },
}

/// What is measured.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only recordings of this agent.
    pub agent: Option<String>,
    /// Only recordings of this variant.
    pub variant: Option<String>,
}

/// Measures every recording below some directories, `AGENT/CASE` or `VARIANT/AGENT/CASE`, for each of the sets of sources.
///
/// # Errors
/// A recording that cannot be read is an error: left out it would make the numbers look better than they are.
pub fn run(
    registry: &Registry,
    directories: &[PathBuf],
    selection: &Selection,
    sets: &[Sources],
) -> Result<Accuracy, AccuracyError> {
    let mut accuracy = Accuracy::default();
    for directory in directories {
        let recordings = recording::read_all(directory, selection.agent.as_deref())?;
        let is_wanted =
            |recording: &&Recording| selection.variant.as_ref().is_none_or(|name| *name == recording.variant);
        for recording in recordings.iter().filter(is_wanted) {
            for set in sets {
                accuracy.add(recording, *set, &measure(registry, recording, *set));
            }
        }
    }
    Ok(accuracy)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use agtmux_agents::Registry;
    use serde_json::Value;

    use super::{Accuracy, Selection, Sources, run};

    fn fixtures(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures").join(name)
    }

    fn of_checkout(agent: Option<&str>, sets: &[Sources]) -> Accuracy {
        let selection = Selection { agent: agent.map(str::to_owned), variant: None };
        let directories = [fixtures("recordings"), fixtures("variants")];
        run(&Registry::builtin(), &directories, &selection, sets).expect("readable recordings")
    }

    #[test]
    fn what_is_promised_holds_for_all_recordings() {
        let accuracy = of_checkout(None, &[Sources::All, Sources::Screen]);
        let (all, screen) = (accuracy.total(Sources::All), accuracy.total(Sources::Screen));
        assert!(all.n >= 1_700, "only {} recordings", all.n);
        assert!(all.right * 1_000 >= all.n * 997 && all.confident_wrong == 0, "{}", accuracy.text());
        assert!(screen.right * 100 >= screen.n * 97, "{}", accuracy.text());
        assert!(screen.confident_wrong * 100 <= screen.n, "{}", accuracy.text());
        for score in [&all, &screen] {
            assert_eq!(score.enter.wrong_safe, 0, "{}", accuracy.text());
            assert!(score.enter.right * 100 >= score.enter.n * 97, "{}", accuracy.text());
        }
        for (variant, score) in accuracy.of_variants(Sources::All) {
            assert!(score.right * 100 >= score.n * 97, "{variant}: {}", accuracy.text());
        }
    }

    #[test]
    fn a_manifest_names_the_versions_that_were_recorded() {
        let accuracy = of_checkout(None, &[Sources::All]);
        for (agent, versions) in &accuracy.versions {
            let registry = Registry::builtin();
            let mut named = registry.get(agent).expect("a built-in agent").recorded.clone();
            named.sort();
            assert_eq!(named, versions.keys().cloned().collect::<Vec<_>>(), "{agent}");
        }
    }

    #[test]
    fn a_folder_above_the_agents_is_a_variant() {
        let folder = tempfile::tempdir().expect("a folder");
        let copy = |from: &str, to: &str| {
            let to = folder.path().join(to);
            fs::create_dir_all(&to).expect("a folder");
            for entry in fs::read_dir(fixtures("recordings").join(from)).expect("a recording") {
                let entry = entry.expect("a file");
                fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
            }
        };
        let versions = "versions.json";
        fs::copy(fixtures("recordings").join(versions), folder.path().join(versions)).expect("a copy");
        copy("claude/start", "claude/start");
        copy("claude/start", "light/claude/start");
        copy("codex/start", "light/codex/start");
        let selection = |agent: Option<&str>, variant: Option<&str>| {
            let selection = Selection { agent: agent.map(str::to_owned), variant: variant.map(str::to_owned) };
            run(&Registry::builtin(), &[folder.path().to_owned()], &selection, &[Sources::All]).expect("recordings")
        };
        let count = |accuracy: &Accuracy| {
            accuracy.of_variants(Sources::All).into_iter().map(|(name, score)| (name, score.n)).collect::<Vec<_>>()
        };
        let counted =
            |counts: &[(&str, usize)]| counts.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect::<Vec<_>>();
        assert_eq!(count(&selection(None, None)), counted(&[("default", 1), ("light", 2)]));
        assert_eq!(count(&selection(Some("codex"), None)), counted(&[("light", 1)]));
        assert_eq!(count(&selection(None, Some("default"))), counted(&[("default", 1)]));
        let document = serde_json::to_value(selection(None, None)).expect("JSON");
        assert_eq!(document["variants"]["light"]["codex"]["all"]["n"], 1);
        assert_eq!(document["versions"]["claude"]["2.1.325"]["all"]["n"], 2);
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let accuracy = of_checkout(Some("gemini"), &[Sources::Hooks]);
        let document = serde_json::to_value(&accuracy).expect("JSON");
        let score = &document["agents"]["gemini"]["hooks"];
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(score), ["confident_wrong", "enter", "misses", "n", "right", "unknown", "wrong"]);
        assert_eq!(keys(&score["enter"]), ["misses", "n", "right", "wrong_safe"]);
        assert_eq!(keys(&score["misses"][0]), ["case", "confidence", "got", "variant", "want"]);
        let counted = ["right", "wrong", "unknown"].map(|key| score[key].as_u64().expect("a number"));
        assert_eq!(score["n"].as_u64(), Some(counted.iter().sum()));
    }

    #[test]
    fn a_directory_without_recordings_is_an_error() {
        let nowhere = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let refusal = run(&Registry::builtin(), &[nowhere], &Selection::default(), &[Sources::All])
            .expect_err("no recordings there");
        assert!(refusal.to_string().starts_with("there are no recordings in "), "{refusal}");
    }
}
