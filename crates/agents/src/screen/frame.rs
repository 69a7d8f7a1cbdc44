//! Where the composer is: the frame that an agent draws around its input line.
//!
//! A frame is found by structure alone (borders, the prompt's place and paint, what may follow) and only ever as the
//! last thing on the screen. An agent can print a picture of its own composer, but not below its real one.

use serde::Deserialize;

use super::condition::Paint;
use super::row::Row;
use super::style::Colour;

/// How an agent sets off its input line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Frame {
    /// Between two lines across the whole pane.
    Rules,
    /// On a band below the last line across the whole pane; where bands are not painted, between two such lines or in a box.
    Shelf,
    /// Nothing but the prompt, two or three rows above the end.
    Open,
    /// Beside a bar that ends in an edge below.
    Bar,
}

/// A prompt that may begin the input line.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// The prompt and the blank after it, as painted.
    pub text: String,
    /// What Enter does with text behind this prompt.
    #[serde(default)]
    pub mode: Mode,
    /// How the prompt is painted.
    #[serde(default)]
    pub paint: Paint,
}

/// What Enter does with text behind a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It goes to the agent.
    #[default]
    Prompt,
    /// It is run as a command.
    Shell,
}

/// A composer that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The first row of the frame.
    pub(super) top: usize,
    /// The rows that hold text, first and one past the last.
    pub(super) first: usize,
    pub(super) end: usize,
    /// One past the last row of the frame.
    pub(super) bottom: usize,
    /// The columns that hold text.
    pub(super) columns: std::ops::Range<usize>,
    /// None where the prompt has scrolled out of the frame.
    pub(super) mode: Option<Mode>,
}

impl Frame {
    /// The composer, if the screen ends in one.
    pub(super) fn find(self, rows: &[Row], width: usize, column: usize, prompts: &[Prompt]) -> Option<Found> {
        match self {
            Self::Rules => between_rules(rows, width, column, prompts),
            Self::Shelf => {
                let found = on_shelf(rows, width, column, prompts);
                let found = found.or_else(|| between_rules(rows, width, column, prompts));
                found.or_else(|| in_box(rows, width, prompts))
            }
            Self::Open => in_the_open(rows, width, column, prompts),
            Self::Bar => beside_bar(rows),
        }
    }
}

/// Whether a row is a line across the pane. It may carry a label, and begins and ends as a line.
pub(super) fn is_rule(row: &Row, width: usize, strokes: &[char]) -> bool {
    let strokes_painted = row.text().chars().filter(|c| strokes.contains(c)).count();
    let begins = row.text().starts_with(strokes);
    let ends = row.text().trim_end().ends_with(strokes);
    begins && ends && row.end() >= width.max(4) && strokes_painted * 2 > width
}

fn between_rules(rows: &[Row], width: usize, column: usize, prompts: &[Prompt]) -> Option<Found> {
    let rule = |row: &Row| is_rule(row, width, &['─']);
    let below = rows.iter().rposition(rule)?;
    let above = rows[..below].iter().rposition(rule)?;
    let prompt = prompt_of(&rows[above + 1..below], column, prompts);
    let inside = above + 1..below;
    // Without its prompt the frame is a composer only if everything in it is indented as a continuation is.
    let indented = rows[inside.clone()].iter().all(|row| row.indent().is_none_or(|indent| indent >= column + 2));
    if inside.is_empty() || prompt.is_none() && (!indented || rows[inside.clone()].iter().all(Row::is_blank)) {
        return None;
    }
    let start = prompt.map_or(column + 2, |(start, _)| start);
    Some(Found {
        top: above,
        first: inside.start,
        end: inside.end,
        bottom: below + 1,
        columns: start..width,
        mode: prompt.map(|(_, mode)| mode),
    })
}

