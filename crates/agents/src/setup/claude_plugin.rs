//! The plugin for Claude Code: three files of our own in a folder that Claude loads by itself, so that no file of the person's changes.
//!
//! Plugins that run inside Claude are early access there. It gets the plugin only where its version is one that was tried and its own
//! validation accepts the files; inside a session the plugin says which version runs it before it is given anything.

use super::agent::{Base, FileSpec};
use super::{Installed, Refusal};

/// The versions that were tried: this one and later ones of the same minor version.
const TRIED: (u32, u32, u32) = (2, 1, 325);

/// The version of what plugin and daemon say to each other.
pub const PROTOCOL: u32 = 1;

/// How each of the files says that it is ours.
const MARK: &str = "agtmux: ";

/// The folder that the files lie in, below Claude's configuration.
pub const FOLDER: &str = "skills/agtmux";

/// A file of the plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PluginFile {
    /// Where it belongs.
    pub place: FileSpec,
    /// Where it lies inside the plugin.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The files, what names the others last.
pub const FILES: [PluginFile; 3] = [
    PluginFile {
        place: FileSpec { base: Base::ClaudeConfig, path: "skills/agtmux/.claude-plugin/plugin.json" },
        path: ".claude-plugin/plugin.json",
        text: include_str!("claude_plugin/plugin.json"),
    },
    PluginFile {
        place: FileSpec { base: Base::ClaudeConfig, path: "skills/agtmux/hooks/hooks.json" },
        path: "hooks/hooks.json",
        text: include_str!("claude_plugin/hooks.json"),
    },
    PluginFile {
        place: FileSpec { base: Base::ClaudeConfig, path: "skills/agtmux/hooks/agtmux.js" },
        path: "hooks/agtmux.js",
        text: include_str!("claude_plugin/agtmux.js"),
    },
];

/// How far the plugin is there, if it is wanted or not, and the files as they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginPlan {
    /// The bytes of each of [`FILES`]; `None` if it should not be there.
    pub after: Vec<Option<Vec<u8>>>,
    /// How far it is there.
    pub installed: Installed,
}

/// Plans the files of the plugin.
///
/// # Errors
/// Refuses a file at their place that is not ours, and says which.
pub fn plan(wanted: bool, before: &[Option<Vec<u8>>]) -> Result<PluginPlan, (usize, Refusal)> {
    for (place, bytes) in before.iter().enumerate() {
        let text = bytes.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
        if !text.trim().is_empty() && !text.contains(MARK) {
            return Err((place, Refusal::whole("is not a file of agtmux, though it lies where its plugin belongs")));
        }
    }
    let after: Vec<_> = FILES.iter().map(|file| wanted.then(|| file.text.as_bytes().to_vec())).collect();
    let installed = if before.iter().all(Option::is_none) {
        Installed::Absent
    } else if wanted && before == after {
        Installed::Current
    } else {
        Installed::Stale
    };
    Ok(PluginPlan { after, installed })
}

/// Whether Claude of this version, as it says it itself, was tried with the plugin.
pub fn is_tried(version: &str) -> bool {
    let number = version.split_whitespace().next().unwrap_or_default();
    let mut parts = number.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    (major, minor) == (TRIED.0, TRIED.1) && patch >= TRIED.2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_one_minor_version_from_the_first_on_were_tried() {
        for tried in ["2.1.325", "2.1.325 (Claude Code)", "2.1.400"] {
            assert!(is_tried(tried), "{tried}");
        }
        for other in ["2.1.324", "2.2.0", "3.1.325", "1.1.325", "2.1", "2.1.325.1", "2.1.325-dev", "", "claude"] {
            assert!(!is_tried(other), "{other}");
        }
    }

    #[test]
    fn the_files_come_and_go_whole() {
        let none = vec![None; FILES.len()];
        let wished = plan(true, &none).unwrap();
        assert_eq!(wished.installed, Installed::Absent);
        assert_eq!(plan(true, &wished.after).unwrap().installed, Installed::Current);
        let removed = plan(false, &wished.after).unwrap();
        assert_eq!((removed.after, removed.installed), (none, Installed::Stale));
        let mut half = wished.after.clone();
        half[1] = None;
        assert_eq!(plan(true, &half).unwrap().installed, Installed::Stale);
    }

    #[test]
    fn a_file_of_somebody_else_stays() {
        let theirs = vec![None, Some(b"{ \"hooks\": {} }".to_vec()), None];
        for wanted in [true, false] {
            assert_eq!(plan(wanted, &theirs).unwrap_err().0, 1);
        }
    }

    #[test]
    fn each_file_lies_in_the_folder_and_says_whose_it_is() {
        for file in FILES {
            assert_eq!(file.place.path, format!("{FOLDER}/{}", file.path));
            assert!(file.text.contains(MARK), "{}", file.path);
        }
        assert!(FILES[2].text.contains(&format!("const PROTOCOL = {PROTOCOL}\n")));
    }
}
