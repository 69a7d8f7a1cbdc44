//! Which bytes are text, which are controls, and what the controls do to the line.

use memchr::{memchr, memchr3};

use super::line::{End, Line};
use super::sighting::{Sighting, Statement};
use super::{BOUND, osc};

pub(super) const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
pub(super) const ESC: u8 = 0x1b;
const DEL: u8 = 0x7f;

/// The state machine of a terminal, without the terminal.
#[derive(Debug, Default)]
pub(super) struct Machine {
    state: State,
    line: Line,
    /// What came of an OSC string in pieces before this one.
    osc: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Ground,
    Escape,
    EscapeIntermediate,
    Csi(Csi),
    Osc,
    /// A DCS, APC, PM or SOS string: nothing in it is for us.
    OtherString,
}

/// A control sequence up to its final byte.
#[derive(Clone, Copy, Debug)]
struct Csi {
    /// The first two numbers; no move has more.
    numbers: [u16; 2],
    index: usize,
    /// False with a private marker, an intermediate byte or a colon: then it is no move.
    plain: bool,
}

impl Machine {
    /// A machine that comes to a stream of which it knows nothing, before an ESC or outside of any sequence.
    pub(super) fn midway() -> Self {
        Self { line: Line::midway(), ..Self::default() }
    }

    /// Whether it knows what stands on the line.
    pub(super) fn is_settled(&self) -> bool {
        self.line.is_settled()
    }

