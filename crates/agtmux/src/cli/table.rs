//! Tables for people: as wide as the terminal, one line a row, colour only where it is wanted.

use std::io::IsTerminal;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, Color, ContentArrangement, Row, Table};
use jiff::Timestamp;

use super::output::printable;
use super::page::Page;

/// A table in the making.
#[derive(Debug)]
pub struct Sheet {
    table: Table,
    color: bool,
}

impl Sheet {
    /// A table with these headings. Piped, it is as wide as its contents, so that nothing is cut off for a script.
    pub fn new(headings: &[&str], color: bool) -> Self {
        let mut table = Table::new();
        table.load_style(NOTHING).set_truncation_indicator("…");
        // What `--color` says counts, on a terminal or not.
        if color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        if let Some(width) = terminal_width() {
            table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
        }
        let cells = headings.iter().map(|text| {
            let cell = Cell::new(text);
            if color { cell.add_attribute(Attribute::Dim) } else { cell }
        });
        table.set_header(Row::from(cells));
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self { table, color }
    }

    /// Adds a row. The first cell may be coloured as a state.
    pub fn row(&mut self, state: Option<&str>, cells: &[String]) {
        let mut row = Row::new();
        for (place, text) in cells.iter().enumerate() {
            let mut cell = Cell::new(printable(text));
            if self.color && place == 0 {
                cell = paint(cell, state.unwrap_or_default());
            }
            row.add_cell(cell);
        }
        row.max_height(1);
        self.table.add_row(row);
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
    }

    /// The table as text, each line without trailing blanks.
    pub fn render(&self) -> String {
        self.page().text()
    }

    /// The table as a page: its headings, which can take more than one line, and a line for each row.
    pub fn page(&self) -> Page {
        let mut head: Vec<_> = self.table.lines().map(|line| line.trim_end().to_owned()).collect();
        let rows = head.split_off(head.len().saturating_sub(self.table.row_count()));
        Page { head, rows, foot: Vec::new() }
    }
}

fn paint(cell: Cell, state: &str) -> Cell {
    match state {
        "error" | "down" | "fail" => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        "waiting_approval" | "waiting_input" => cell.fg(Color::Yellow).add_attribute(Attribute::Bold),
        "running" => cell.fg(Color::Blue),
        "completed" | "ok" => cell.fg(Color::Green),
        "degraded" | "warn" => cell.fg(Color::Yellow),
        "unknown" => cell.add_attribute(Attribute::Dim),
        _ => cell,
    }
}

/// The width of the terminal on standard output, or what `COLUMNS` says there.
fn terminal_width() -> Option<u16> {
    if !std::io::stdout().is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(if size.ws_col == 0 { 80 } else { size.ws_col })
}

/// How long ago an RFC 3339 time was, as `12s`, `3m`, `5h`, `2d`.
pub fn age(since: Option<&str>, now: Timestamp) -> String {
    let Some(then) = since.and_then(|text| text.parse::<Timestamp>().ok()) else {
        return "-".to_owned();
    };
    match now.as_second().saturating_sub(then.as_second()).max(0) {
        seconds @ 0..60 => format!("{seconds}s"),
        seconds @ 60..3_600 => format!("{}m", seconds / 60),
        seconds @ 3_600..86_400 => format!("{}h", seconds / 3_600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

/// A value that may be unknown.
pub fn or_dash(value: Option<&str>) -> String {
    value.filter(|text| !text.is_empty()).unwrap_or("-").to_owned()
}
