//! Takes out of a recording what belongs to the machine it was made on, without moving anything on the screen.

use std::path::Path;

/// What stands in a recording for the folder of the run. As long as that is, so that no line becomes longer.
const RUN: &str = "lab-dir";

/// What is replaced by what.
#[derive(Clone, Debug)]
pub(super) struct Scrub {
    pairs: Vec<(String, String)>,
}

impl Scrub {
    /// For a run in this folder, with agents from these packages.
    pub(super) fn new(root: &Path, bin: &Path, agtmux: &Path) -> Self {
        let text = |path: &Path| path.display().to_string();
        let mut pairs = Vec::new();
        if let Some(run) = root.file_name().and_then(|name| name.to_str()) {
            pairs.push((run.to_owned(), RUN.to_owned()));
        }
        if let Some(packages) = bin.parent() {
            pairs.push((text(packages), "/opt/agents".to_owned()));
        }
        pairs.push((text(agtmux), "/opt/agtmux".to_owned()));
        if let Some(home) = std::env::var_os("HOME").filter(|home| home.len() > 1) {
            pairs.push((format!("{}/", home.to_string_lossy()), "/home/lab/".to_owned()));
        }
        Self { pairs }
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.pairs.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for (from, to) in &self.pairs {
            let mut rest = bytes.as_slice();
            let mut fresh = Vec::with_capacity(bytes.len());
            while let Some(at) = rest.windows(from.len()).position(|window| window == from.as_bytes()) {
                fresh.extend_from_slice(&rest[..at]);
                fresh.extend_from_slice(to.as_bytes());
                rest = &rest[at + from.len()..];
            }
            fresh.extend_from_slice(rest);
            bytes = fresh;
        }
        bytes
    }
}
