//! How often agtmux is right: recordings of real agents, read by the code that the daemon uses, against what is true.
//!
//! A recording becomes traces, traces become readings, readings become signals of an engine, and the engine's verdict
//! is compared with the recording's truth. Each set of sources is measured alone, and all together.

mod recording;
mod replay;
mod report;

use std::path::{Path, PathBuf};

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

/// Measures every recording below a directory, `AGENT/CASE/…`, for each of the sets of sources.
///
/// # Errors
/// A recording that cannot be read is an error: left out it would make the numbers look better than they are.
pub fn run(
    registry: &Registry,
    directory: &Path,
    agent: Option<&str>,
    sets: &[Sources],
) -> Result<Accuracy, AccuracyError> {
    let recordings = recording::read_all(directory, agent)?;
    let mut accuracy = Accuracy::default();
    for recording in &recordings {
        for set in sets {
            accuracy.add(recording, *set, &measure(registry, recording, *set));
        }
    }
    Ok(accuracy)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use agtmux_agents::Registry;
    use serde_json::Value;

    use super::{Accuracy, Sources, run};

    fn of_checkout(agent: Option<&str>, sets: &[Sources]) -> Accuracy {
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agents/fixtures/recordings");
        run(&Registry::builtin(), &recordings, agent, sets).expect("readable recordings")
    }

    #[test]
    fn what_is_promised_holds_for_all_recordings() {
        let accuracy = of_checkout(None, &[Sources::All, Sources::Screen]);
        let (all, screen) = (accuracy.total(Sources::All), accuracy.total(Sources::Screen));
        assert!(all.n >= 141, "only {} recordings", all.n);
        assert!(all.right * 100 >= all.n * 99 && all.confident_wrong == 0, "{}", accuracy.text());
        assert!(screen.right * 100 >= screen.n * 95, "{}", accuracy.text());
        assert!(screen.confident_wrong * 100 <= screen.n, "{}", accuracy.text());
        for score in [all, screen] {
            assert_eq!((score.enter.right, score.enter.wrong_safe), (score.n, 0), "{}", accuracy.text());
        }
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let accuracy = of_checkout(Some("gemini"), &[Sources::Hooks]);
        let document = serde_json::to_value(&accuracy).expect("JSON");
        let score = &document["agents"]["gemini"]["hooks"];
        let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(score), ["confident_wrong", "enter", "misses", "n", "right", "unknown", "wrong"]);
        assert_eq!(keys(&score["enter"]), ["misses", "n", "right", "wrong_safe"]);
        assert_eq!(keys(&score["misses"][0]), ["case", "confidence", "got", "want"]);
        let counted = ["right", "wrong", "unknown"].map(|key| score[key].as_u64().expect("a number"));
        assert_eq!(score["n"].as_u64(), Some(counted.iter().sum()));
    }

    #[test]
    fn a_directory_without_recordings_is_an_error() {
        let nowhere = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let refusal = run(&Registry::builtin(), &nowhere, None, &[Sources::All]).expect_err("no recordings there");
        assert!(refusal.to_string().starts_with("there are no recordings in "), "{refusal}");
    }
}
