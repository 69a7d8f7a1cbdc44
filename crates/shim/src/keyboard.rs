//! What a person may be in the middle of, told from the bytes that their terminal sends.
//!
//! Every key counts as part of a draft until Enter has been pressed, whatever it really does: arrows fetch old prompts, a letter
//! may be a command. What terminals send by themselves is no key: reports of focus and mouse, and answers to questions of the
//! program. What is cut off in the middle counts as a key until its end has come.

use crate::typed::Typed;

/// What ends a paste.
pub const PASTE_END: &[u8] = b"\x1b[201~";
const PASTE_BEGIN: &[u8] = b"200";

/// Longer than this, what looks like the answer of a terminal is something that a person typed.
const REPLY_LIMIT: u32 = 4_096;

/// Enter at the end of more than this many bytes in one piece is taken by some programs for a part of a pasted text.
const BURST: usize = 16;

/// So long after the end of a paste an Enter is taken by some programs for a part of it.
pub const PASTE_MS: u64 = 300;

/// Reads the bytes of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keyboard {
    at: At,
    draft: bool,
    keys: u64,
    /// The last key was a backslash, after which Enter is a new line in many composers.
    escaped: bool,
    /// When the last paste ended.
    pasted_at: Option<u64>,
    /// What stands in the composer, as far as the keys tell.
    typed: Typed,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Ground,
    /// After Escape, or the key itself.
    Escape,
    /// In a control sequence, with what is needed of its parameters.
    Sequence(Parameters),
    /// One byte follows.
    Single,
    /// In a string that only terminals send.
    Reply { length: u32, escape: bool },
    /// Between the ends of a paste, with how much of the closing one was seen.
    Paste { matched: usize },
    /// So many bytes of a character are to come.
    Character { left: u8 },
}

/// The beginning of a control sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Parameters {
    bytes: [u8; 3],
    length: u32,
    dollar: bool,
    semicolon: bool,
}

impl Keyboard {
    /// Reads what came in one piece. Gives how many of the bytes are keys.
    pub fn feed(&mut self, piece: &[u8], now: u64) -> u64 {
        let before = self.keys;
        for (index, byte) in piece.iter().enumerate() {
            self.byte(*byte, index, now);
        }
        self.keys - before
    }

    /// For how long from now on an Enter may be taken for a part of the last paste.
    pub fn paste_left(&self, now: u64) -> u64 {
        self.pasted_at.map_or(0, |ended| (ended + PASTE_MS).saturating_sub(now))
    }

    /// The program got the end of the last paste no earlier than now.
    pub fn paste_arrives(&mut self, now: u64) {
        self.pasted_at = self.pasted_at.map(|ended| ended.max(now));
    }

    /// Whether a person may be in the middle of a text.
    pub fn is_draft(&self) -> bool {
        self.draft || self.at != At::Ground
    }

    /// Whether the bytes so far end between two keys, so that others may come in between.
    pub fn is_between_keys(&self) -> bool {
        self.at == At::Ground
    }

    /// Whether the last bytes began a paste that has not ended.
    pub fn is_in_paste(&self) -> bool {
        matches!(self.at, At::Paste { .. })
    }

    /// How many bytes of keys there were.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Nothing came for a while: what looked like the beginning of something longer was a key, such as Escape.
    pub fn settle(&mut self) {
        if !matches!(self.at, At::Ground | At::Paste { .. }) {
            self.at = At::Ground;
            self.typed.doubt();
            self.key(1);
        }
    }

    /// Somebody looked, and what was typed so far is in no composer.
    pub fn seen_empty(&mut self) {
        self.draft = false;
        self.escaped = false;
        self.typed.clear();
    }

    /// A text is in the composer that nobody typed here.
    pub fn seen_text(&mut self) {
        self.draft = true;
        self.typed.doubt();
    }

    /// What the person has typed since the composer was empty, if that is certain.
    pub fn typed(&self) -> Option<&str> {
        self.typed.text().filter(|_| self.is_between_keys())
    }

