//! Finds the stories: `scenarios/AGENT/NAME.story`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::agent::Agent;
use crate::story::Story;

/// All stories, by agent and name.
///
/// # Errors
/// Fails when they cannot be read, or one is not understood.
pub fn all() -> Result<Vec<Story>> {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut stories = Vec::new();
    for agent in Agent::ALL {
        let folder = scenarios.join(agent.name());
        let entries = fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "story"));
        paths.sort();
        for path in paths {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            stories.push(Story::parse(agent, &name, &text)?);
        }
    }
    Ok(stories)
}
