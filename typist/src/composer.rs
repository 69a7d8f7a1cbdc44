//! The input of the fake agent, as a pure machine: bytes in, an edited text and submissions out.
//!
//! It does what real agents do: bracketed paste, folding of long pastes, new lines by C-j, a caret that moves.

/// A paste longer than this, or with more lines than `FOLDED_LINES`, is shown as one word. Both as in Claude Code.
const FOLDED_CHARS: usize = 800;
const FOLDED_LINES: usize = 3;

const PASTE_END: &[u8] = b"\x1b[201~";

/// What a key meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// The text changed or the caret moved.
    Edited,
    /// A paste of this many bytes ended.
    Pasted(usize),
    /// Enter was pressed. The composer is not emptied by it: the agent may choose to ignore the key.
    Enter,
    /// C-d on an empty input.
    Leave,
}

/// One thing the caret can stand before.
#[derive(Clone, Debug)]
enum Cell {
    Char(char),
    /// A paste that is shown as one word.
    Folded(String),
}

/// How far a sequence of bytes has been read.
#[derive(Clone, Debug, Default)]
enum Reading {
    #[default]
    Ground,
    /// The first bytes of a character.
    Character(Vec<u8>),
    /// After ESC.
    Escape,
    /// After `ESC [`, with the parameters so far, or `ESC O`.
    Sequence(Vec<u8>),
    /// In a bracketed paste.
    Paste(Vec<u8>),
}

/// Text and caret.
#[derive(Clone, Debug, Default)]
pub struct Composer {
    cells: Vec<Cell>,
    caret: usize,
    reading: Reading,
}

/// What is shown for a text that is pasted into an empty input, if it is folded.
#[must_use]
pub fn folded(text: &str) -> Option<String> {
    is_folded(text).then(|| fold(1, text))
}

fn is_folded(text: &str) -> bool {
    text.chars().count() > FOLDED_CHARS || text.matches('\n').count() >= FOLDED_LINES
}

fn fold(number: usize, text: &str) -> String {
    format!("[Pasted text #{number} +{} lines]", text.matches('\n').count())
}

impl Composer {
    /// Takes one byte.
    pub fn feed(&mut self, byte: u8) -> Option<Key> {
        match std::mem::take(&mut self.reading) {
            Reading::Ground => self.ground(byte),
            Reading::Character(bytes) => self.character(bytes, byte),
            Reading::Escape => {
                if byte == b'[' || byte == b'O' {
                    self.reading = Reading::Sequence(Vec::new());
                } else {
                    // No agent has a meaning for it here; it shows, so that the oracle sees it.
                    self.insert('\u{fffd}');
                }
                None
            }
            Reading::Sequence(parameters) => self.sequence(parameters, byte),
            Reading::Paste(bytes) => self.paste(bytes, byte),
        }
    }

