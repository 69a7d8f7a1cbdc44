//! Which bytes are text, which are controls, and what the controls do to the line.

use memchr::{memchr, memchr3};

use super::line::Line;
use super::sighting::Sighting;
use super::{BOUND, osc, skip};

const BEL: u8 = 0x07;
const CAN: u8 = 0x18;
const SUB: u8 = 0x1a;
const ESC: u8 = 0x1b;
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
    pub(super) fn feed(&mut self, bytes: &[u8], out: &mut Vec<Sighting>) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match self.state {
                State::Osc => self.osc(rest, out),
                State::OtherString => self.other_string(rest),
                State::Ground if !self.line.is_opened() => {
                    let (nothing, rest) = rest.split_at(skip::uninteresting(rest));
                    self.pass_over(nothing);
                    match rest.split_first() {
                        Some((&byte, rest)) => {
                            self.step(byte, out);
                            rest
                        }
                        None => rest,
                    }
                }
                _ => {
                    self.step(byte, out);
                    after
                }
            };
        }
    }

    /// Whether there is a marker on a line that has not ended.
    pub(super) fn has_unended_marker(&self) -> bool {
        self.line.is_closed()
    }

    /// Reports the marker on a line that has not ended.
    pub(super) fn flush(&mut self, out: &mut Vec<Sighting>) {
        out.extend(self.line.take_marker().map(Sighting::Marker));
    }

    /// Brings the machine behind bytes that [`skip`] found nothing in.
    ///
    /// Most of them need not be looked at: a short stretch before the end tells in which state the machine is there,
    /// provided that a line begins in it. If none does, a longer stretch is tried.
    fn pass_over(&mut self, bytes: &[u8]) {
        let mut stretch = 64;
        while stretch < bytes.len() {
            if let Some(there) = Self::joined_midway(&bytes[bytes.len() - stretch..]) {
                self.state = there.state;
                self.line = there.line;
                return;
            }
            stretch *= 8;
        }
        self.step_all(bytes);
    }

    /// The machine after bytes from the midst of a stream, outside of strings, if they tell enough.
    fn joined_midway(bytes: &[u8]) -> Option<Self> {
        let mut machine = Self { line: Line::joined_midway(), ..Self::default() };
        // Whatever the machine was in: an ESC begins a sequence, and one of these ends what is not a string.
        let sure = bytes.iter().position(|byte| matches!(byte, &ESC | 0x60..=0x7e))?;
        let known = if bytes[sure] == ESC { sure } else { sure + 1 };
        machine.step_all(&bytes[known..]);
        machine.line.is_settled().then_some(machine)
    }

    /// Steps over bytes in which there is nothing to report.
    fn step_all(&mut self, bytes: &[u8]) {
        let mut nothing = Vec::new();
        for &byte in bytes {
            self.step(byte, &mut nothing);
        }
    }

    /// Takes one byte outside of strings.
    fn step(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        match (byte, &mut self.state) {
            (ESC, _) => {
                self.line.cut();
                self.state = State::Escape;
            }
            (CAN | SUB, _) => {
                self.line.cut();
                self.state = State::Ground;
            }
            (0x00..=0x1f, _) => self.control(byte, out),
            (DEL, State::Ground) => self.line.cut(),
            (_, State::Ground) => self.line.text(byte, out),
            // Inside of sequences these are no more than noise.
            (DEL.., _) => {}
            (_, State::Escape) => self.escape(byte, out),
            (0x20..=0x2f, State::EscapeIntermediate) => {}
            (_, State::Csi(csi)) => match byte {
                b'0'..=b'9' => csi.digit(byte - b'0'),
                b';' => csi.index += 1,
                0x20..=0x3f => csi.plain = false,
                _ => {
                    let csi = *csi;
                    self.state = State::Ground;
                    self.moved(csi, byte, out);
                }
            },
            (_, State::EscapeIntermediate | State::Osc | State::OtherString) => self.state = State::Ground,
        }
    }

    /// A C0 control, which is obeyed in the midst of a sequence too.
    fn control(&mut self, byte: u8, out: &mut Vec<Sighting>) {
        self.line.cut();
        match byte {
            BEL => out.push(Sighting::Bell),
            b'\t' => self.line.forward(1, out),
            // Backspace, line feed, vertical tab, form feed, carriage return.
            0x08 | 0x0a..=0x0d => self.line.end(out),
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
        // Index, next line, reverse index, restore cursor, reset.
        if matches!(byte, b'D' | b'E' | b'M' | b'8' | b'c') {
            self.line.end(out);
        }
    }

    /// A control sequence is complete.
    fn moved(&mut self, csi: Csi, last: u8, out: &mut Vec<Sighting>) {
        if !csi.plain {
            return;
        }
        let [first, second] = csi.numbers.map(|number| number.max(1));
        match last {
            // Up, down, next line, previous line, to a row, down, left, restore cursor.
            b'A' | b'B' | b'E' | b'F' | b'd' | b'e' | b'D' | b'u' => self.line.end(out),
            b'C' | b'a' => self.line.forward(first, out),
            b'G' | b'`' => self.line.move_to_column(first, out),
            b'H' | b'f' => self.line.move_to(first, second, out),
            _ => {}
        }
    }

    /// Takes the rest of an OSC string, or as much of it as there is. Returns what follows.
    fn osc<'a>(&mut self, bytes: &'a [u8], out: &mut Vec<Sighting>) -> &'a [u8] {
        let end = memchr3(BEL, ESC, CAN, bytes).unwrap_or(bytes.len());
        let end = memchr(SUB, &bytes[..end]).unwrap_or(end);
        let (payload, rest) = bytes.split_at(end);
        let room = BOUND.saturating_sub(self.osc.len());
        let payload = &payload[..payload.len().min(room)];
        let Some(terminator) = rest.first() else {
            self.osc.extend_from_slice(payload);
            return rest;
        };
        if self.osc.is_empty() {
            out.extend(osc::sighting(payload));
        } else {
            self.osc.extend_from_slice(payload);
            out.extend(osc::sighting(&std::mem::take(&mut self.osc)));
        }
        self.state = State::Ground;
        // A BEL ends the string and is no bell. The others are more than an end.
        if *terminator == BEL { &rest[1..] } else { rest }
    }

    /// Passes over the rest of another string, or as much of it as there is. Returns what follows.
    fn other_string<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        match memchr3(ESC, CAN, SUB, bytes) {
            Some(end) => {
                self.state = State::Ground;
                &bytes[end..]
            }
            None => &[],
        }
    }
}

impl Csi {
    fn digit(&mut self, digit: u8) {
        if let Some(number) = self.numbers.get_mut(self.index) {
            *number = number.saturating_mul(10).saturating_add(digit.into());
        }
    }
}
