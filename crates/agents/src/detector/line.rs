//! The line that is being written, as far as it could become a marker.

use super::BOUND;
use super::sighting::{Miss, Sighting, Statement};
use super::text;

/// What opens a marker, after two dashes.
const OPENING: &[u8] = b"<[schmux:";
/// What closes it.
const CLOSING: &str = "]>--";

/// The current line. It is told of text, of moves to the right and of its end, and reports what it was.
#[derive(Debug)]
pub(super) struct Line {
    part: Part,
    /// Row and column of the cursor, as long as they are known from a move to both.
    at: Option<(u16, u16)>,
    /// Whether nothing but two dashes stood before the opening.
    alone: bool,
    /// False while it is not known what stands before: see [`Self::midway`].
    settled: bool,
    /// What follows the opening.
    body: Vec<u8>,
}

/// How far the line got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Nothing yet, or only what agents put beside their text.
    Blank,
    /// The first bytes of a character that may be such.
    Glyph(u32),
    /// One dash.
    Dash,
    /// Two dashes.
    Dashes,
    /// So many bytes of the opening, wherever on the line.
    Opening(usize),
    /// The opening is complete.
    Body,
    /// Other text.
    Text,
}

impl Default for Line {
    fn default() -> Self {
        Self { part: Part::Blank, at: None, alone: false, settled: true, body: Vec::new() }
    }
}

impl Line {
    /// A line of which an unknown part was missed. Once it ended, the next one is known.
    pub(super) fn midway() -> Self {
        Self { settled: false, ..Self::default() }
    }

    /// Whether it is known what stands on it.
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Whether each byte matters: from the opening of a marker on.
    pub(super) fn is_opened(&self) -> bool {
        matches!(self.part, Part::Opening(_) | Part::Body)
    }

    /// Text, as bytes.
    pub(super) fn text(&mut self, text: &[u8], out: &mut Vec<Sighting>) {
        let indifferent = self.part == Part::Text && self.settled;
        if indifferent && !text.contains(&b'<') {
            return self.advance(text);
        }
        for &byte in text {
            self.text_byte(byte, out);
        }
    }

    /// The cursor moves over text.
    fn advance(&mut self, text: &[u8]) {
        if let Some((_, column)) = &mut self.at {
            let chars = text.iter().filter(|byte| **byte & 0xc0 != 0x80).count();
            *column = column.saturating_add(u16::try_from(chars).unwrap_or(u16::MAX));
        }
    }

    fn text_byte(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        self.advance(&[byte]);
        if !self.settled {
            // Wherever the line began, it holds text now; and where it is on the screen is known too.
            if self.at.is_some() && !matches!(byte, b' ' | b'-' | b'<' | 0x80..) {
                self.settled = true;
                self.part = Part::Text;
            }
            return;
        }
        self.part = match (self.part, byte) {
            (Part::Body, _) if self.body.len() >= BOUND => {
                out.push(near_miss(&text::clean(&self.body), Miss::TooLong));
                self.body = Vec::new();
                Part::Text
            }
            (Part::Body, _) => {
                self.body.push(byte);
                Part::Body
            }
            (Part::Opening(seen), _) if byte == OPENING[seen] => match seen + 1 {
                all if all == OPENING.len() => Part::Body,
                seen => Part::Opening(seen),
            },
            (before, b'<') => {
                self.alone = before == Part::Dashes;
                Part::Opening(1)
            }
            (Part::Blank, b' ') => Part::Blank,
            (Part::Blank, 0x80..) => glyph(0, byte),
            (Part::Glyph(first), 0x80..) => glyph(first, byte),
            (Part::Blank, b'-') => Part::Dash,
            (Part::Dash, b'-') => Part::Dashes,
            _ => Part::Text,
        };
    }

    /// Something that is no text came between: what was half a character stays half.
    pub(super) fn cut(&mut self) {
        match self.part {
            Part::Glyph(_) => self.part = Part::Text,
            // A control is dropped when the text is cleaned, and keeps the halves apart until then.
            Part::Body if self.body.last().is_some_and(|last| *last >= 0x80) => self.body.push(0),
            _ => {}
        }
    }

    /// The cursor moved to the right.
    pub(super) fn forward(&mut self, columns: u16, out: &mut Vec<Sighting>) {
        let to = self.at.map(|(row, column)| (row, column.saturating_add(columns)));
        let spaces = match self.part {
            Part::Body => usize::from(columns).min(BOUND),
            _ => 1,
        };
        for _ in 0..spaces {
            self.text(b" ", out);
        }
        self.at = to;
    }

    /// The cursor moved to a column of the row it is in.
    pub(super) fn move_to_column(&mut self, column: u16, out: &mut Vec<Sighting>) {
        match self.at {
            _ if column == 1 => self.end(out),
            Some((row, _)) => self.move_to(row, column, out),
            None => self.text(b" ", out),
        }
    }

    /// The cursor moved to a row and column.
    pub(super) fn move_to(&mut self, row: u16, column: u16, out: &mut Vec<Sighting>) {
        match self.at {
            Some((here, from)) if here == row && from == column => {}
            Some((here, from)) if here == row && from < column => self.text(b" ", out),
            // The row before is unknown, and may be this one.
            None if !self.settled => {}
            _ => self.end(out),
        }
        self.at = Some((row, column));
    }

    /// The line ends here: the cursor moved to another one, or back to the left, where what follows lies over it.
    pub(super) fn end(&mut self, out: &mut Vec<Sighting>) {
        if self.part == Part::Body {
            out.push(match self.marker() {
                Ok(statement) => Sighting::Marker(statement),
                Err(miss) => near_miss(&text::clean(&self.body), miss),
            });
        }
        *self = Self::default();
    }

    /// The marker on the line, if it reads as one already.
    pub(super) fn unended_marker(&self) -> Option<Statement> {
        if self.part == Part::Body { self.marker().ok() } else { None }
    }

    /// The marker was taken note of. What still comes on the line is text.
    pub(super) fn pass_marker(&mut self) {
        self.part = Part::Text;
        self.body = Vec::new();
    }

    /// What the opened line reads as.
    fn marker(&self) -> Result<Statement, Miss> {
        let body = text::clean(&self.body);
        let Some(body) = body.trim_end_matches(text::is_gutter).strip_suffix(CLOSING) else {
            return Err(if body.contains(CLOSING) { Miss::NotAlone } else { Miss::NotClosed });
        };
        if !self.alone || body.contains("<[schmux:") {
            return Err(Miss::NotAlone);
        }
        body.split_once(':').and_then(|(state, message)| Statement::new(state, message)).ok_or(Miss::UnknownState)
    }
}

/// What the line is after another byte of a character that is not ASCII.
fn glyph(first: u32, byte: u8) -> Part {
    let bytes = first << 8 | u32::from(byte);
    let of_gutter = |shift: u32| text::GUTTER.iter().any(|char| encoded(*char) >> shift == bytes);
    if of_gutter(0) {
        Part::Blank
    } else if of_gutter(8) || of_gutter(16) {
        Part::Glyph(bytes)
    } else {
        Part::Text
    }
}

/// The bytes of a character as a number.
fn encoded(char: char) -> u32 {
    char.encode_utf8(&mut [0; 4]).bytes().fold(0, |bytes, byte| bytes << 8 | u32::from(byte))
}

/// A near miss with the line from its opening on.
fn near_miss(body: &str, why: Miss) -> Sighting {
    Sighting::NearMiss { line: format!("<[schmux:{}", body.trim_end()), why }
}
