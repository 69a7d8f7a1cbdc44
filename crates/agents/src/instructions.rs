//! The block in an agent's instruction file that teaches it to say how it stands.
//!
//! The file is a person's. The block goes to its end between two marks, is brought up to date between them, and can be
//! taken out to the byte.

mod models;

pub use models::base_agent;

use std::ops::Range;

use crate::setup::Refusal;

const BEGIN: &str = "<!-- SCHMUX:BEGIN -->";
const END: &str = "<!-- SCHMUX:END -->";

/// Stands in the block of a file that was not there, so that the file can go with the block.
const MADE_FILE: &str = "<!-- this file was made for the block below -->";

/// What an agent is taught: the file first, because it survives redraws and needs no screen; the marker for agents that
/// cannot run commands.
const TEXT: &str = r#"## Status signaling

While `SCHMUX_ENABLED` is `1`, somebody watches several agents at once and comes to the one that says it needs them.
Say how you stand whenever it changes, as one line `STATE MESSAGE` in the file that `SCHMUX_STATUS_FILE` names:

    echo "needs_input Shall I delete the old migrations?" > "$SCHMUX_STATUS_FILE"

- STATE is `working` (you began something), `completed` (done), `needs_input` (you wait for an answer or a permission),
  `needs_testing` (somebody has to try it) or `error` (you cannot go on).
- MESSAGE is one short sentence, under 100 characters. Signal `completed` or `needs_input` last, before you stop.
- If you cannot write files, put `--<[schmux:STATE:MESSAGE]>--` on a line of its own in your answer instead.
"#;

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The file was not there and is made.
    Created,
    /// The block goes to the end of a file that had none.
    Appended,
    /// A block that said something else is brought up to date.
    Updated,
    /// The block is there as it should be.
    Unchanged,
}

/// The file with the block as it should be.
///
/// # Errors
/// Refuses a file in which the marks do not pair up, and one that is not UTF-8.
pub fn ensure(before: Option<&[u8]>) -> Result<(Vec<u8>, Change), Refusal> {
    let Some(bytes) = before else {
        return Ok((block("\n", true).into_bytes(), Change::Created));
    };
    let text = utf8(bytes)?;
    let newline = newline(text);
    let Some(found) = find(text)? else {
        let end = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        // A file whose last line has no end keeps it so: the block then has none either, which tells when it goes.
        let separator = if text.is_empty() { "" } else { newline };
        let block = block(newline, false);
        let block = if end.is_empty() { block.as_str() } else { block.trim_end() };
        return Ok((format!("{text}{end}{separator}{block}").into_bytes(), Change::Appended));
    };
    let wanted = block(newline, text[found.clone()].contains(MADE_FILE));
    let wanted = wanted.trim_end();
    if &text[found.clone()] == wanted {
        return Ok((bytes.to_owned(), Change::Unchanged));
    }
    Ok((format!("{}{wanted}{}", &text[..found.start], &text[found.end..]).into_bytes(), Change::Updated))
}

/// Whether a file has the block, whatever it says.
pub fn has_instructions(bytes: &[u8]) -> bool {
    utf8(bytes).is_ok_and(|text| matches!(find(text), Ok(Some(_))))
}

/// The file without the block; `None` if it was made for it and holds nothing else.
///
/// # Errors
/// As [`ensure`].
pub fn remove(before: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let text = utf8(before)?;
    let Some(found) = find(text)? else {
        return Ok(Some(before.to_owned()));
    };
    let was_made = text[found.clone()].contains(MADE_FILE);
    let after = &text[found.end..];
    let before = &text[..found.start];
    if was_made && before.trim().is_empty() && after.trim().is_empty() {
        return Ok(None);
    }
    // The blank line before the block is ours, and so is the line end after it; or, at the end of a file whose last line
    // has no end, the one before.
    let before = without_newline(before);
    let rest = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
    let left = match rest {
        Some(rest) => format!("{before}{rest}"),
        None if after.is_empty() => without_newline(before).to_owned(),
        None => format!("{before}{after}"),
    };
    Ok(Some(left.into_bytes()))
}

fn block(newline: &str, made: bool) -> String {
    let made = if made { format!("{MADE_FILE}\n") } else { String::new() };
    format!("{BEGIN}\n{made}{TEXT}{END}\n").replace('\n', newline)
}

/// The block, from mark to mark. Only marks alone on their line count, so that a text may speak of them.
fn find(text: &str) -> Result<Option<Range<usize>>, Refusal> {
    let mut begin = None;
    let mut found = None;
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let refused = |why: &str| Refusal { line: Some(number + 1), why: why.to_owned() };
        match (line.trim_end(), begin) {
            (BEGIN, None) if found.is_none() => begin = Some((start, number + 1)),
            (BEGIN, _) => return Err(refused("a second block begins")),
            (END, Some((from, _))) => {
                found = Some(from..start + END.len());
                begin = None;
            }
            (END, None) => return Err(refused("a block ends that did not begin")),
            _ => {}
        }
    }
    match begin {
        Some((_, line)) => Err(Refusal { line: Some(line), why: "a block begins that does not end".to_owned() }),
        None => Ok(found),
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
