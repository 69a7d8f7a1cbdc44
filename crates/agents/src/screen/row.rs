//! One row of a screen: its text, and which cell each piece of the text is in.

use super::style::{Colour, Ink, Style};

/// One character cell, or two for a wide character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Where the cell's text begins in [`Row::text`], in bytes.
    at: usize,
    /// The column of its left edge.
    pub column: usize,
    pub style: Style,
}

/// One row, as far as something was painted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    text: String,
    cells: Vec<Cell>,
    width: usize,
    ink: Ink,
}

impl Row {
    /// Adds a character. One without width belongs to the cell before it.
    pub(super) fn push(&mut self, character: char, width: usize, style: Style) {
        if width > 0 {
            self.cells.push(Cell { at: self.text.len(), column: self.width, style });
            self.width += width;
        } else if self.cells.is_empty() {
            return;
        }
        self.text.push(character);
    }

    /// The text, with blanks of both kinds as they were painted.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the screen that the row is on is painted with.
    pub(super) fn ink(&self) -> Ink {
        self.ink
    }

    pub(super) fn set_ink(&mut self, ink: Ink) {
        self.ink = ink;
    }

    /// What the letters and lines of the row are painted with. Agents draw bars and spinners in a colour of their own
    /// where all else has none.
    pub(super) fn ink_of_letters(&self) -> Ink {
        let is_letter = |text: &str| text.chars().any(|c| c.is_alphabetic() || matches!(c, '─' | '╌'));
        let styles = || self.cells().filter(|(text, _)| is_letter(text)).map(|(_, cell)| cell.style);
        if styles().any(|style| (style.fg, style.bg) != (Colour::Default, Colour::Default)) {
            Ink::Colours
        } else if styles().any(|style| style.bold || style.dim || style.italic) {
            Ink::Weights
        } else {
            Ink::Plain
        }
    }

    /// The same row with another one behind it, as before they were wrapped.
    pub(super) fn followed_by(&self, next: &Self) -> Self {
        let mut whole = self.slice(0..self.end());
        whole.push(' ', 1, Style::default());
        let rest = next.slice(next.indent().unwrap_or(0)..next.end());
        for (place, cell) in rest.cells.iter().enumerate() {
            let end = rest.cells.get(place + 1).map_or(rest.width, |after| after.column);
            for (nth, character) in rest.text_of(place).chars().enumerate() {
                whole.push(character, if nth == 0 { end - cell.column } else { 0 }, cell.style);
            }
        }
        whole
    }

    /// How many columns were painted.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Whether nothing but blanks was painted.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The column of the first character that is not a blank.
    pub fn indent(&self) -> Option<usize> {
        let at = self.text.find(|c: char| !c.is_whitespace())?;
        self.cell_of_byte(at).map(|cell| cell.column)
    }

    /// The column after the last character that is not a blank.
    pub fn end(&self) -> usize {
        let painted = self.text.trim_end().len();
        self.cells.iter().find(|cell| cell.at >= painted).map_or(self.width, |cell| cell.column)
    }

    /// The cells, left to right.
    pub fn cells(&self) -> impl Iterator<Item = (&str, Cell)> {
        self.cells.iter().enumerate().map(|(place, cell)| (self.text_of(place), *cell))
    }

    /// The cell that covers a column.
    pub fn cell(&self, column: usize) -> Option<(&str, Cell)> {
        let place = self.cells.partition_point(|cell| cell.column <= column).checked_sub(1)?;
        (column < self.width).then(|| (self.text_of(place), self.cells[place]))
    }

    /// The cell that holds a byte of the text.
    pub(super) fn cell_of_byte(&self, at: usize) -> Option<Cell> {
        let place = self.cells.partition_point(|cell| cell.at <= at).checked_sub(1)?;
        Some(self.cells[place])
    }

    /// What is painted in some columns; a row of its own whose columns begin at zero.
    pub(super) fn slice(&self, columns: std::ops::Range<usize>) -> Self {
        let mut slice = Self { ink: self.ink, ..Self::default() };
        for (place, cell) in self.cells.iter().enumerate().filter(|(_, cell)| columns.contains(&cell.column)) {
            let end = self.cells.get(place + 1).map_or(self.width, |next| next.column);
            for (nth, character) in self.text_of(place).chars().enumerate() {
                slice.push(character, if nth == 0 { end - cell.column } else { 0 }, cell.style);
            }
        }
        slice
    }

    fn text_of(&self, place: usize) -> &str {
        let end = self.cells.get(place + 1).map_or(self.text.len(), |next| next.at);
        &self.text[self.cells[place].at..end]
    }
}
