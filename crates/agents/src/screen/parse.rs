//! From the bytes of `tmux capture-pane -e -p` to rows of painted cells.

use unicode_width::UnicodeWidthChar;

use super::row::Row;
use super::style::{Colour, Ink, Style};

/// A screen wider or higher than any terminal is cut here, so that a hostile file costs little.
const MOST_COLUMNS: usize = 2_000;
const MOST_ROWS: usize = 2_000;

/// What a pane showed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Screen {
    rows: Vec<Row>,
}

impl Screen {
    /// Reads a capture. Any bytes will do: what is not understood is skipped, and text without styles is text.
    ///
    /// tmux writes each row up to the last cell that differs from an empty one and carries the rendition over
    /// from row to row, so the whole capture is needed to know the colour of one cell.
    pub fn parse(capture: &[u8]) -> Self {
        let text = String::from_utf8_lossy(capture);
        let mut painter = Painter::default();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\u{1b}' => painter.escape(&mut characters),
                '\n' => painter.next_row(),
                '\u{e}' => painter.line_drawing = true,
                '\u{f}' => painter.line_drawing = false,
                '\t' => painter.put(' '),
                control if control.is_control() => {}
                printed => painter.put(printed),
            }
        }
        painter.finish()
    }

    /// The rows from the top.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The width of the widest row.
    pub fn painted_width(&self) -> usize {
        self.rows.iter().map(Row::width).max().unwrap_or(0)
    }
}

#[derive(Default)]
struct Painter {
    rows: Vec<Row>,
    row: Row,
    style: Style,
    line_drawing: bool,
}

impl Painter {
    fn put(&mut self, character: char) {
        let character = if self.line_drawing { line_of(character) } else { character };
        if self.row.width() < MOST_COLUMNS {
            self.row.push(character, character.width().unwrap_or(0), self.style);
        }
    }

    fn next_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        }
    }

    fn finish(mut self) -> Screen {
        if self.row.width() > 0 {
            self.next_row();
        }
        let ink = ink(&self.rows);
        self.rows.iter_mut().for_each(|row| row.set_ink(ink));
        Screen { rows: self.rows }
    }

    fn escape(&mut self, characters: &mut std::str::Chars<'_>) {
        match characters.next() {
            Some('[') => self.control_sequence(characters),
            // Hyperlinks and titles: nothing of them is painted.
            Some(']' | 'P' | '_' | '^' | 'X') => skip_string(characters),
            Some('(' | ')' | '*' | '+') => {
                characters.next();
            }
            _ => {}
        }
    }

    fn control_sequence(&mut self, characters: &mut std::str::Chars<'_>) {
        let mut parameters = String::new();
        for character in characters.by_ref() {
            match character {
                '\u{40}'..='\u{7e}' => {
                    if character == 'm' {
                        self.style = rendition(self.style, &parameters);
                    }
                    return;
                }
                '\u{20}'..='\u{3f}' if parameters.len() < 256 => parameters.push(character),
                _ => return,
            }
        }
    }
}

/// What the program paints with, by the last rows: those are its own. Further up it shows what others painted.
fn ink(rows: &[Row]) -> Ink {
    const OWN: usize = 10;
    let own = || rows.iter().rev().filter(|row| !row.is_blank()).take(OWN).map(Row::ink_of_letters);
    [Ink::Colours, Ink::Weights].into_iter().find(|ink| own().any(|found| found == *ink)).unwrap_or(Ink::Plain)
}

fn skip_string(characters: &mut std::str::Chars<'_>) {
    while let Some(character) = characters.next() {
        match character {
            '\u{7}' => return,
            '\u{1b}' => {
                characters.next();
                return;
            }
            _ => {}
        }
    }
}

