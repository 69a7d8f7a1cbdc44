//! `notify` and the trusted hooks in Codex's `config.toml`, put in and taken out as whole lines.
//!
//! Codex edits this file too, and moves comments when it does, so that what is ours is known by what it says: a `notify`
//! that runs our command, and trust that names a hook of ours.

use std::ops::Range;

use toml_edit::{Document, Item, TableLike};

use super::Refusal;
use super::codex_trust::Trusted;
use super::text::{Source, Splice, apply, line_start, newline};

/// The first line of a file that was not there.
const MADE_FILE: &str = "# agtmux made this file";

/// The words behind the program in our `notify`.
const NOTIFY_WORDS: [&str; 3] = ["hook", "codex", "notify"];

/// What the file should say.
#[derive(Debug, Clone, Default)]
pub(super) struct Wanted<'w> {
    /// The program that `notify` runs; without one `notify` is not put in.
    pub(super) program: Option<&'w str>,
    /// Whether a `notify` of ours stays, wanted here or not.
    pub(super) keeps_notify: bool,
    /// The hooks that are trusted.
    pub(super) trusted: &'w [Trusted],
    /// The hooks that were ours before, whose trust goes unless it is wanted again.
    pub(super) former: &'w [Trusted],
}

/// The file as edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    /// `None` if the file should not be there.
    pub(super) bytes: Option<Vec<u8>>,
    /// Whether somebody else's `notify` stands in the place of ours.
    pub(super) notify_is_taken: bool,
}

pub(super) fn edit(before: Option<&[u8]>, wanted: &Wanted<'_>) -> Result<Edited, Refusal> {
    let source = Source::read(before.unwrap_or_default())?;
    if !wanted.trusted.is_empty() {
        refuse_inline(source.text)?;
    }
    let cleaned = take_out(source.text, wanted)?;
    let adds_nothing = wanted.program.is_none() && wanted.trusted.is_empty();
    let was_made = cleaned.trim_end() == MADE_FILE;
    if adds_nothing && (before.is_none() || was_made) {
        return Ok(Edited { bytes: None, notify_is_taken: false });
    }
    let text = if before.is_none() { format!("{MADE_FILE}\n\n") } else { cleaned };
    let (text, notify_is_taken) = put_notify(&text, wanted.program)?;
    let text = put_trust(&text, wanted.trusted)?;
    Ok(Edited { bytes: Some(source.write(&text)), notify_is_taken })
}

fn parse(text: &str) -> Result<Document<&str>, Refusal> {
    Document::parse(text).map_err(|error| {
        let why = format!("is not TOML: {}", error.message().lines().next().unwrap_or_default());
        match error.span() {
            Some(span) => Refusal::at(text, span.start, why),
            None => Refusal::whole(why),
        }
    })
}

/// Takes out what is ours and not wanted, the last first: how a block went in shows at the end of the file.
fn take_out(text: &str, wanted: &Wanted<'_>) -> Result<String, Refusal> {
    let document = parse(text)?;
    let mut blocks = Vec::new();
    if wanted.program.is_none()
        && !wanted.keeps_notify
        && let Some((key, item)) = document.get_key_value("notify")
        && our_notify(item).is_some()
        && let (Some(key), Some(value)) = (key.span(), item.span())
    {
        blocks.push((key.start..value.end, false));
    }
    for (state, trusted) in states(&document) {
        let is_ours =
            wanted.former.iter().any(|former| former.key == state || Some(former.hash.as_str()) == trusted.hash);
        let is_wanted = wanted.trusted.iter().any(|wanted| wanted.key == state);
        if is_ours
            && !is_wanted
            && let Some(range) = trusted.range
        {
            blocks.push((range, true));
        }
    }
    blocks.sort_by_key(|(range, _)| range.start);
    let mut text = text.to_owned();
    for (range, has_blank) in blocks.into_iter().rev() {
        let lines = whole_lines(&text, &range, has_blank);
        text.replace_range(lines, "");
    }
    Ok(text)
}

/// The lines of a block, with the blank line before it and whatever ends it.
fn whole_lines(text: &str, block: &Range<usize>, has_blank: bool) -> Range<usize> {
    let mut start = line_start(text, block.start);
    let end = text[block.end..].find('\n').map(|end| block.end + end + 1);
    let before =
        |start: usize| text[..start].strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
    if has_blank && let Some(blank) = before(start).filter(|blank| line_start(text, *blank) == *blank) {
        start = blank;
    }
    match end {
        Some(end) => start..end,
        // The file did not end with a line end, and gets back to that.
        None => before(start).unwrap_or(start)..text.len(),
    }
}

