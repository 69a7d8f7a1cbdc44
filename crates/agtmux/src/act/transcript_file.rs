//! An agent's record of a conversation. The path was told by the agent, so nothing but a plain file of ours is read.

use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};
use serde_json::Value;

/// How far back is read. A record holds more than what is shown of it: instructions, snapshots of files.
const BACK: u64 = 4 * 1024 * 1024;

/// The longest record that is read as a whole: more than weeks of work.
const WHOLE: u64 = 1024 * 1024 * 1024;

/// The end of a record.
pub(super) struct Tail {
    /// Its lines, as far as they are documents.
    pub(super) documents: Vec<Value>,
    /// Whether the record begins before them.
    pub(super) has_more: bool,
}

/// Reads the end of a record. None if it cannot be read, or is no plain file of ours.
pub(super) fn tail(path: &Path) -> Option<Tail> {
    let (file, meta) = plain(path)?;
    let from = meta.len().saturating_sub(BACK);
    let mut bytes = vec![0; usize::try_from(meta.len() - from).ok()?];
    file.read_exact_at(&mut bytes, from).ok()?;
    // The first line is cut, unless the file begins there; the last is being written, unless it ends.
    let whole = bytes.split_inclusive(|byte| *byte == b'\n').skip(usize::from(from > 0));
    let documents = whole.filter_map(|line| serde_json::from_slice(line).ok()).collect();
    Some(Tail { documents, has_more: from > 0 })
}

/// Goes through the lines of a whole record, those that are text. None if it cannot be read to its end, or is no plain file of ours.
pub(super) fn lines(path: &Path, mut each: impl FnMut(&str)) -> Option<()> {
    let (file, meta) = plain(path)?;
    if meta.len() > WHOLE {
        return None;
    }
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if let Ok(text) = std::str::from_utf8(&line) {
            each(text);
        }
        line.clear();
    }
    Some(())
}

fn plain(path: &Path) -> Option<(File, Metadata)> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = File::from(open(path, flags, Mode::empty()).ok()?);
    let meta = file.metadata().ok()?;
    let is_ours = meta.is_file() && meta.uid() == rustix::process::geteuid().as_raw();
    is_ours.then_some((file, meta))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{BACK, tail};

    #[test]
    fn only_the_end_of_a_plain_file_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let record = dir.path().join("record.jsonl");
        std::fs::write(&record, "{\"a\":1}\nnonsense\n{\"b\":2}\n{\"cut").unwrap();
        let read = tail(&record).unwrap();
        assert_eq!((read.documents, read.has_more), (vec![json!({"a": 1}), json!({"b": 2})], false));
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&record, &link).unwrap();
        assert!(tail(&link).is_none() && tail(dir.path()).is_none() && tail(&dir.path().join("none")).is_none());
        let long = format!("{}\n{{\"last\":true}}\n", "[0]\n".repeat(usize::try_from(BACK).unwrap() / 4));
        std::fs::write(&record, long).unwrap();
        let read = tail(&record).unwrap();
        assert!(read.has_more && read.documents.last() == Some(&json!({"last": true})));
    }
}