/// The rendition after a "select graphic rendition" sequence.
pub(crate) fn rendition(mut style: Style, parameters: &str) -> Style {
    // A parameter may have parts of its own, `4:3` for a curly underline. Only those of colours are of interest, and
    // some writers leave the part for the colour space empty.
    let mut numbers = parameters.split(';').flat_map(|parameter| {
        let parts = if parameter.starts_with(['3', '4', '5']) && parameter.len() > 3 { usize::MAX } else { 1 };
        parameter.split(':').enumerate().filter(|(place, part)| *place == 0 || !part.is_empty()).take(parts)
    });
    let mut numbers = std::iter::from_fn(|| numbers.next().map(|(_, number)| number.parse::<u16>().unwrap_or(0)));
    while let Some(number) = numbers.next() {
        match number {
            0 => style = Style::default(),
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            7 => style.reverse = true,
            22 => (style.bold, style.dim) = (false, false),
            23 => style.italic = false,
            27 => style.reverse = false,
            30..=37 => style.fg = indexed(number - 30),
            38 => style.fg = extended(&mut numbers).unwrap_or(style.fg),
            39 => style.fg = Colour::Default,
            40..=47 => style.bg = indexed(number - 40),
            48 => style.bg = extended(&mut numbers).unwrap_or(style.bg),
            49 => style.bg = Colour::Default,
            // The colour of an underline is no colour of the text, but its numbers must not be read as such.
            58 => drop(extended(&mut numbers)),
            90..=97 => style.fg = indexed(number - 90 + 8),
            100..=107 => style.bg = indexed(number - 100 + 8),
            _ => {}
        }
    }
    style
}

fn indexed(index: u16) -> Colour {
    u8::try_from(index).map_or(Colour::Default, Colour::Indexed)
}

fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<Colour> {
    let mut byte = || numbers.next().and_then(|number| u8::try_from(number).ok());
    match byte()? {
        5 => byte().map(Colour::Indexed),
        2 => Some(Colour::Rgb(byte()?, byte()?, byte()?)),
        _ => None,
    }
}

/// Lines that a program drew with the terminal's own drawing set, as tmux hands them on.
pub(crate) fn line_of(character: char) -> char {
    match character {
        'q' => '─',
        'x' => '│',
        'l' => '┌',
        'k' => '┐',
        'm' => '└',
        'j' => '┘',
        't' => '├',
        'u' => '┤',
        'v' => '┴',
        'w' => '┬',
        'n' => '┼',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::Screen;
    use crate::screen::style::{Colour, Style};

    #[test]
    fn the_rendition_is_carried_from_row_to_row() {
        let screen = Screen::parse(b"\x1b[1;38;5;244mab\nc\x1b[0;2md\x1b[22m\x1b[38;2;1;2;3;7me\n");
        let styles: Vec<Style> = screen.rows().iter().flat_map(|row| row.cells()).map(|(_, cell)| cell.style).collect();
        let gray = Style { fg: Colour::Indexed(244), bold: true, ..Style::default() };
        let last = Style { fg: Colour::Rgb(1, 2, 3), reverse: true, ..Style::default() };
        assert_eq!(styles, [gray, gray, gray, Style { dim: true, ..Style::default() }, last]);
    }

    #[test]
    fn columns_follow_the_width_of_characters() {
        let screen = Screen::parse("日e\u{301}❯\u{a0}x".as_bytes());
        let row = &screen.rows()[0];
        let cells: Vec<(&str, usize)> = row.cells().map(|(text, cell)| (text, cell.column)).collect();
        assert_eq!(cells, [("日", 0), ("e\u{301}", 2), ("❯", 3), ("\u{a0}", 4), ("x", 5)]);
        assert_eq!((row.cell(1).map(|(text, _)| text), row.cell(9), row.end()), (Some("日"), None, 6));
    }

    #[test]
    fn hyperlinks_drawing_sets_and_strange_sequences_leave_only_what_is_painted() {
        let curly = Screen::parse(b"\x1b[4:3mx\x1b[38:2::9:8:7my");
        let styles: Vec<Style> = curly.rows()[0].cells().map(|(_, cell)| cell.style).collect();
        assert_eq!(styles, [Style::default(), Style { fg: Colour::Rgb(9, 8, 7), ..Style::default() }]);
        let screen = Screen::parse(b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x0eqqx\x0f\x1b(B\x1b[?25hq\x1b[99");
        assert_eq!(screen.rows()[0].text(), "link ──│q");
    }
}
