//! The line that is being written, as far as it could become a marker.
//!
//! Agents wrap long lines themselves. So a marker that is not closed at the end of its line goes on in the next row, if
//! that is indented: there the agent's text goes on, and not the output of a program. A blank row ends it, and so does a
//! move to any other row.

use super::BOUND;
use super::sighting::{Miss, Sighting, Statement};
use super::text;

/// What opens a marker, after two dashes.
const OPENING: &[u8] = b"<[schmux:";
/// An opening alone on its line.
const ALONE: &[u8] = b"--<[schmux:";
/// What closes it.
const CLOSING: &str = "]>--";
/// The same where a line was wrapped in its midst.
const WRAPPED_CLOSINGS: [&str; 3] = ["] >--", "]> --", "]>- -"];
/// Stands in [`Line::body`] where a line was wrapped.
const WRAP: u8 = b'\n';

/// Where a line ends: where the cursor goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// To the next row.
    Down,
    /// To the beginning of the same row.
    Return,
    /// Anywhere else.
    Away,
}

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
    /// The opened line has ended without having been closed.
    Wrapped(Wrapped),
    /// Other text.
    Text,
}

/// Where the cursor is since an opened line ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wrapped {
    /// In the next row.
    is_below: bool,
    /// Right of its beginning, with nothing but blanks before.
    is_indented: bool,
    /// The first bytes of a character that agents may have put beside their text.
    glyph: u32,
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
        matches!(self.part, Part::Opening(_) | Part::Body | Part::Wrapped(_))
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
        self.take(byte, out);
    }

    /// Takes a byte of text over which the cursor has moved.
    fn take(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        if !self.settled {
            // Wherever the line began, it holds text now; and where it is on the screen is known too.
            if self.at.is_some() && !matches!(byte, b' ' | b'-' | b'<' | 0x80..) {
                self.settled = true;
                self.part = Part::Text;
            }
            return;
        }
        self.part = match (self.part, byte) {
            (Part::Wrapped(wrapped), _) => return self.below(wrapped, byte, out),
            (Part::Body, _) if self.body.len() >= BOUND => {
                out.push(self.near_miss(Miss::TooLong));
                self.body = Vec::new();
                Part::Text
            }
            (Part::Body, _) => {
                self.body.push(byte);
                self.split_off(out);
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

    /// A byte of text after an opened line that has ended.
    fn below(&mut self, wrapped: Wrapped, byte: u8, out: &mut Vec<Sighting>) {
        let beside = match byte {
            b' ' if wrapped.glyph == 0 => Part::Blank,
            0x80.. => glyph(wrapped.glyph, byte),
            _ => Part::Text,
        };
        match beside {
            Part::Blank if wrapped.is_below => {
                self.part = Part::Wrapped(Wrapped { is_below: true, is_indented: true, glyph: 0 });
            }
            Part::Glyph(glyph) if wrapped.is_below => self.part = Part::Wrapped(Wrapped { glyph, ..wrapped }),
            _ if wrapped.is_below && wrapped.is_indented => {
                self.part = Part::Body;
                self.body.push(WRAP);
                self.body.extend(begun(wrapped.glyph).chain([byte]));
                self.split_off(out);
            }
            _ => {
                self.give_up(out);
                if wrapped.glyph != 0 {
                    self.part = Part::Text;
                }
                self.take(byte, out);
            }
        }
    }

    /// A marker of its own begins below one that was never closed.
    fn split_off(&mut self, out: &mut Vec<Sighting>) {
        let Some(before) = self.body.strip_suffix(ALONE).and_then(|before| before.strip_suffix(&[WRAP])) else {
            return;
        };
        let before = before.to_vec();
        self.body = before;
        out.push(self.near_miss(Miss::NotClosed));
        self.body = Vec::new();
    }

    /// The opened line that has ended was no marker, and does not go on.
    fn give_up(&mut self, out: &mut Vec<Sighting>) {
        out.push(self.near_miss(Miss::NotClosed));
        *self = Self { at: self.at, ..Self::default() };
    }

    /// Something that is no text came between: what was half a character stays half.
    pub(super) fn cut(&mut self, out: &mut Vec<Sighting>) {
        match self.part {
            Part::Glyph(_) => self.part = Part::Text,
            Part::Wrapped(Wrapped { glyph: 0, .. }) => {}
            Part::Wrapped(Wrapped { is_indented: true, glyph, .. }) => {
                self.part = Part::Body;
                self.body.push(WRAP);
                self.body.extend(begun(glyph).chain([0]));
            }
            Part::Wrapped(_) => {
                self.give_up(out);
                self.part = Part::Text;
            }
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
            _ if column == 1 => self.end(End::Return, out),
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
            Some((here, _)) if here.checked_add(1) == Some(row) => {
                self.end(End::Down, out);
                if column > 1 {
                    self.text(b" ", out);
                }
            }
            _ => self.end(End::Away, out),
        }
        self.at = Some((row, column));
    }

    /// The line ends here: the cursor moved to another one, or back to the left, where what follows lies over it.
    pub(super) fn end(&mut self, end: End, out: &mut Vec<Sighting>) {
        match (self.part, end) {
            (Part::Body, _) => match self.marker() {
                Err(Miss::NotClosed) if end != End::Away && self.may_go_on() => {
                    let wrapped = Wrapped { is_below: end == End::Down, ..Wrapped::default() };
                    self.part = Part::Wrapped(wrapped);
                    self.at = None;
                    return;
                }
                Ok(statement) => out.push(Sighting::Marker(statement)),
                Err(miss) => out.push(self.near_miss(miss)),
            },
            (Part::Wrapped(wrapped), End::Return) => {
                self.part = Part::Wrapped(Wrapped { is_below: wrapped.is_below, ..Wrapped::default() });
                self.at = None;
                return;
            }
            (Part::Wrapped(Wrapped { is_below: false, .. }), End::Down) => {
                self.part = Part::Wrapped(Wrapped { is_below: true, ..Wrapped::default() });
                self.at = None;
                return;
            }
            (Part::Wrapped(_), End::Down | End::Away) => self.give_up(out),
            _ => {}
        }
        *self = Self::default();
    }

    /// Whether what stands on the line is the beginning of a marker.
    fn may_go_on(&self) -> bool {
        let body = text::clean(&self.body);
        let state = body.split_once(':').map(|(state, _)| state);
        self.alone && state.is_some_and(|state| Statement::new(state, "").is_some())
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
        let body = self.unwrapped();
        let whole = body.trim_end_matches(text::is_gutter);
        let is_wrapped = self.body.contains(&WRAP);
        let mut closings = std::iter::once(CLOSING).chain(WRAPPED_CLOSINGS.into_iter().filter(|_| is_wrapped));
        let Some(body) = closings.find_map(|closing| whole.strip_suffix(closing)) else {
            return Err(if body.contains(CLOSING) { Miss::NotAlone } else { Miss::NotClosed });
        };
        if !self.alone || body.contains("<[schmux:") {
            return Err(Miss::NotAlone);
        }
        body.split_once(':').and_then(|(state, message)| Statement::new(state, message)).ok_or(Miss::UnknownState)
    }

    /// What follows the opening, in one line.
    fn unwrapped(&self) -> String {
        let pieces = self.body.split(|byte| *byte == WRAP).map(text::clean);
        let mut line = String::new();
        for piece in pieces {
            if !line.is_empty() {
                line.truncate(line.trim_end_matches(text::is_gutter).len());
                line.push(' ');
            }
            line.push_str(&piece);
        }
        line
    }

    /// A near miss with the line from its opening on, and with what goes on below.
    fn near_miss(&self, why: Miss) -> Sighting {
        let dashes = if self.alone { "--" } else { "" };
        Sighting::NearMiss { line: format!("{dashes}<[schmux:{}", self.unwrapped().trim_end()), why }
    }
}

/// The bytes of a character that came so far.
fn begun(glyph: u32) -> impl Iterator<Item = u8> {
    glyph.to_be_bytes().into_iter().skip_while(|byte| *byte == 0)
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
