//! Versions of an agent, and those that its manifest was checked against.

use crate::Manifest;

/// How a version relates to the recorded ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// Between the oldest and the newest, both included.
    Within,
    /// Before the oldest.
    Older,
    /// After the newest.
    Newer,
}

impl Manifest {
    /// The oldest and the newest version that the manifest was checked against.
    pub fn recorded_range(&self) -> Option<(&str, &str)> {
        let by_age = |version: &&String| numbers(version);
        let oldest = self.recorded.iter().min_by_key(by_age)?;
        let newest = self.recorded.iter().max_by_key(by_age)?;
        Some((oldest, newest))
    }

    /// How a version relates to those. None if the manifest is untested or the version has no numbers.
    pub fn coverage(&self, version: &str) -> Option<Coverage> {
        let (oldest, newest) = self.recorded_range()?;
        let version = numbers(version);
        if version.is_empty() {
            return None;
        }
        Some(match (version < numbers(oldest), version > numbers(newest)) {
            (true, _) => Coverage::Older,
            (_, true) => Coverage::Newer,
            _ => Coverage::Within,
        })
    }
}

/// The numbers of a version, most significant first, up to a pre-release: `2.1.325-beta.1` is 2, 1, 325.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or_default();
    release.trim_start_matches('v').split('.').map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(recorded: &str) -> Manifest {
        let text = format!(
            "contract = 1\nid = \"aider\"\nname = \"Aider\"\nrecorded = {recorded}\n[process]\nprograms = [\"aider\"]\n"
        );
        Manifest::parse(&text).expect("a manifest")
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        let manifest = manifest(r#"["2.1.99", "2.1.325", "2.0.400"]"#);
        assert_eq!(manifest.recorded_range(), Some(("2.0.400", "2.1.325")));
        for (version, coverage) in [
            ("2.1.100", Some(Coverage::Within)),
            ("2.0.400", Some(Coverage::Within)),
            ("v2.1.325", Some(Coverage::Within)),
            ("2.1.325-beta.2", Some(Coverage::Within)),
            ("2.0.399", Some(Coverage::Older)),
            ("2.1.326", Some(Coverage::Newer)),
            ("10.0.0", Some(Coverage::Newer)),
            ("nightly", None),
            ("", None),
        ] {
            assert_eq!(manifest.coverage(version), coverage, "{version}");
        }
    }

    #[test]
    fn an_untested_manifest_covers_nothing() {
        assert_eq!(manifest("[]").recorded_range(), None);
        assert_eq!(manifest("[]").coverage("1.0.0"), None);
    }
}
