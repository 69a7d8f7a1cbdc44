//! Where a machine can join a stream and soon know as much as one that read all of it.
//!
//! To find such a place costs a few nanoseconds, to read from there to the end of a piece some hundreds: so the place
//! is looked for at the end of each piece, and only what follows it is kept, to be read if somebody asks.

use memchr::{memrchr, memrchr2};

use super::machine::ESC;

/// How far back to look, and so the most that is kept. Nearly every stretch of this length holds a place.
pub(super) const REACH: usize = 512;

/// The moves to a row that are looked at. A row that is drawn cell by cell has more of them; then nothing is found.
const MOVES: usize = 16;

/// The latest place from which a machine knows its state and the line at the end of the bytes. No string may be open
/// anywhere in them.
pub(super) fn last(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(REACH);
    let reach = &bytes[from..];
    after_line(reach).or_else(|| between_rows(reach)).map(|place| from + place)
}

/// A line feed or carriage return ends the line, also in the midst of a sequence. What else it is in the midst of must
/// be known too: an ESC begins a sequence whatever came before, and these letters end whatever was open.
fn after_line(bytes: &[u8]) -> Option<usize> {
    let end = memrchr2(b'\n', b'\r', bytes)?;
    let known = bytes[..end].iter().rposition(|byte| matches!(*byte, ESC | 0x60..=0x7e))?;
    Some(known + usize::from(bytes[known] != ESC))
}

/// A move to a row, and then to another one, ends the line too.
fn between_rows(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let mut last = None;
    for _ in 0..MOVES {
        let end = memrchr(b'H', rest)?;
        rest = &rest[..end];
        let Some((place, row)) = move_before(rest) else {
            continue;
        };
        if *last.get_or_insert(row) != row {
            return Some(place);
        }
        rest = &rest[..place];
    }
    None
}

/// Where the move begins of which the bytes are all but the final one, and its row. None if they end otherwise.
fn move_before(bytes: &[u8]) -> Option<(usize, u16)> {
    let numbers = bytes.iter().rposition(|byte| !matches!(byte, b'0'..=b'9' | b';'))?;
    let place = numbers.checked_sub(1).filter(|place| bytes[*place..].starts_with(b"\x1b["))?;
    let digits = bytes[numbers + 1..].iter().take_while(|byte| **byte != b';');
    let row = digits.fold(0_u16, |row, digit| row.saturating_mul(10).saturating_add((digit - b'0').into()));
    Some((place, row.max(1)))
}
