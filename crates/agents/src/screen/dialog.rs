//! A question in place of the composer: where it is, what it asks and which answers it offers.

use std::sync::LazyLock;

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::condition::{Condition, Pattern};
use super::context::ScreenContext;
use super::row::Row;

/// How an agent's dialogs are found: the `[dialog]` table of a manifest. They are looked for only where no composer
/// has the keyboard, so a dialog that is quoted above a composer is never taken for one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DialogRules {
    /// The answer that Enter would give. The group `at` is the mark in front of it.
    #[serde(default)]
    selected: Vec<SelectedRule>,
    /// Rows among the last few that say which keys do what.
    #[serde(default)]
    hints: Vec<Condition>,
    /// A field or a heading of a view that takes the composer's place, anywhere on the screen.
    #[serde(default)]
    fields: Vec<Condition>,
    /// The same for views that only show something.
    #[serde(default)]
    views: Vec<Condition>,
    /// The row that a dialog begins with, the last one above the selected answer.
    #[serde(default)]
    top: Vec<Condition>,
    /// Whether the cursor is on the mark of the selected answer.
    #[serde(default)]
    cursor_on_mark: bool,
}

/// How the selected answer is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectedRule {
    row: Condition,
    #[serde(default)]
    layout: Layout,
}

/// How answers are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layout {
    /// One below the other.
    #[default]
    List,
    /// Side by side in one row.
    Buttons,
}

/// A question that the agent asks on its screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// Its first row.
    pub title: Option<String>,
    /// The answers in order. Empty where they are not recognised.
    pub options: Vec<DialogOption>,
    /// Hash of what is shown, the selection apart: an answer is bound to it.
    pub prompt_hash: String,
    /// What is shown, row by row, without what is drawn around it and without blank rows.
    pub rows: Vec<String>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DialogOption {
    /// The key that picks it, where it shows one.
    pub key: Option<String>,
    pub label: String,
    /// Whether Enter would give this answer.
    pub selected: bool,
}

/// A dialog and the rows it takes.
pub(super) struct Shown {
    pub(super) dialog: Dialog,
    pub(super) first: usize,
    pub(super) end: usize,
    /// It only shows something: Enter does nothing there.
    pub(super) is_view: bool,
}

impl DialogRules {
    /// The dialog that a screen without a composer shows.
    pub(super) fn locate(&self, rows: &[Row], context: &ScreenContext) -> Option<Shown> {
        let end = rows.iter().rposition(|row| !row.is_blank())? + 1;
        let all: Vec<&Row> = rows[..end].iter().collect();
        let selection = self.selection(&all, context);
        let is_one_of = |conditions: &[Condition], row: &Row| conditions.iter().any(|condition| condition.holds(row));
        let others = || {
            let view = all.iter().rposition(|row| is_one_of(&self.views, row)).map(|place| (place, true));
            let hint = || among_last(&all, |row| is_one_of(&self.hints, row));
            let field = || all.iter().rposition(|row| is_one_of(&self.fields, row));
            view.or_else(|| hint().or_else(field).map(|place| (place, false))).or_else(|| at_end(&all))
        };
        let (anchor, is_view) = selection.as_ref().map(|(place, ..)| (*place, false)).or_else(others)?;
        let above = &rows[..anchor];
        let first = above.iter().rposition(|row| self.top.iter().any(|top| top.holds(row))).unwrap_or(0);
        let block = &rows[first..end];
        let options = match selection {
            Some((place, column, Layout::List)) => listed(block, place - first, column),
            Some((place, column, Layout::Buttons)) => buttons(&rows[place], column),
            None => Vec::new(),
        };
        // The edge above carries the program's own remarks, if anything.
        let asked = &block[usize::from(self.top.iter().any(|top| top.holds(&block[0])))..];
        let rows = rows_of(asked);
        let dialog = Dialog { title: title(asked), options, prompt_hash: hash(&rows), rows };
        Some(Shown { dialog, first, end, is_view })
    }