    /// Whether it is outside of sequences and no marker has been opened: then most bytes mean nothing to it.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Ground) && !self.line.is_opened()
    }

    /// Takes bytes until it is idle. Returns how many.
    pub(super) fn crawl_until_idle(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) -> usize {
        let mut at = 0;
        while at < bytes.len() && !self.is_idle() {
            at += self.crawl_on(&bytes[at..], out);
        }
        at
    }

    /// Takes all of the bytes.
    pub(super) fn crawl(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) {
        let mut at = 0;
        while at < bytes.len() {
            at += self.crawl_on(&bytes[at..], out);
        }
    }

    /// The marker on a line that has not ended, if there is one.
    pub(super) fn unended_marker(&self) -> Option<Statement> {
        self.line.unended_marker()
    }

    /// The rest of the line is no part of a marker.
    pub(super) fn pass_marker(&mut self) {
        self.line.pass_marker();
    }

    /// Forgets a string that somebody else read to its end.
    pub(super) fn leave_string(&mut self) {
        if matches!(self.state, State::Osc | State::OtherString) {
            self.state = State::Ground;
            self.osc = Vec::new();
        }
    }

    /// Takes a run of text, the rest of a sequence or string, or one byte. Returns how many bytes that were.
    #[inline]
    fn crawl_on(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) -> usize {
        match self.state {
            State::Ground => match bytes.iter().position(|byte| matches!(byte, 0x00..=0x1f | &DEL)) {
                Some(0) => self.step(bytes[0], out),
                end => {
                    let end = end.unwrap_or(bytes.len());
                    self.line.text(&bytes[..end], out);
                    end
                }
            },
            State::Csi(csi) => self.csi(csi, bytes, out),
            State::Osc => self.osc(bytes, out),
            State::OtherString => self.other_string(bytes),
            State::Escape | State::EscapeIntermediate => self.step(bytes[0], out),
        }
    }

    /// Takes one byte that is no text and no part of a control sequence or string.
    fn step(&mut self, byte: u8, out: &mut Vec<Sighting>) -> usize {
        match (byte, self.state) {
            (0x00..=0x1f, _) => self.control(byte, out),
            (DEL.., State::Ground) => self.line.cut(out),
            // Inside of sequences these are no more than noise.
            (DEL.., _) | (0x20..=0x2f, State::EscapeIntermediate) => {}
            (_, State::Escape) => self.escape(byte, out),
            _ => self.state = State::Ground,
        }
        1
    }

    /// Takes the rest of a control sequence, up to a control if there is one in its midst.
    fn csi(&mut self, mut csi: Csi, bytes: &[u8], out: &mut Vec<Sighting>) -> usize {
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'0'..=b'9' => csi.digit(byte - b'0'),
                b';' => csi.index += 1,
                0x20..=0x3f => csi.plain = false,
                DEL.. => {}
                0x00..=0x1f => {
                    self.state = State::Csi(csi);
                    self.control(byte, out);
                    return at + 1;
                }
                _ => {
                    self.state = State::Ground;
                    self.moved(csi, byte, out);
                    return at + 1;
                }
            }
        }
        self.state = State::Csi(csi);
        bytes.len()
    }

    /// A C0 control, which is obeyed in the midst of a sequence too.
    fn control(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        self.line.cut(out);
        match byte {
            ESC => self.state = State::Escape,
            CAN | SUB => self.state = State::Ground,
            BEL => out.push(Sighting::Bell),
            b'\t' => self.line.forward(1, out),
            // Line feed, vertical tab, form feed.
            0x0a..=0x0c => self.line.end(End::Down, out),
            b'\r' => self.line.end(End::Return, out),
            0x08 => self.line.end(End::Away, out),
            _ => {}
        }
    }

    /// The byte after ESC.
    fn escape(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        self.state = match byte {
            b'[' => State::Csi(Csi { numbers: [0; 2], index: 0, plain: true }),
            b']' => State::Osc,
            b'P' | b'X' | b'^' | b'_' => State::OtherString,
            0x20..=0x2f => State::EscapeIntermediate,
            _ => State::Ground,
        };
        match byte {
            // Index, next line.
            b'D' | b'E' => self.line.end(End::Down, out),
            // Reverse index, restore cursor, reset.
            b'M' | b'8' | b'c' => self.line.end(End::Away, out),
            _ => {}
        }
    }

    /// A control sequence is complete.
    fn moved(&mut self, csi: Csi, last: u8, out: &mut Vec<Sighting>) {
        if !csi.plain {
            return;
        }
        let [first, second] = csi.numbers.map(|number| number.max(1));
        match last {
            // Down, next line, down.
            b'B' | b'E' | b'e' if first == 1 => self.line.end(End::Down, out),
            // Further down, up, previous line, to a row, left, restore cursor.
            b'B' | b'E' | b'e' | b'A' | b'F' | b'd' | b'D' | b'u' => self.line.end(End::Away, out),
            b'C' | b'a' => self.line.forward(first, out),
            b'G' | b'`' => self.line.move_to_column(first, out),
            b'H' | b'f' => self.line.move_to(first, second, out),
            _ => {}
        }
    }

    /// Takes the rest of an OSC string, or as much of it as there is.
    fn osc(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) -> usize {
        let end = osc_end(bytes);
        let payload = &bytes[..end.unwrap_or(bytes.len())];
        let room = BOUND.saturating_sub(self.osc.len());
        self.osc.extend_from_slice(&payload[..payload.len().min(room)]);
        let Some(end) = end else {
            return bytes.len();
        };
        out.extend(osc::sighting(&std::mem::take(&mut self.osc)));
        self.state = State::Ground;
        after(bytes, end)
    }

    /// Passes over the rest of another string, or as much of it as there is.
    fn other_string(&mut self, bytes: &[u8]) -> usize {
        let end = other_string_end(bytes);
        if end.is_some() {
            self.state = State::Ground;
        }
        end.unwrap_or(bytes.len())
    }
}

/// Where an OSC string ends.
pub(super) fn osc_end(bytes: &[u8]) -> Option<usize> {
    let end = memchr3(BEL, ESC, CAN, bytes);
    memchr(SUB, &bytes[..end.unwrap_or(bytes.len())]).or(end)
}

/// Where a DCS, APC, PM or SOS string ends.
pub(super) fn other_string_end(bytes: &[u8]) -> Option<usize> {
    memchr3(ESC, CAN, SUB, bytes)
}

/// Where to go on after a string. A BEL only ends it, and is no bell; the others mean something themselves.
pub(super) fn after(bytes: &[u8], end: usize) -> usize {
    end + usize::from(bytes[end] == BEL)
}

impl Csi {
    fn digit(&mut self, digit: u8) {
        if let Some(number) = self.numbers.get_mut(self.index) {
            *number = number.saturating_mul(10).saturating_add(digit.into());
        }
    }
}
