//! A block of ours in a text file of a person: between two marks, at the end unless the person moves it.
//!
//! Everything outside of the marks is the person's. The one exception is the blank line that sets the block apart, which
//! comes and goes with it.

use std::ops::Range;

use crate::setup::Refusal;

/// Some editors begin a file with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// In Markdown a line that is indented further is code.
const DEEPEST_INDENT: usize = 3;

/// The lines that enclose a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marks {
    /// The line before it.
    pub(super) begin: &'static str,
    /// The line after it.
    pub(super) end: &'static str,
    /// The first line of a block whose file did not exist before, so that the file can go with the block.
    pub(super) made: &'static str,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The file did not exist and is made.
    Created,
    /// The block goes to the end of a file that had none.
    Appended,
    /// A block that said something else is brought up to date.
    Updated,
    /// The block is there as it should be.
    Unchanged,
}

impl Marks {
    /// The file with a block of this body.
    pub(super) fn ensure(&self, before: Option<&[u8]>, body: &str) -> Result<(Vec<u8>, Change), Refusal> {
        let Some(bytes) = before else {
            return Ok((self.block(body, "\n", true).into_bytes(), Change::Created));
        };
        let text = utf8(bytes)?;
        let newline = newline(text);
        let Some(found) = self.find(text)? else {
            let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
            // A file whose last line has no end keeps it so: the block then has none either, which tells when it goes.
            let separator = if text.is_empty() { "" } else { newline };
            let block = self.block(body, newline, false);
            let block = if end.is_empty() { block.as_str() } else { block.trim_end() };
            return Ok((format!("{text}{end}{separator}{block}").into_bytes(), Change::Appended));
        };
        let made = text[found.clone()].contains(self.made);
        // Line ends are those of the block itself: the text around it may have others.
        let wanted = self.block(body, self::newline(&text[found.clone()]), made);
        let wanted = wanted.trim_end();
        if &text[found.clone()] == wanted {
            return Ok((bytes.to_owned(), Change::Unchanged));
        }
        Ok((format!("{}{wanted}{}", &text[..found.start], &text[found.end..]).into_bytes(), Change::Updated))
    }

    /// The file without the block; `None` if it was made for it and holds nothing else.
    pub(super) fn remove(&self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
        let text = utf8(bytes)?;
        let Some(found) = self.find(text)? else {
            return Ok(Some(bytes.to_owned()));
        };
        if self.is_alone(text, &found) {
            return Ok(None);
        }
        // The indent of the mark goes with it.
        let before = text[..found.start].trim_end_matches(' ');
        let after = &text[found.end..];
        let above = without_blank_line(before);
        // The line end after the block is ours; at the end of a file whose last line had none, the one before.
        let left = match after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n')) {
            Some(rest) => format!("{above}{rest}"),
            None if after.is_empty() && above != before => without_newline(above).to_owned(),
            None => format!("{above}{after}"),
        };
        Ok(Some(left.into_bytes()))
    }

    /// The body of the block, with plain line ends.
    pub(super) fn body(&self, bytes: &[u8]) -> Result<Option<String>, Refusal> {
        let text = utf8(bytes)?;
        let body = |found: Range<usize>| {
            let block = text[found].replace("\r\n", "\n");
            let inside = block.strip_prefix(self.begin).and_then(|rest| rest.strip_suffix(self.end));
            let inside = inside.unwrap_or_default().trim_start_matches('\n');
            inside.strip_prefix(self.made).map_or(inside, |rest| rest.trim_start_matches('\n')).to_owned()
        };
        Ok(self.find(text)?.map(body))
    }

    /// Whether the file was made for the block and holds nothing else.
    pub(super) fn is_all(&self, bytes: &[u8]) -> bool {
        let Ok(text) = utf8(bytes) else { return false };
        matches!(self.find(text), Ok(Some(found)) if self.is_alone(text, &found))
    }

    fn is_alone(&self, text: &str, found: &Range<usize>) -> bool {
        let is_blank = |text: &str| text.trim_start_matches(BYTE_ORDER_MARK).trim().is_empty();
        text[found.clone()].contains(self.made) && is_blank(&text[..found.start]) && is_blank(&text[found.end..])
    }

    fn block(&self, body: &str, newline: &str, made: bool) -> String {
        let made = if made { format!("{}\n", self.made) } else { String::new() };
        format!("{}\n{made}{body}{}\n", self.begin, self.end).replace('\n', newline)
    }

    /// The block, from mark to mark. Marks count where a line begins with them, so that a text may speak of them; after the
    /// end mark of an open block, a person may have gone on in the same line.
    fn find(&self, text: &str) -> Result<Option<Range<usize>>, Refusal> {
        let mut open: Option<(usize, usize)> = None;
        let mut found = None;
        let mut at = 0;
        for (number, line) in text.split_inclusive('\n').enumerate() {
            let start = at;
            at += line.len();
            let shown = line.strip_prefix(BYTE_ORDER_MARK).filter(|_| number == 0).unwrap_or(line);
            let indent = shown.len() - shown.trim_start_matches(' ').len();
            if indent > DEEPEST_INDENT {
                continue;
            }
            let mark = &shown[indent..];
            let from = start + line.len() - mark.len();
            let refused = |why: String| Err(Refusal { line: Some(number + 1), why });
            match open {
                _ if mark.trim_end() == self.begin => {
                    if open.is_some() || found.is_some() {
                        return refused(format!("a second `{}`", self.begin));
                    }
                    open = Some((from, number + 1));
                }
                Some((begun, _)) if mark.starts_with(self.end) => {
                    found = Some(begun..from + self.end.len());
                    open = None;
                }
                None if mark.trim_end() == self.end => {
                    return refused(format!("`{}` without `{}` above it", self.end, self.begin));
                }
                _ => {}
            }
        }
        match open {
            Some((_, line)) => {
                Err(Refusal { line: Some(line), why: format!("`{}` without `{}` below it", self.begin, self.end) })
            }
            None => Ok(found),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, Refusal> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
        Refusal { line: Some(line), why: "is not UTF-8".to_owned() }
    })
}

fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(end) if text[..end].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

fn without_newline(text: &str) -> &str {
    text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

/// The text without the blank line at its end. The end of a line that holds something stays: it is the person's.
fn without_blank_line(text: &str) -> &str {
    let rest = without_newline(text);
    if rest.is_empty() || rest.ends_with('\n') { rest } else { text }
}
