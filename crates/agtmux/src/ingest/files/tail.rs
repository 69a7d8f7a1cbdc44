//! A file that grows line by line, read on from where the last look ended.

use super::located::{FileStamp, Located, Refused};

/// The longest line that is read; a longer one is passed over.
pub(super) const LINE: usize = 64 * 1_024;

/// How far back the first look goes. What came before is history.
const BACK: u64 = 64 * 1_024;

/// The most that one look reads.
const READ: usize = 256 * 1_024;

/// A growing file and how far it has been read.
pub(super) struct Tail {
    file: Located,
    at: Option<Position>,
}

#[derive(Clone, Copy)]
struct Position {
    device: u64,
    inode: u64,
    offset: u64,
    /// In the middle of a line that is passed over.
    skipping: bool,
}

/// What one look found.
pub(super) struct Grown {
    pub(super) stamp: FileStamp,
    pub(super) lines: Vec<Line>,
    /// Whether this was the first look, so that what was found may be old news.
    pub(super) is_first: bool,
    /// Whether there is more than one look may read.
    pub(super) has_more: bool,
}

/// A line that is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where in the file it begins.
    pub(super) offset: u64,
    pub(super) text: Text,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    Whole(String),
    /// The beginning of a line that is too long.
    Cut(String),
}

impl Tail {
    pub(super) fn new(file: Located) -> Self {
        Self { file, at: None }
    }

    /// Reads what was added since the last look. A file that was replaced or cut short is read from its beginning; a line
    /// without an end waits for it.
    pub(super) fn read(&mut self) -> Result<Grown, Refused> {
        let opened = self.file.open(u64::MAX)?;
        let stamp = opened.stamp;
        let is_first = self.at.is_none();
        let mut at = match self.at {
            Some(at) if (at.device, at.inode) == (stamp.device, stamp.inode) && at.offset <= stamp.size => at,
            Some(_) => Position::new(stamp, 0),
            None => Position::new(stamp, stamp.size.saturating_sub(BACK)),
        };
        let bytes = opened.read_at(at.offset, READ).map_err(Refused::Unreadable)?;
        let lines = at.take_lines(&bytes);
        self.at = Some(at);
        Ok(Grown { stamp, lines, is_first, has_more: bytes.len() == READ })
    }
}

impl Position {
    /// Where to begin. In the middle of a file the first line is whole only if the byte before it ends one.
    fn new(stamp: FileStamp, offset: u64) -> Self {
        Self { device: stamp.device, inode: stamp.inode, offset: offset.saturating_sub(1), skipping: offset > 0 }
    }

    fn take_lines(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.take_line(&rest[..end], &mut lines);
            self.skipping = false;
            self.offset += end as u64 + 1;
            rest = &rest[end + 1..];
        }
        if self.skipping || rest.len() > LINE {
            self.take_line(rest, &mut lines);
            self.skipping = true;
            self.offset += rest.len() as u64;
        }
        lines
    }

    fn take_line(&self, line: &[u8], lines: &mut Vec<Line>) {
        if self.skipping {
            return;
        }
        let text = if line.len() > LINE {
            Text::Cut(String::from_utf8_lossy(&line[..LINE.min(1_024)]).into_owned())
        } else {
            Text::Whole(String::from_utf8_lossy(line).trim_end_matches('\r').to_owned())
        };
        lines.push(Line { offset: self.offset, text });
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;
    use std::path::PathBuf;

    use super::{LINE, Line, READ, Tail, Text};
    use crate::ingest::files::located::Located;

    struct File {
        dir: tempfile::TempDir,
        tail: Tail,
    }

    impl File {
        fn new(content: &str) -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("log"), content).unwrap();
            let tail = Tail::new(Located::below(dir.path(), "log"));
            Self { dir, tail }
        }

        fn path(&self) -> PathBuf {
            self.dir.path().join("log")
        }

        fn append(&self, text: &str) {
            OpenOptions::new().append(true).open(self.path()).unwrap().write_all(text.as_bytes()).unwrap();
        }

        fn read(&mut self) -> Vec<String> {
            let lines = self.tail.read().unwrap().lines;
            lines
                .into_iter()
                .map(|Line { text, .. }| match text {
                    Text::Whole(text) => text,
                    Text::Cut(text) => format!("cut at {}", text.len()),
                })
                .collect()
        }
    }

    #[test]
    fn each_line_is_read_once_and_whole() {
        let mut file = File::new("one\ntwo\r\nthr");
        assert_eq!(file.read(), ["one", "two"]);
        assert_eq!(file.read(), [""; 0]);
        file.append("ee\n\nfour\n");
        assert_eq!(file.read(), ["three", "", "four"]);
    }

    #[test]
    fn a_file_that_is_cut_or_replaced_is_read_anew() {
        let mut file = File::new("one\ntwo\n");
        file.read();
        fs::write(file.path(), "new\n").unwrap();
        assert_eq!(file.read(), ["new"]);
        let other = file.dir.path().join("other");
        fs::write(&other, "a longer line than all before\nb\n").unwrap();
        fs::rename(other, file.path()).unwrap();
        assert_eq!(file.read(), ["a longer line than all before", "b"]);
        fs::remove_file(file.path()).unwrap();
        assert!(file.tail.read().is_err());
    }

    #[test]
    fn the_first_look_goes_back_a_little_and_begins_with_a_whole_line() {
        let line = |n: usize| format!("{n:09}\n");
        let mut file = File::new(&(0..20_000).map(line).collect::<String>());
        let lines = file.read();
        assert_eq!(lines.len(), 64 * 1_024 / 10);
        assert_eq!(lines.first().map(String::as_str), Some("000013447"));
        assert_eq!(lines.last().map(String::as_str), Some("000019999"));
        // The window begins right after a line end: that line is whole too.
        let mut exact =
            File::new(&format!("{}\n{}", "x".repeat(999), (0..8_192).map(|n| format!("{n:07}\n")).collect::<String>()));
        assert_eq!(exact.read().len(), 8_192);
    }

    #[test]
    fn long_lines_are_passed_over_however_they_arrive() {
        let mut file = File::new("");
        assert_eq!(file.read(), [""; 0]);
        file.append(&format!("{}\nshort\n", "a".repeat(LINE + 1)));
        assert_eq!(file.read(), ["cut at 1024", "short"]);
        file.append(&"b".repeat(LINE + 1));
        assert_eq!(file.read(), ["cut at 1024"]);
        file.append(&"b".repeat(3 * READ));
        while file.tail.read().unwrap().has_more {}
        file.append("end of it\nafter\n");
        assert_eq!(file.read(), ["after"]);
        file.append(&format!("{}\n", "c".repeat(LINE)));
        assert_eq!(file.read(), ["c".repeat(LINE)]);
    }
}