    /// All of it, pastes unfolded.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for cell in &self.cells {
            match cell {
                Cell::Char(char) => text.push(*char),
                Cell::Folded(paste) => text.push_str(paste),
            }
        }
        text
    }

    /// What is drawn: pastes folded.
    #[must_use]
    pub fn shown(&self) -> String {
        let mut text = String::new();
        let mut pastes = 0;
        for cell in &self.cells {
            match cell {
                Cell::Char(char) => text.push(*char),
                Cell::Folded(paste) => {
                    pastes += 1;
                    text.push_str(&fold(pastes, paste));
                }
            }
        }
        text
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Empties it and gives what was in it.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.cells.clear();
        self.caret = 0;
        text
    }

    fn ground(&mut self, byte: u8) -> Option<Key> {
        match byte {
            b'\r' => return Some(Key::Enter),
            b'\n' | b'\t' => self.insert(char::from(byte)),
            0x01 => self.caret = 0,
            0x04 if self.is_empty() => return Some(Key::Leave),
            0x05 => self.caret = self.cells.len(),
            0x08 | 0x7f => self.backspace(),
            0x1b => {
                self.reading = Reading::Escape;
                return None;
            }
            0x20..0x7f => self.insert(char::from(byte)),
            0xc2..0xf5 => {
                self.reading = Reading::Character(vec![byte]);
                return None;
            }
            // A byte that should not have come is not passed over: the oracle is to find it.
            _ => self.insert('\u{fffd}'),
        }
        Some(Key::Edited)
    }

    fn character(&mut self, mut bytes: Vec<u8>, byte: u8) -> Option<Key> {
        bytes.push(byte);
        match std::str::from_utf8(&bytes) {
            Ok(text) => {
                text.chars().for_each(|char| self.insert(char));
                Some(Key::Edited)
            }
            Err(error) if error.error_len().is_none() => {
                self.reading = Reading::Character(bytes);
                None
            }
            Err(_) => {
                self.insert('\u{fffd}');
                self.ground(byte)
            }
        }
    }

    fn sequence(&mut self, mut parameters: Vec<u8>, byte: u8) -> Option<Key> {
        match (parameters.as_slice(), byte) {
            (_, b'0'..=b'9' | b';') => {
                parameters.push(byte);
                self.reading = Reading::Sequence(parameters);
                return None;
            }
            (b"200", b'~') => {
                self.reading = Reading::Paste(Vec::new());
                return None;
            }
            (b"", b'D') => self.caret = self.caret.saturating_sub(1),
            (b"", b'C') => self.caret = (self.caret + 1).min(self.cells.len()),
            (b"", b'H') | (b"1", b'~') => self.caret = 0,
            (b"", b'F') | (b"4", b'~') => self.caret = self.cells.len(),
            _ => self.insert('\u{fffd}'),
        }
        Some(Key::Edited)
    }

    fn paste(&mut self, mut bytes: Vec<u8>, byte: u8) -> Option<Key> {
        bytes.push(byte);
        if !bytes.ends_with(PASTE_END) {
            self.reading = Reading::Paste(bytes);
            return None;
        }
        bytes.truncate(bytes.len() - PASTE_END.len());
        // Terminals send a carriage return for a new line of a paste.
        let text = String::from_utf8_lossy(&bytes).replace("\r\n", "\n").replace('\r', "\n");
        if is_folded(&text) {
            self.cells.insert(self.caret, Cell::Folded(text));
            self.caret += 1;
        } else {
            text.chars().for_each(|char| self.insert(char));
        }
        Some(Key::Pasted(bytes.len()))
    }

    fn insert(&mut self, char: char) {
        self.cells.insert(self.caret, Cell::Char(char));
        self.caret += 1;
    }

    fn backspace(&mut self) {
        if self.caret > 0 {
            self.caret -= 1;
            self.cells.remove(self.caret);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(bytes: &[u8]) -> (Composer, Vec<Key>) {
        let mut composer = Composer::default();
        let keys = bytes.iter().filter_map(|byte| composer.feed(*byte)).collect();
        (composer, keys)
    }

    #[test]
    fn edits_as_a_person_would_expect() {
        let (composer, _) = fed("abX\x7fd\x1b[Dc\x05é\x01日".as_bytes());
        assert_eq!(composer.text(), "日abcdé");
    }

    #[test]
    fn a_paste_is_text_whatever_is_in_it_and_long_ones_are_folded() {
        let (composer, keys) = fed(b"\x1b[200~one\rtwo\x1b[201~");
        assert_eq!((composer.text().as_str(), keys), ("one\ntwo", vec![Key::Pasted(7)]));
        let (composer, _) = fed(b"a\x1b[200~1\r2\r3\r4\x1b[201~b");
        assert_eq!(composer.text(), "a1\n2\n3\n4b");
        assert_eq!(composer.shown(), "a[Pasted text #1 +3 lines]b");
    }

    #[test]
    fn what_should_not_have_come_is_seen() {
        assert_eq!(fed(b"a\xffb\x1bz").0.text(), "a\u{fffd}b\u{fffd}");
    }
}