/// Puts `notify` to the top, behind a comment that heads the file: there it belongs to no table.
fn put_notify(text: &str, program: Option<&str>) -> Result<(String, bool), Refusal> {
    let Some(program) = program else {
        return Ok((text.to_owned(), false));
    };
    let document = parse(text)?;
    let words: Vec<_> = std::iter::once(program).chain(NOTIFY_WORDS).map(toml_string).collect();
    let value = format!("[{}]", words.join(", "));
    if let Some(item) = document.get("notify") {
        return Ok(match (our_notify(item), item.span()) {
            (Some(found), Some(span)) if found != program => (apply(text, vec![Splice::replace(span, value)]), false),
            (Some(_), _) => (text.to_owned(), false),
            (None, _) => (text.to_owned(), true),
        });
    }
    let line = format!("notify = {value}{}", newline(text));
    Ok((apply(text, vec![Splice::insert(behind_heading(text), line)]), false))
}

/// The place behind a comment at the top that a blank line sets apart from what follows.
fn behind_heading(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let is_comment = line.starts_with('#');
        at += line.len();
        if !is_comment {
            let is_apart = line.trim().is_empty() && line.ends_with('\n') && at > line.len();
            return if is_apart { at } else { 0 };
        }
    }
    0
}

/// Puts the trust that is missing to the end, and corrects what is out of date.
fn put_trust(text: &str, trusted: &[Trusted]) -> Result<String, Refusal> {
    let document = parse(text)?;
    let states = states(&document);
    let newline = newline(text);
    let is_terminated = text.is_empty() || text.ends_with('\n');
    let mut splices = Vec::new();
    let mut block = String::new();
    for trusted in trusted {
        match states.iter().find(|(key, _)| *key == trusted.key) {
            Some((_, state)) if state.hash == Some(&trusted.hash) => {}
            Some((_, State { hash_range: Some(range), .. })) => {
                splices.push(Splice::replace(range.clone(), toml_string(&trusted.hash)));
            }
            Some((key, state)) => {
                let at = state.range.as_ref().map_or(0, |range| range.start);
                return Err(Refusal::at(text, at, format!("hooks.state.{key:?} has no trusted_hash")));
            }
            None => {
                let table = format!(
                    "[hooks.state.{}]{newline}trusted_hash = {}",
                    toml_string(&trusted.key),
                    toml_string(&trusted.hash)
                );
                block.push_str(match (text.is_empty() && block.is_empty(), is_terminated) {
                    (true, _) => "",
                    (false, true) => newline,
                    (false, false) => {
                        if newline == "\n" {
                            "\n\n"
                        } else {
                            "\r\n\r\n"
                        }
                    }
                });
                block.push_str(&table);
                if is_terminated {
                    block.push_str(newline);
                }
            }
        }
    }
    splices.push(Splice::insert(text.len(), block));
    Ok(apply(text, splices))
}

/// Tables cannot be added to a table that is written on one line.
fn refuse_inline(text: &str) -> Result<(), Refusal> {
    let document = parse(text)?;
    let hooks = document.get("hooks");
    let state = hooks.and_then(|hooks| hooks.get("state"));
    for (name, item) in [("hooks", hooks), ("hooks.state", state)] {
        if let Some(item) = item.filter(|item| !item.is_table()) {
            let at = item.span().map_or(0, |span| span.start);
            return Err(Refusal::at(text, at, format!("{name} is not a table with a header of its own")));
        }
    }
    Ok(())
}

/// The program of a `notify` that is ours.
fn our_notify(item: &Item) -> Option<&str> {
    let words: Vec<_> = item.as_array()?.iter().map(|word| word.as_str()).collect::<Option<_>>()?;
    let (program, rest) = words.split_first()?;
    (rest == NOTIFY_WORDS).then_some(*program)
}

/// What Codex knows about one hook.
#[derive(Debug, Clone)]
struct State<'d> {
    hash: Option<&'d str>,
    hash_range: Option<Range<usize>>,
    /// From the header of the table to its last value.
    range: Option<Range<usize>>,
}

fn states<'d>(document: &'d Document<&str>) -> Vec<(&'d str, State<'d>)> {
    let table = document.get("hooks").and_then(|hooks| hooks.get("state")).and_then(Item::as_table_like);
    let state = |(key, item): (&'d str, &'d Item)| {
        let hash = item.get("trusted_hash");
        let state = State {
            hash: hash.and_then(Item::as_str),
            hash_range: hash.and_then(Item::span),
            range: extent(table, key, item),
        };
        (key, state)
    };
    table.map(|table| table.iter().map(state).collect()).unwrap_or_default()
}

/// Where an entry of a table begins and ends: a table from its header on, a value from its key on.
fn extent(parent: Option<&dyn TableLike>, key: &str, item: &Item) -> Option<Range<usize>> {
    let own = item.span()?;
    if let Some(table) = item.as_table().filter(|table| !table.is_dotted()) {
        let ends = table.iter().filter_map(|(_, value)| value.span()).map(|span| span.end);
        return Some(own.start..ends.max().unwrap_or(own.end).max(own.end));
    }
    let (key, _) = parent?.get_key_value(key)?;
    Some(key.span()?.start..own.end)
}

fn toml_string(text: &str) -> String {
    toml_edit::Value::from(text).to_string()
}