    /// Whether the cursor is in a field of a view that takes the composer's place.
    pub(super) fn has_cursor(&self, rows: &[Row], context: &ScreenContext) -> bool {
        let row = context.cursor.and_then(|cursor| rows.get(cursor.row));
        row.is_some_and(|row| self.fields.iter().any(|field| field.holds(row)))
    }

    /// Whether some row shows a selected answer.
    pub(super) fn offers(&self, rows: &[&Row]) -> bool {
        self.selected.iter().any(|selected| selected.row.find(rows).is_some())
    }

    fn selection(&self, rows: &[&Row], context: &ScreenContext) -> Option<(usize, usize, Layout)> {
        let hits = self.selected.iter().filter_map(|selected| {
            let hit = selected.row.find_last(rows)?;
            Some((hit.row, hit.column, selected.layout))
        });
        let cursor = context.cursor.filter(|_| self.cursor_on_mark);
        hits.filter(|(row, column, _)| cursor.is_none_or(|c| (c.row, c.column) == (*row, *column)))
            .max_by_key(|hit| hit.0)
    }
}

/// The first of the last rows with text of which that is so.
fn among_last(rows: &[&Row], is_so: impl Fn(&Row) -> bool) -> Option<usize> {
    const LAST: usize = 4;
    let painted: Vec<usize> = (0..rows.len()).filter(|place| !rows[*place].is_blank()).collect();
    let last = &painted[painted.len().saturating_sub(LAST)..];
    last.iter().copied().find(|place| is_so(rows[*place]))
}

/// The last row of a screen that ends as the menus, pickers, pagers and search fields of all agents do: it says which keys
/// do what there, or is in a box. And whether Enter is none of these keys.
fn at_end(rows: &[&Row]) -> Option<(usize, bool)> {
    static ENTER: LazyLock<Pattern> =
        LazyLock::new(|| Pattern::new(r"(?i)\b(?:enter|return|select|confirm|submit|choose|type|y/n)\b|[↵⏎]"));
    static KEYS: LazyLock<Pattern> = LazyLock::new(|| {
        Pattern::new(concat!(
            r"(?i)(?:\b(?:esc|escape|enter|return|space|q|ctrl ?[+-] ?\w|type|pgup|pgdn|pgdown|home|end)|\^\w|[↑↓←→↵⏎]) ?",
            r"[:)]? ?(?:to )?(?:cancel|close|exit|quit|go back|back|dismiss|select|confirm|navigate|nav|",
            r"scroll|page|jump|search|filter|toggle|save|submit|choose|move|pick|continue|return|rewind|use|apply)\b",
        ))
    });
    const LAST: usize = 4;
    let last = rows.iter().rposition(|row| !row.is_blank())?;
    let text = rows[last].text().trim();
    let is_boxed = text.starts_with(['│', '╰', '└']) && text.ends_with(['│', '╯', '┘']);
    let end: Vec<&str> =
        rows.iter().rev().filter(|row| !row.is_blank()).take(LAST).map(|row| trimmed(row.text())).collect();
    let end = end.into_iter().rev().collect::<Vec<_>>().join(" ");
    // How a turn under way can be stopped is no key of a dialog.
    let end = end.replace("(esc to cancel", "(");
    (is_boxed || KEYS.matches(&end)).then(|| (last, !is_boxed && !ENTER.matches(&end)))
}

/// The answers of a list. Numbered ones belong together by the column of their numbers, others by standing next to
/// each other.
fn listed(block: &[Row], selected: usize, mark: usize) -> Vec<DialogOption> {
    let numbered: Vec<Option<(usize, String, String)>> = block.iter().map(number_of).collect();
    let Some((column, ..)) = numbered[selected].clone() else {
        return unnumbered(block, selected, mark);
    };
    let mut options: Vec<DialogOption> = Vec::new();
    for (place, found) in numbered.into_iter().enumerate() {
        // Beside its mark, the number of the selected answer may stand one column further.
        let Some((_, key, label)) = found.filter(|(at, ..)| at.abs_diff(column) <= 1) else {
            continue;
        };
        // A list in what is asked about may stand in the same column; the answers are the last list.
        if key == "1" && place <= selected {
            options.clear();
        }
        options.push(DialogOption { key: Some(key), label, selected: place == selected });
    }
    options
}