fn on_shelf(rows: &[Row], width: usize, column: usize, prompts: &[Prompt]) -> Option<Found> {
    const MOST_BETWEEN: usize = 4;
    let top = rows.iter().rposition(|row| is_rule(row, width, &['─']))?;
    let window = top + 1..rows.len().min(top + 1 + MOST_BETWEEN);
    let mut found = window.filter_map(|place| Some((place, prompt_of(&rows[place..=place], column, prompts)?)));
    let (first, (start, mode)) = found.next()?;
    // Text is indented further than the prompt: a second prompt is none of the composer's.
    if found.next().is_some() {
        return None;
    }
    let band = rows[first].cell(column).map_or(Colour::Default, |(_, cell)| cell.style.bg);
    let on_band = |row: &Row| {
        row.indent().is_some_and(|indent| indent >= start)
            && row.cell(start).is_some_and(|(_, cell)| cell.style.bg == band)
    };
    // A person's text may have blank rows in it. What is below the band is not indented as text is.
    let below = &rows[first + 1..];
    let reach = below.iter().take_while(|row| row.is_blank() || on_band(row)).count();
    let end = first + 1 + below[..reach].iter().rposition(|row| !row.is_blank()).map_or(0, |last| last + 1);
    Some(Found { top, first, end, bottom: end, columns: start..width, mode: Some(mode) })
}

fn in_box(rows: &[Row], width: usize, prompts: &[Prompt]) -> Option<Found> {
    const EDGE: usize = 2;
    let across = |row: &Row| row.end() + EDGE >= width;
    let below = rows.iter().rposition(|row| row.text().starts_with('╰') && across(row))?;
    let above = rows[..below].iter().rposition(|row| row.text().starts_with('╭') && across(row))?;
    let columns = EDGE..width.saturating_sub(EDGE);
    let inside = rows.get(above + 1..below).filter(|inside| !inside.is_empty())?;
    let (start, mode) = prompt_of(&[inside[0].slice(columns.clone())], 0, prompts)?;
    Some(Found {
        top: above,
        first: above + 1,
        end: below,
        bottom: below + 1,
        columns: columns.start + start..columns.end,
        mode: Some(mode),
    })
}

fn in_the_open(rows: &[Row], width: usize, column: usize, prompts: &[Prompt]) -> Option<Found> {
    let first = rows.iter().rposition(|row| row.indent() == Some(column))?;
    let (start, mode) = prompt_of(&rows[first..=first], column, prompts)?;
    let goes_on = |row: &&Row| row.indent().is_some_and(|indent| indent >= start);
    let end = first + 1 + rows[first + 1..].iter().take_while(goes_on).count();
    Some(Found { top: first, first, end, bottom: end, columns: start..width, mode: Some(mode) })
}

fn beside_bar(rows: &[Row]) -> Option<Found> {
    const BAR: &str = "┃";
    const INSET: usize = 3;
    let edge = rows.iter().rposition(|row| row.text().trim_start().starts_with("╹▀▀"))?;
    let column = rows[edge].indent()?;
    // The box goes up as long as the bar does on the same ground; what was said above stands on another.
    let ground = |row: &Row| row.cell(column + 1).map_or(Colour::Default, |(_, cell)| cell.style.bg);
    let last = edge.checked_sub(1)?;
    let base = ground(&rows[last]);
    let in_box = |row: &&Row| row.cell(column).is_some_and(|(text, _)| text == BAR) && ground(row) == base;
    let height = rows[..edge].iter().rev().take_while(in_box).count();
    let top = edge - height;
    let right = rows[last].cells().skip_while(|(_, cell)| cell.column <= column);
    let right = right.take_while(|(_, cell)| cell.style.bg == base || cell.style.bg == Colour::Default);
    let right = right.last().map_or(column, |(_, cell)| cell.column + 1);
    // From top to bottom: a blank row, the text, a blank row, and the row that names agent and model.
    let padded = height >= 4 && rows[last - 1].slice(column + 1..right).is_blank();
    padded.then(|| Found {
        top,
        first: top + 1,
        end: last - 1,
        bottom: edge + 1,
        columns: column + INSET..right,
        mode: Some(Mode::Prompt),
    })
}

/// The column after the prompt, and what Enter does there, if the first row begins with one.
fn prompt_of(rows: &[Row], column: usize, prompts: &[Prompt]) -> Option<(usize, Mode)> {
    let row = rows.first()?;
    let (_, cell) = row.cell(column)?;
    prompts.iter().find_map(|prompt| {
        // tmux may cut the blank that ends an empty line, a plain one at least.
        let painted: String = row.cells().skip_while(|(_, c)| c.column < column).map(|(text, _)| text).collect();
        let cut = painted == prompt.text.trim_end_matches(' ');
        let before_is_blank = row.indent() == Some(column);
        (before_is_blank && (painted.starts_with(&prompt.text) || cut) && prompt.paint.suits_in(row.ink(), cell.style))
            .then(|| (column + prompt.text.chars().count(), prompt.mode))
    })
}
