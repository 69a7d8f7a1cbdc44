//! The block in the instruction file of an agent, in a workspace.

use std::path::Path;

use agtmux_agents::instructions::{self, Change};

use super::SetupError;
use super::change::{self, Found};

/// An instruction file, and what it should become.
#[derive(Debug)]
pub struct Provision {
    /// The file as it is.
    pub file: Found,
    /// Its bytes as they should be; `None` if it should not be there.
    pub after: Option<Vec<u8>>,
    /// How far the block is there.
    pub change: Change,
}

impl Provision {
    /// Plans the block.
    ///
    /// # Errors
    /// Refuses files that cannot be read or understood.
    pub fn plan(workspace: &Path, file: &str, removes: bool) -> Result<Self, SetupError> {
        let file = change::read(&workspace.join(file), false)?;
        let refused = |refusal| SetupError::Refused { path: file.path.clone(), refusal };
        let (ensured, change) = instructions::ensure(file.bytes.as_deref()).map_err(refused)?;
        let after = match (removes, file.bytes.as_deref()) {
            (false, _) => Some(ensured),
            (true, None) => None,
            (true, Some(before)) => instructions::remove(before).map_err(refused)?,
        };
        Ok(Self { file, after, change })
    }

    /// Writes the file. It is under the eyes of whoever works there, so that no copy is kept beside it.
    ///
    /// # Errors
    /// Fails, with the file as it was, if it cannot be written.
    pub fn write(&self, workspace: &Path) -> Result<(), SetupError> {
        self.file.replace(self.after.as_deref())?;
        if self.after.is_none() {
            change::prune_folders(&self.file.path, workspace);
        }
        Ok(())
    }
}
