//! What the fake agent writes down: one JSON document per line, appended, never changed.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// One thing that happened to the fake agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It reads its terminal from here on; the process id.
    Started(u32),
    /// A text was submitted.
    Submitted(String),
    /// Enter came so soon after a paste that it was taken for a part of it.
    EnterEaten,
    /// Enter was pressed with nothing to submit.
    NothingToSubmit,
}

/// The file, open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Opens it for appending.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        Ok(Self { file: file.with_context(|| format!("{} cannot be written", path.display()))? })
    }

    /// Writes an entry, in one write.
    pub fn write(&mut self, entry: &Entry) -> Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        Ok(self.file.write_all(&line)?)
    }
}

/// The file, read as it grows.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: Option<File>,
    /// The beginning of a line whose end has not been written yet.
    begun: Vec<u8>,
    /// Everything read so far.
    entries: Vec<Entry>,
}

impl Reader {
    /// Of the journal at this path, which may not be there yet.
    #[must_use]
    pub fn of(path: PathBuf) -> Self {
        Self { path, file: None, begun: Vec::new(), entries: Vec::new() }
    }

    /// Everything written up to now.
    pub fn entries(&mut self) -> Result<&[Entry]> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.begun)?;
            while let Some(end) = self.begun.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.begun.drain(..=end).collect();
                self.entries.push(serde_json::from_slice(&line)?);
            }
        }
        Ok(&self.entries)
    }

    /// The texts that were submitted up to now.
    pub fn submissions(&mut self) -> Result<Vec<&str>> {
        let entries = self.entries()?.iter();
        Ok(entries
            .filter_map(|entry| if let Entry::Submitted(text) = entry { Some(text.as_str()) } else { None })
            .collect())
    }
}
