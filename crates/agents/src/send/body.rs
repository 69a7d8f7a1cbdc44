//! A text that can be typed at a terminal program and means nothing but itself.

use thiserror::Error;

/// The longest text, in bytes.
pub const LONGEST: usize = 256 * 1024;

/// A text that may be sent: not empty, not too long, without anything a terminal program obeys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body(String);

/// Why a text is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Objection {
    /// There is nothing in it.
    #[error("there is no text")]
    Empty,
    /// It is longer than [`LONGEST`].
    #[error("the text is {length} bytes long, and at most {LONGEST} are sent")]
    TooLong {
        /// How long.
        length: usize,
    },
    /// A character that a terminal program obeys instead of showing it.
    #[error("the text has the control character U+{:04X} at byte {at}", u32::from(*.character))]
    Control {
        /// Which.
        character: char,
        /// Where.
        at: usize,
    },
    /// A carriage return, which is the Enter key.
    #[error("the text has a carriage return at byte {at}, which is the Enter key")]
    CarriageReturn {
        /// Where.
        at: usize,
    },
    /// The agent runs a text that begins so.
    #[error("the text begins with {sign:?}, and the agent would run it as a command")]
    Command {
        /// With what.
        sign: char,
    },
    /// The agent has a menu open after a text that ends so.
    #[error("the last word begins with {sign:?}, and Enter would pick from the menu that the agent opens for it")]
    Menu {
        /// With what.
        sign: char,
    },
    /// Enter does not submit a text that ends so.
    #[error("the text ends with {sign:?}, and Enter would break the line instead of sending it")]
    Continues {
        /// With what.
        sign: char,
    },
    /// The agent takes keys, not pastes, and a line end is Enter.
    #[error("the text has several lines, and this agent would take each for a prompt of its own")]
    Lines,
}

impl Objection {
    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Empty => "give something to send",
            Self::TooLong { .. } => "write it to a file and tell the agent to read that",
            Self::Control { .. } => "only line ends and tabs may be in it; take the others out",
            Self::CarriageReturn { .. } => "end lines with a line feed alone, for instance by `tr -d '\\r'`",
            Self::Command { .. } => "--raw sends it all the same, to be run",
            Self::Menu { .. } => "put something after it, or send it all the same with --raw",
            Self::Continues { .. } => "put something after it, or send it all the same with --raw",
            Self::Lines => "send one line at a time",
        }
    }
}

impl Body {
    /// Takes a text as it is, but for the line ends that end it: agents cut them off, and `echo` adds one.
    ///
    /// # Errors
    /// Refused if it could do anything else than stand there.
    pub fn new(text: &str) -> Result<Self, Objection> {
        let text = text.trim_end_matches('\n');
        if text.trim().is_empty() {
            return Err(Objection::Empty);
        }
        if text.len() > LONGEST {
            return Err(Objection::TooLong { length: text.len() });
        }
        for (at, character) in text.char_indices() {
            match character {
                '\n' | '\t' => {}
                '\r' => return Err(Objection::CarriageReturn { at }),
                // C0 with ESC, DEL, and C1, which some terminals read as ESC and a letter.
                control if control.is_control() => return Err(Objection::Control { character: control, at }),
                _ => {}
            }
        }
        Ok(Self(text.to_owned()))
    }

    /// The same text and blanks behind it.
    pub(super) fn followed_by(self, blanks: &str) -> Self {
        Self(self.0 + blanks)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_a_terminal_program_obeys_is_refused() {
        for text in
            ["a\u{1b}[201~b", "\u{0}", "a\u{3}", "bs\u{8}", "del\u{7f}", "csi\u{9b}31m", "nel\u{85}x", "bell\u{7}"]
        {
            assert!(matches!(Body::new(text), Err(Objection::Control { .. })), "{text:?}");
        }
        for text in ["a\rb", "a\r\nb", "\ra"] {
            assert!(matches!(Body::new(text), Err(Objection::CarriageReturn { .. })), "{text:?}");
        }
        for text in ["", "\n", " \n\t\n", "\u{3000}"] {
            assert_eq!(Body::new(text), Err(Objection::Empty), "{text:?}");
        }
        assert_eq!(Body::new(&"x".repeat(LONGEST + 1)), Err(Objection::TooLong { length: LONGEST + 1 }));
        assert!(Body::new(&format!("{}\n", "x".repeat(LONGEST))).is_ok());
    }

    proptest! {
        /// Taken as it is, but for its last line ends, or refused; never changed, and never with a control character.
        #[test]
        fn a_text_is_taken_as_it_is_or_refused(text in "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}]){0,40}") {
            match Body::new(&text) {
                Ok(body) => {
                    prop_assert_eq!(body.as_str(), text.trim_end_matches('\n'));
                    prop_assert!(!body.as_str().contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
                }
                Err(Objection::Empty) => prop_assert!(text.trim().is_empty()),
                Err(_) => prop_assert!(text.contains(|c: char| c.is_control() && c != '\n' && c != '\t')),
            }
        }
    }
}