fn unnumbered(block: &[Row], selected: usize, mark: usize) -> Vec<DialogOption> {
    let label_of = |row: &Row| row.slice(mark + 1..row.width());
    let Some(indent) = label_of(&block[selected]).indent() else {
        return Vec::new();
    };
    let is_option = |row: &Row| label_of(row).indent() == Some(indent) && row.slice(0..mark).is_blank();
    let before = block[..selected].iter().rev().take_while(|row| is_option(row) && unmarked(row, mark)).count();
    let after = block[selected + 1..].iter().take_while(|row| is_option(row) && unmarked(row, mark)).count();
    let option = |place: usize| DialogOption {
        key: None,
        label: bare(label_of(&block[place]).text()),
        selected: place == selected,
    };
    (selected - before..=selected + after).map(option).collect()
}

fn unmarked(row: &Row, mark: usize) -> bool {
    row.cell(mark).is_none_or(|(text, _)| text.trim().is_empty())
}

/// Answers side by side, parted by two blanks or more; what follows a wide gap says which keys do what.
fn buttons(row: &Row, selected: usize) -> Vec<DialogOption> {
    const WIDE: &str = "        ";
    let row = row.slice(0..row.width());
    let text = row.text();
    let text = text.trim_start_matches(|c: char| is_border(c) || c.is_whitespace());
    let offset = row.text().chars().count() - text.chars().count();
    let text = text.split(WIDE).next().unwrap_or_default();
    let mut options = Vec::new();
    let mut column = offset;
    for piece in text.split("  ") {
        let label = piece.trim();
        let at = column + (piece.chars().count() - piece.trim_start().chars().count());
        if !label.is_empty() {
            let covers = (at..at + label.chars().count()).contains(&selected);
            options.push(DialogOption { key: None, label: label.to_owned(), selected: covers });
        }
        column += piece.chars().count() + 2;
    }
    options
}

/// The column of the number, the number and the label of a numbered answer.
fn number_of(row: &Row) -> Option<(usize, String, String)> {
    let text = row.text();
    let start = text.find(|c: char| !c.is_whitespace() && !is_border(c) && !is_mark(c))?;
    let digits = text[start..].chars().take_while(char::is_ascii_digit).count();
    let label = text[start + digits..].strip_prefix(". ")?;
    let column = row.cell_of_byte(start)?.column;
    (1..=2).contains(&digits).then(|| (column, text[start..start + digits].to_owned(), bare(label)))
}

fn title(block: &[Row]) -> Option<String> {
    let rows = block.iter().map(|row| bare(row.text()));
    rows.filter(|text| text.chars().any(char::is_alphabetic)).map(|text| text.chars().take(120).collect()).next()
}

fn rows_of(block: &[Row]) -> Vec<String> {
    let rows = block.iter().map(|row| row.text().replace(is_mark, " ")).map(|text| bare(&text));
    rows.filter(|row| !row.is_empty()).collect()
}

fn hash(rows: &[String]) -> String {
    let mut hash = Sha256::new();
    for row in rows {
        hash.update(row.as_bytes());
        hash.update(b"\n");
    }
    hash.finalize().iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// A row without what is drawn around it.
fn bare(text: &str) -> String {
    trimmed(text).to_owned()
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || is_border(c))
}

fn is_border(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{257f}' | '▔' | '▀')
}

fn is_mark(c: char) -> bool {
    matches!(c, '❯' | '›' | '●' | '→' | '➤')
}
