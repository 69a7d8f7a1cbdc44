//! The exact text that a person has typed since their composer was empty, as long as that is certain.
//!
//! Characters, pastes, Ctrl-J and the backspace behind a plain character are certain. Whatever else is pressed, such as arrows, Tab or
//! Ctrl-U, may have fetched, completed or removed anything: from then on nothing is certain until the composer is empty again.

/// More is not kept.
const LIMIT: usize = 16 * 1024;

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Typed {
    text: Vec<u8>,
    doubtful: bool,
}

impl Typed {
    /// The text, if it is certain.
    pub(crate) fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.text).ok().filter(|_| !self.doubtful)
    }

    /// The composer is empty.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.doubtful = false;
    }

    /// Something was done to the composer that nobody can repeat.
    pub(crate) fn doubt(&mut self) {
        self.text.clear();
        self.doubtful = true;
    }

    /// A byte of a character, or of a paste, in which many terminals send a carriage return for a line end.
    pub(crate) fn push(&mut self, byte: u8) {
        let is_text = byte >= 0x20 && byte != 0x7f || matches!(byte, b'\n' | b'\t' | b'\r');
        if !is_text || self.text.len() >= LIMIT {
            return self.doubt();
        }
        if !self.doubtful {
            self.text.push(if byte == b'\r' { b'\n' } else { byte });
        }
    }

    /// Backspace. What it removes of anything but a plain character differs from agent to agent.
    pub(crate) fn backspace(&mut self) {
        match self.text.last() {
            Some(0x20..=0x7e) => drop(self.text.pop()),
            Some(_) => self.doubt(),
            None => {}
        }
    }
}
