//! Text that is edited by inserting and deleting, never by printing it anew.

use std::ops::Range;

use super::Refusal;

/// One change: the bytes of a range become other text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Splice {
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Self {
        Self { range: at..at, text: text.into() }
    }

    pub(super) fn delete(range: Range<usize>) -> Self {
        Self { range, text: String::new() }
    }

    pub(super) fn replace(range: Range<usize>, text: impl Into<String>) -> Self {
        Self { range, text: text.into() }
    }
}

/// Applies changes, none of which overlap. Insertions at the same place keep their order.
pub(super) fn apply(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|splice| splice.range.start);
    let mut edited = String::with_capacity(text.len());
    let mut from = 0;
    for splice in splices {
        edited.push_str(text.get(from..splice.range.start).unwrap_or_default());
        edited.push_str(&splice.text);
        from = splice.range.end;
    }
    edited.push_str(text.get(from..).unwrap_or_default());
    edited
}

/// A byte order mark, kept apart from the text that follows it.
const BOM: &str = "\u{feff}";

/// A file as text, without its byte order mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'b> {
    mark: &'static str,
    pub(super) text: &'b str,
}

impl<'b> Source<'b> {
    pub(super) fn read(bytes: &'b [u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned();
            Refusal::at(&before, before.len(), "is not UTF-8")
        })?;
        Ok(match text.strip_prefix(BOM) {
            Some(text) => Self { mark: BOM, text },
            None => Self { mark: "", text },
        })
    }

    /// The bytes of the file when its text becomes another.
    pub(super) fn write(self, text: &str) -> Vec<u8> {
        [self.mark.as_bytes(), text.as_bytes()].concat()
    }
}

/// How lines end in a text: as its first line does.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Where the line that holds an offset begins.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |end| end + 1)
}

/// The blanks with which the line that holds an offset begins.
pub(super) fn indent_at(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..offset];
    let width = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..width]
}