    fn byte(&mut self, byte: u8, index: usize, now: u64) {
        match &mut self.at {
            At::Ground => self.ground(byte, index, now),
            At::Escape => match byte {
                b'[' => self.at = At::Sequence(Parameters::default()),
                b'O' => self.at = At::Single,
                b']' | b'P' | b'_' | b'^' | b'X' => self.at = At::Reply { length: 0, escape: false },
                // Escape was a key of its own, and another sequence begins.
                0x1b => {
                    self.typed.doubt();
                    self.key(1);
                }
                _ => {
                    self.at = At::Ground;
                    self.typed.doubt();
                    self.key(2);
                }
            },
            At::Single => {
                self.at = At::Ground;
                self.typed.doubt();
                self.key(3);
            }
            At::Sequence(parameters) => match byte {
                0x40..=0x7e => {
                    let parameters = std::mem::take(parameters);
                    self.at = At::Ground;
                    self.sequence(&parameters, byte);
                }
                0x1b => {
                    let length = u64::from(parameters.length);
                    self.at = At::Escape;
                    self.typed.doubt();
                    self.key(2 + length);
                }
                _ => parameters.push(byte),
            },
            At::Reply { length, escape } => {
                *length += 1;
                let over = *length > REPLY_LIMIT;
                match (*escape, byte) {
                    (true, b'\\') | (false, 0x07) => self.at = At::Ground,
                    // Only the end of the string begins with Escape.
                    (true, _) => {
                        let length = u64::from(*length);
                        self.at = At::Ground;
                        self.typed.doubt();
                        self.key(2 + length);
                    }
                    (false, 0x1b) => *escape = true,
                    (false, _) if over => {
                        self.at = At::Ground;
                        self.typed.doubt();
                        self.key(u64::from(REPLY_LIMIT));
                    }
                    (false, _) => {}
                }
            }
            At::Paste { matched } => {
                let before = *matched;
                *matched = match byte {
                    _ if byte == PASTE_END[*matched] => *matched + 1,
                    0x1b => 1,
                    _ => 0,
                };
                match (before, *matched) {
                    (0, 0) => self.typed.push(byte),
                    // It was no end mark after all, and no text holds Escape.
                    (1.., 0 | 1) => self.typed.doubt(),
                    _ => {}
                }
                if *matched == PASTE_END.len() {
                    self.at = At::Ground;
                    self.pasted_at = Some(now);
                }
                self.key(1);
            }
            At::Character { left } => {
                *left -= 1;
                let done = *left == 0;
                if byte & 0xc0 != 0x80 {
                    // The character was cut short by another.
                    self.at = At::Ground;
                    self.typed.doubt();
                    self.ground(byte, index, now);
                } else {
                    self.typed.push(byte);
                    if done {
                        self.at = At::Ground;
                    }
                    self.key(1);
                }
            }
        }
    }

    fn ground(&mut self, byte: u8, index: usize, now: u64) {
        match byte {
            0x1b => self.at = At::Escape,
            b'\r' if !self.escaped && index <= BURST && self.paste_left(now) == 0 => {
                self.draft = false;
                self.typed.clear();
                self.keys += 1;
            }
            _ => {
                match byte {
                    0x7f => self.typed.backspace(),
                    // Whether it submits, breaks the line or completes a word cannot be told.
                    b'\r' | b'\t' => self.typed.doubt(),
                    _ => self.typed.push(byte),
                }
                if let Some(left @ 1..) = more_of_character(byte) {
                    self.at = At::Character { left };
                }
                self.key(1);
                self.escaped = byte == b'\\';
            }
        }
    }

    fn sequence(&mut self, parameters: &Parameters, last: u8) {
        let first = parameters.bytes[0];
        let is_report = match last {
            b'I' | b'O' => parameters.length == 0,
            b'M' | b'm' => first == b'<',
            b'R' => parameters.semicolon,
            b'c' => matches!(first, b'?' | b'>' | b'='),
            b'n' | b't' => parameters.length > 0,
            b'y' => parameters.dollar,
            b'u' => first == b'?',
            _ => false,
        };
        if is_report {
            return;
        }
        if last == b'~' && parameters.length == 3 && parameters.bytes == PASTE_BEGIN {
            self.at = At::Paste { matched: 0 };
        } else {
            self.typed.doubt();
        }
        self.key(3 + u64::from(parameters.length));
    }

    fn key(&mut self, bytes: u64) {
        self.draft = true;
        self.escaped = false;
        self.keys += bytes;
    }
}

