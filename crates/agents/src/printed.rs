//! What a program printed, as lines that are harmless to print again: their text, and the same with its colours.

use std::fmt::Write as _;

use vte::{Params, Parser, Perform};

use crate::screen::{Colour, Style, rendition};

/// One line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its text alone.
    pub text: String,
    /// The text with the "select graphic rendition" sequences that were in it, and no others. It ends as it began: plain.
    pub styled: String,
}

/// Reads output of any kind. Of everything that a terminal would obey only colours and the like are kept, and those apart from
/// the text.
pub fn lines(output: &[u8]) -> Vec<Line> {
    let mut page = Page::default();
    Parser::new().advance(&mut page, output);
    page.end_line();
    while page.lines.last().is_some_and(|line| line.text.is_empty()) {
        page.lines.pop();
    }
    page.lines
}

const PLAIN: &str = "\u{1b}[0m";

#[derive(Default)]
struct Page {
    lines: Vec<Line>,
    line: Line,
    /// How the next character is painted. It is carried over from line to line.
    style: Style,
    /// Letters stand for lines: the terminal's own drawing set.
    line_drawing: bool,
}

impl Page {
    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.text.truncate(line.text.trim_end().len());
        if line.styled.contains('\u{1b}') {
            line.styled.push_str(PLAIN);
        }
        self.lines.push(line);
        self.line.styled.push_str(&sequence(self.style));
    }
}

impl Perform for Page {
    fn print(&mut self, character: char) {
        let character = if self.line_drawing { crate::screen::line_of(character) } else { character };
        // Vertical movements and the like have no place in a line; neither has what turns the direction of writing.
        if !character.is_control() && !is_hidden(character) {
            self.line.text.push(character);
            self.line.styled.push(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\n' => self.end_line(),
            b'\t' => {
                self.line.text.push('\t');
                self.line.styled.push('\t');
            }
            0x0e => self.line_drawing = true,
            0x0f => self.line_drawing = false,
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: char) {
        if action != 'm' || !intermediates.is_empty() {
            return;
        }
        let join = |parts: &[u16]| parts.iter().map(u16::to_string).collect::<Vec<_>>().join(":");
        let numbers: Vec<_> = params.iter().map(join).collect();
        let numbers = numbers.join(";");
        self.style = rendition(self.style, &numbers);
        let _ = write!(self.line.styled, "\u{1b}[{numbers}m");
    }
}

/// The sequence that paints like this; none for plain.
fn sequence(style: Style) -> String {
    let colour = |colour: Colour, place: u8| match colour {
        Colour::Default => None,
        Colour::Indexed(index) => Some(format!("{place};5;{index}")),
        Colour::Rgb(r, g, b) => Some(format!("{place};2;{r};{g};{b}")),
    };
    let flags = [(style.bold, "1"), (style.dim, "2"), (style.italic, "3"), (style.reverse, "7")];
    let mut numbers: Vec<_> =
        flags.iter().filter(|(is_so, _)| *is_so).map(|(_, number)| (*number).to_owned()).collect();
    numbers.extend(colour(style.fg, 38));
    numbers.extend(colour(style.bg, 48));
    if numbers.is_empty() { String::new() } else { format!("\u{1b}[{}m", numbers.join(";")) }
}

/// Characters that are not seen and change what is: those that turn the direction of writing.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Line, lines};

    fn line(text: &str, styled: &str) -> Line {
        Line { text: text.to_owned(), styled: styled.to_owned() }
    }

    #[test]
    fn only_colours_are_kept() {
        let output =
            b"a \x1b[1;31mred\x1b[0m\x1b]8;;http://x\x1b\\ link\x1b]8;;\x1b\\\x07\x1b[2J\x1b[5;5H\x0eqx\x0f  \r\n\
                       \x1b]0;title\x07\x1bP1$r\x1b\\plain\t.\xc2\x9b\xff\n\n\n";
        let expected = [
            line("a red link─│", "a \x1b[1;31mred\x1b[0m link─│  \x1b[0m"),
            line("plain\t.\u{fffd}", "plain\t.\u{fffd}"),
        ];
        assert_eq!(lines(output), expected);
    }

    #[test]
    fn colours_are_carried_over_and_every_line_stands_for_itself() {
        let expected = [line("a", "\x1b[38;5;244ma\x1b[0m"), line("bc", "\x1b[38;5;244mb\x1b[38:2:1:2:3mc\x1b[0m")];
        assert_eq!(lines(b"\x1b[38;5;244ma\nb\x1b[38:2:1:2:3mc\n"), expected);
        let reset = lines(b"\x1b[31mred\x1b[39m\nplain\n\x1b[1;48;2;1;2;3mx\ny");
        let styled: Vec<_> = reset.iter().map(|line| line.styled.as_str()).collect();
        let painted =
            ["\x1b[31mred\x1b[39m\x1b[0m", "plain", "\x1b[1;48;2;1;2;3mx\x1b[0m", "\x1b[1;48;2;1;2;3my\x1b[0m"];
        assert_eq!(styled, painted);
    }

    proptest! {
        #[test]
        fn nothing_that_a_terminal_obeys_gets_through(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            for line in lines(&bytes) {
                prop_assert!(!line.text.chars().any(|c| c.is_control() && c != '\t'), "{line:?}");
                let mut rest = line.styled.as_str();
                while let Some(at) = rest.find('\u{1b}') {
                    rest = rest[at + 1..].strip_prefix('[').expect("a control sequence");
                    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':').expect("an end");
                    prop_assert!(rest[end..].starts_with('m'), "{line:?}");
                    rest = &rest[end + 1..];
                }
                prop_assert!(!line.styled.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\u{1b}')), "{line:?}");
            }
        }
    }
}
