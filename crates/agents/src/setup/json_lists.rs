//! Items put into and taken out of a JSON list or object, to the byte.
//!
//! An item goes in behind the last one, with a comma before it; or, where the file has trailing commas, with a comma
//! after it. So an item of ours that is followed by a comma owns that comma, and one that is not owns the comma before
//! it: taking it out again needs no memory of how it went in.

use std::ops::Range;

use super::json_text::Layout;
use super::text::{Splice, indent_at};

/// Puts items behind those of a container. `last` is the end of the last item that is there.
pub(super) fn append(
    text: &str,
    container: &Range<usize>,
    last: Option<usize>,
    layout: &Layout,
    items: &[String],
) -> Vec<Splice> {
    let lead = &layout.lead;
    let Some(last) = last else {
        // A container on one line has no blank before its first item.
        let open = if layout.indent.is_some() { lead.as_str() } else { "" };
        let separator = format!(",{lead}");
        let inside = format!("{open}{}{}", items.join(&separator), layout.tail);
        return vec![Splice::insert(container.start + 1, inside)];
    };
    let joined: Vec<_> = items.iter().map(|item| format!("{lead}{item}")).collect();
    match comma_after(text, last) {
        Some(comma) => {
            let inserted = format!("{},", joined.join(","));
            vec![Splice::insert(behind_comments(text, comma + 1), inserted)]
        }
        None => {
            let place = behind_comments(text, last);
            vec![Splice::insert(last, ","), Splice::insert(place, joined.join(","))]
        }
    }
}

/// Takes the items that are ours out of a container. If it holds nothing else, the line that closes it goes as well.
pub(super) fn take_out(text: &str, container: &Range<usize>, items: &[(Range<usize>, bool)]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let mut last_kept: Option<usize> = None;
    for (place, (item, ours)) in items.iter().enumerate() {
        if !ours {
            last_kept = Some(item.end);
            continue;
        }
        let lead = text[..item.start].trim_end_matches([' ', '\t', '\n', '\r']).len();
        match comma_after(text, item.end) {
            Some(comma) => {
                splices.push(Splice::delete(lead..item.end));
                splices.push(Splice::delete(comma..comma + 1));
            }
            None => {
                let is_spread = text[lead..item.start].contains('\n');
                let is_emptied = last_kept.is_none() && place + 1 == items.len();
                let tail = if is_spread && is_emptied { tail_length(text, container, item.end) } else { 0 };
                splices.push(Splice::delete(lead..item.end + tail));
                if let Some(comma) = last_kept.and_then(|kept| comma_after(text, kept)) {
                    splices.push(Splice::delete(comma..comma + 1));
                }
            }
        }
    }
    splices
}

/// The length of the line end and the indentation with which [`append`] closed a container that was empty.
fn tail_length(text: &str, container: &Range<usize>, from: usize) -> usize {
    let base = indent_at(text, container.start);
    let rest = &text[from..];
    let after = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).and_then(|rest| rest.strip_prefix(base));
    after.map_or(0, |after| rest.len() - after.len())
}

/// The comma that follows an item, if one does.
fn comma_after(text: &str, item_end: usize) -> Option<usize> {
    let mut at = item_end;
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            at += blank;
        } else if let Some(comment) = comment_length(rest) {
            at += comment;
        } else {
            return rest.starts_with(',').then_some(at);
        }
    }
}

/// The place behind the comments that follow on the same line: they are about what stands before them.
fn behind_comments(text: &str, from: usize) -> usize {
    let mut place = from;
    loop {
        let rest = &text[place..];
        let comment = rest.trim_start_matches([' ', '\t']);
        match comment_length(comment) {
            Some(length) if !comment[..length].contains('\n') => place += rest.len() - comment.len() + length,
            _ => return place,
        }
    }
}

/// The length of the comment that a text begins with, without the end of its line.
fn comment_length(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.lines().next().unwrap_or(text);
        return Some(line.len());
    }
    let inside = text.strip_prefix("/*")?;
    inside.find("*/").map(|end| end + 4)
}