impl Parameters {
    fn push(&mut self, byte: u8) {
        if let Some(place) = self.bytes.get_mut(self.length as usize) {
            *place = byte;
        }
        self.length = self.length.saturating_add(1);
        self.dollar |= byte == b'$';
        self.semicolon |= byte == b';';
    }
}

/// How many bytes follow the first one of a character.
fn more_of_character(byte: u8) -> Option<u8> {
    match byte {
        0xc2..=0xdf => Some(1),
        0xe0..=0xef => Some(2),
        0xf0..=0xf4 => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Keyboard, PASTE_MS};

    /// What is known after some pieces that came a while apart.
    fn after(pieces: &[&[u8]]) -> Keyboard {
        let mut keyboard = Keyboard::default();
        for (number, piece) in pieces.iter().enumerate() {
            keyboard.feed(piece, number as u64 * PASTE_MS);
        }
        keyboard
    }

    #[test]
    fn what_was_typed_is_known_while_it_is_certain() {
        let typed = |pieces: &[&[u8]]| after(pieces).typed().map(str::to_owned);
        for (pieces, text) in [
            (&[&b"half a thought"[..]][..], "half a thought"),
            (&[b"one\ntwo", "üé日".as_bytes()], "one\ntwoüé日"),
            (&[b"see ", b"\x1b[200~a\rb\tc\x1b[2", b"01~", b"!"], "see a\nb\tc!"),
            (&[b"halfx\x7f"], "half"),
            (&[b"sent", b"\r", b"next"], "next"),
            (&[b"a\x1b[I\x1b[<0;1;1Mb"], "ab"),
            (&[b"\x1b[A", b"\r", b"again"], "again"),
        ] {
            assert_eq!(typed(pieces).as_deref(), Some(text), "{pieces:?}");
        }
        for pieces in [
            &[&b"half\x1b[D"[..]][..],
            &[b"com\t"],
            &[b"word\x17"],
            &[b"a\x1b"],
            &["é\x7f".as_bytes()],
            &[b"one \\", b"\r", b"two"],
            &[b"\x1b[200~a\x1b[31mb\x1b[201~"],
            &[b"half\x1bb"],
        ] {
            assert_eq!(typed(pieces), None, "{pieces:?}");
        }
        let mut keyboard = after(&[b"half\x1b[D"]);
        keyboard.seen_empty();
        keyboard.feed(b"new", 9_999);
        assert_eq!(keyboard.typed(), Some("new"));
        keyboard.seen_text();
        assert_eq!(keyboard.typed(), None, "somebody else has typed there");
    }

    #[test]
    fn keys_are_a_draft_until_enter() {
        assert!(!Keyboard::default().is_draft());
        for keys in [&b"a"[..], b"\x1b[A", b"\x1bOP", b"\x15", b"\x03", b"\x1b", b"\n", "ü".as_bytes(), b"\x1b\r"] {
            assert!(after(&[keys]).is_draft(), "{keys:?}");
            assert!(!after(&[keys, b"x", b"\r"]).is_draft(), "{keys:?}");
        }
        assert!(after(&[b"\r", b"b"]).is_draft());
    }

    #[test]
    fn what_terminals_say_by_themselves_is_no_key() {
        let reports: [&[u8]; 10] = [
            b"\x1b[I",
            b"\x1b[O",
            b"\x1b[<0;10;20M",
            b"\x1b[<35;10;20m",
            b"\x1b[12;40R",
            b"\x1b[?1;2c",
            b"\x1b[>84;0;0c",
            b"\x1b[?2026;2$y",
            b"\x1b]11;rgb:0000/0000/0000\x1b\\",
            b"\x1bP>|tmux 3.3a\x1b\\",
        ];
        for report in reports {
            assert!(!after(&[report]).is_draft(), "{report:?}");
            for cut in 1..report.len() {
                assert!(!after(&[&report[..cut], &report[cut..]]).is_draft(), "{report:?} cut at {cut}");
                assert!(after(&[&report[..cut]]).is_draft(), "{report:?} cut off at {cut}");
            }
        }
    }

    #[test]
    fn enter_within_a_paste_is_a_part_of_it() {
        let pasted = after(&[b"\x1b[200~one\r", b"two\r\x1b[20", b"1~"]);
        assert!(pasted.is_draft() && pasted.is_between_keys());
        assert!(after(&[b"\x1b[200~one\r"]).is_in_paste());
        assert!(!after(&[b"\x1b[200~one\x1b[201~", b"\r"]).is_draft());
    }

    #[test]
    fn enter_too_soon_after_a_paste_proves_nothing() {
        let pasted = after(&[b"\x1b[200~one\x1b[201~"]);
        for (now, draft) in [(0, true), (PASTE_MS - 1, true), (PASTE_MS, false)] {
            let mut keyboard = pasted.clone();
            keyboard.feed(b"\r", now);
            assert_eq!(keyboard.is_draft(), draft, "{now}");
            keyboard.feed(b"\r", now + PASTE_MS);
            assert!(!keyboard.is_draft(), "{now}");
        }
        let mut late = pasted;
        late.paste_arrives(1_000);
        late.feed(b"\r", 1_000 + PASTE_MS - 1);
        assert!(late.is_draft());
    }

    #[test]
    fn enter_that_may_be_a_new_line_proves_nothing() {
        assert!(after(&[b"one \\", b"\r"]).is_draft());
        assert!(after(&[b"a text that came in one piece\r"]).is_draft());
        assert!(after(&[b"\x1b[13;2u"]).is_draft());
    }

    #[test]
    fn a_key_that_looks_like_a_beginning_is_one_in_time() {
        for keys in [&b"\x1b"[..], b"\x1b[", b"\x1b]", b"\x1bP"] {
            let mut keyboard = after(&[keys]);
            assert!(!keyboard.is_between_keys());
            keyboard.settle();
            assert!(keyboard.is_between_keys() && keyboard.is_draft(), "{keys:?}");
        }
    }

    proptest! {
        /// However the bytes are cut, they mean the same, except where an Enter at the end of a burst is doubted.
        #[test]
        fn pieces_do_not_matter(bytes in bytes_of_terminals(), cuts in proptest::collection::vec(1usize..9, 1..40)) {
            let (mut whole, mut pieces) = (Keyboard::default(), Keyboard::default());
            for piece in bytes.chunks(8) {
                whole.feed(piece, 0);
            }
            let mut rest = &bytes[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() { break; }
                let (piece, more) = rest.split_at((*cut).min(rest.len()));
                pieces.feed(piece, 0);
                rest = more;
            }
            prop_assert_eq!(whole, pieces);
        }

        /// A letter at the end is never overlooked.
        #[test]
        fn a_letter_is_a_draft(bytes in bytes_of_terminals(), letter in b'a'..=b'z') {
            let mut keyboard = Keyboard::default();
            keyboard.feed(&bytes, 0);
            let between = keyboard.is_between_keys();
            keyboard.feed(&[letter], 0);
            prop_assert!(!between || keyboard.is_draft());
        }

        /// Only Enter ends a draft, and none that follows a paste too soon, whatever was pressed in between.
        #[test]
        fn a_draft_ends_by_an_enter_of_its_own(parts in proptest::collection::vec((part(), 0u64..400), 0..40)) {
            let (mut keyboard, mut now, mut pasted_at) = (Keyboard::default(), 0, None);
            for (part, pause) in parts {
                now += pause;
                let (was_draft, was_in_paste) = (keyboard.is_draft(), keyboard.is_in_paste());
                let was_between_keys = keyboard.is_between_keys();
                keyboard.feed(&part, now);
                if was_in_paste && !keyboard.is_in_paste() {
                    pasted_at = Some(now);
                }
                let too_soon = pasted_at.is_some_and(|ended| now - ended < PASTE_MS);
                if was_draft && was_between_keys && !keyboard.is_draft() {
                    prop_assert!(part == b"\r" && !too_soon);
                }
            }
        }
    }

    fn bytes_of_terminals() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(part(), 0..40).prop_map(|parts| parts.concat())
    }

    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            any::<u8>().prop_map(|byte| vec![byte]),
            proptest::sample::select(vec![
                &b"\x1b[I"[..],
                b"\x1b[200~",
                b"\x1b[201~",
                b"\r",
                b"\\",
                b"\x1b]11;rgb:0/0/0\x07",
                b"\x1b[<0;1;1M",
                "é日🦀".as_bytes(),
                b"\x1bOA",
            ])
            .prop_map(<[u8]>::to_vec),
        ]
    }
}
