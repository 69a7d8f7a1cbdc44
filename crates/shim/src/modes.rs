//! Whether the program in the terminal has asked to be told of pastes, told from what it writes.
//!
//! Only that is looked for, and nearly all bytes are passed over at the speed of memory. Escape sequences are read as tmux
//! reads them, since the terminal of an agent is a pane of it.

/// The number of the mode.
const BRACKETED_PASTE: u32 = 2_004;

/// Reads what a program writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    at: At,
    paste: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Ground,
    Escape,
    /// Right after `ESC [`.
    Sequence,
    /// In the parameters after `ESC [ ?`: the number being read, and whether ours was among them.
    Private {
        number: u32,
        ours: bool,
    },
    /// In a control sequence that is about something else.
    Other,
    /// In a device string, which may hold anything for somebody else.
    Device {
        escape: bool,
    },
}

impl Modes {
    /// Reads the next bytes.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some((byte, rest)) = bytes.split_first() {
            let skipped = match self.at {
                At::Ground | At::Device { escape: false } => memchr::memchr(0x1b, bytes),
                _ => Some(0),
            };
            match skipped {
                None => return,
                Some(0) => {
                    self.byte(*byte);
                    bytes = rest;
                }
                Some(skipped) => bytes = &bytes[skipped..],
            }
        }
    }

    /// Whether pastes are to be marked.
    pub fn paste(&self) -> bool {
        self.paste
    }

    fn byte(&mut self, byte: u8) {
        self.at = match (self.at, byte) {
            (At::Device { escape: true }, b'\\') => At::Ground,
            (At::Device { escape }, byte) => At::Device { escape: byte == 0x1b && !escape },
            (_, 0x1b) => At::Escape,
            (_, 0x18 | 0x1a) => At::Ground,
            (At::Ground, _) => At::Ground,
            (At::Escape, b'[') => At::Sequence,
            (At::Escape, b'P') => At::Device { escape: false },
            (At::Escape, b'c') => {
                self.paste = false;
                At::Ground
            }
            (At::Escape, _) => At::Ground,
            (At::Sequence, b'?') => At::Private { number: 0, ours: false },
            (At::Sequence | At::Other, 0x40..=0x7e) => At::Ground,
            (At::Sequence | At::Other, _) => At::Other,
            (At::Private { number, ours }, b'0'..=b'9') => {
                At::Private { number: number.saturating_mul(10).saturating_add(u32::from(byte - b'0')), ours }
            }
            (At::Private { number, ours }, b';') => At::Private { number: 0, ours: ours || number == BRACKETED_PASTE },
            (At::Private { number, ours }, b'h' | b'l') => {
                if ours || number == BRACKETED_PASTE {
                    self.paste = byte == b'h';
                }
                At::Ground
            }
            (At::Private { .. }, 0x40..=0x7e) => At::Ground,
            (At::Private { .. }, _) => At::Other,
        };
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Modes;

    fn paste_after(bytes: &[u8]) -> bool {
        let mut modes = Modes::default();
        modes.feed(bytes);
        modes.paste()
    }

    #[test]
    fn the_mode_is_followed() {
        for (bytes, paste) in [
            (&b"text"[..], false),
            (b"\x1b[?2004h", true),
            (b"a\x1b[?1049;2004;25hb", true),
            (b"\x1b[?2004h\x1b[?2004l", false),
            (b"\x1b[?2004h\x1b[?25l\x1b[?1l", true),
            (b"\x1b[2004h", false),
            (b"\x1b[?12004h", false),
            (b"\x1b[?2004$p", false),
            (b"\x1b[?20\x1b[?2004h", true),
            (b"\x1b[?2004h\x1bc", false),
            // For the terminal around tmux, not for tmux.
            (b"\x1bPtmux;\x1b\x1b[?2004h\x1b\\", false),
            (b"\x1bPtmux;x\x1b\\\x1b[?2004h", true),
        ] {
            assert_eq!(paste_after(bytes), paste, "{:?}", String::from_utf8_lossy(bytes));
        }
    }

    proptest! {
        #[test]
        fn pieces_do_not_matter(parts in proptest::collection::vec(part(), 0..30), size in 1usize..7) {
            let bytes = parts.concat();
            let mut whole = Modes::default();
            whole.feed(&bytes);
            let mut pieces = Modes::default();
            for piece in bytes.chunks(size) {
                pieces.feed(piece);
            }
            prop_assert_eq!(whole, pieces);
        }
    }

    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            proptest::sample::select(vec![
                &b"\x1b[?2004h"[..],
                b"\x1b[?2004l",
                b"\x1b[",
                b"\x1bP",
                b"\x1b\\",
                b"?2004",
                b";",
                b"h",
            ])
            .prop_map(<[u8]>::to_vec),
        ]
    }
}
