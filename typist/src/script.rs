//! How a person types a line: keys, slips that are mended, pastes, bytes of one character that come apart. The net result is
//! the line, whatever the way; only what else is put into the same input can change it.

use std::time::Duration;

use fastrand::Rng;

/// Bytes that a keyboard sends at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stroke {
    /// The pause before.
    pub after: Duration,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether it is the rest of a character or a paste, before which nobody can do anything else.
    pub rest: bool,
    /// Whether the person looks first that all typed so far is on the screen.
    pub look: bool,
}

const LEFT: &[u8] = b"\x1b[D";
const RIGHT: &[u8] = b"\x1b[C";
const BACKSPACE: &[u8] = b"\x7f";

/// All strokes for a line, Enter included.
#[must_use]
pub fn strokes(random: &mut Rng, text: &str) -> Vec<Stroke> {
    let mut fingers = Fingers { random, strokes: Vec::new(), pasted: false };
    let chars: Vec<char> = text.chars().collect();
    let mut rest = chars.as_slice();
    while !rest.is_empty() {
        let count = fingers.random.usize(1..=12).min(rest.len());
        let (piece, after) = rest.split_at(count);
        match fingers.random.u32(..16) {
            0 => fingers.burst(piece),
            1 => fingers.paste(piece),
            2 => fingers.slip(piece),
            3 => fingers.forget(piece),
            _ => piece.iter().for_each(|char| fingers.key(*char)),
        }
        rest = after;
    }
    fingers.press(Duration::from_millis(200), b"\r");
    if let Some(enter) = fingers.strokes.last_mut() {
        // Agents take an Enter for a part of a paste if it comes too soon; a person waits until the paste is there.
        enter.look = fingers.pasted;
    }
    fingers.strokes
}

struct Fingers<'a> {
    random: &'a mut Rng,
    strokes: Vec<Stroke>,
    pasted: bool,
}

impl Fingers<'_> {
    fn press(&mut self, after: Duration, bytes: &[u8]) {
        self.strokes.push(Stroke { after, bytes: bytes.to_vec(), rest: false, look: false });
    }

    fn press_rest(&mut self, after: Duration, bytes: &[u8]) {
        self.strokes.push(Stroke { after, bytes: bytes.to_vec(), rest: true, look: false });
    }

    /// 30 to 180 ms between two keys, and a thought now and then.
    fn pause(&mut self) -> Duration {
        let thought = if self.random.u32(..40) == 0 { 600 } else { 0 };
        Duration::from_millis(30 + self.random.u64(..150) + thought)
    }

    /// One character. Those of an input method come in several reads now and then.
    fn key(&mut self, char: char) {
        let after = self.pause();
        let mut buffer = [0; 4];
        let bytes = char.encode_utf8(&mut buffer).as_bytes().to_vec();
        if bytes.len() > 1 && self.random.bool() {
            let (first, second) = bytes.split_at(self.random.usize(1..bytes.len()));
            self.press(after, first);
            let apart = Duration::from_millis(self.random.u64(..15));
            self.press_rest(apart, second);
        } else {
            self.press(after, &bytes);
        }
    }

    /// Several characters in one read, as from a fast hand or a slow line.
    fn burst(&mut self, piece: &[char]) {
        let after = self.pause();
        self.press(after, String::from_iter(piece).as_bytes());
    }

    /// As a terminal sends a paste, perhaps in two reads.
    fn paste(&mut self, piece: &[char]) {
        self.pasted = true;
        let after = self.pause();
        let text = String::from_iter(piece).replace('\n', "\r");
        let bytes = format!("\x1b[200~{text}\x1b[201~").into_bytes();
        // Not within the marks: a terminal takes a lone ESC for a key if the rest of it is late.
        let cut = b"\x1b[200~".len() + self.random.usize(..=text.len());
        self.press(after, &bytes[..cut]);
        let apart = Duration::from_millis(self.random.u64(..20));
        self.press_rest(apart, &bytes[cut..]);
    }

    /// Wrong keys, noticed, taken back, and then the right ones.
    fn slip(&mut self, piece: &[char]) {
        let wrong = self.random.usize(1..4);
        for _ in 0..wrong {
            let key = self.random.lowercase();
            self.key(key);
        }
        for _ in 0..wrong {
            let after = self.pause();
            self.press(after, BACKSPACE);
        }
        piece.iter().for_each(|char| self.key(*char));
    }

    /// A character left out; the caret goes back for it.
    fn forget(&mut self, piece: &[char]) {
        let missing = self.random.usize(..piece.len());
        let (before, from) = piece.split_at(missing);
        let (forgotten, after) = from.split_at(1);
        before.iter().chain(after).for_each(|char| self.key(*char));
        for _ in after {
            let pause = self.pause();
            self.press(pause, LEFT);
        }
        self.key(forgotten[0]);
        // Not by End: that of a text with several lines is the end of a line.
        for _ in after {
            let pause = self.pause();
            self.press(pause, RIGHT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body;
    use crate::composer::{Composer, Key};
    use fastrand::Rng;
    use proptest::{prop_assert_eq, proptest};

    proptest! {
        /// The oracle rests on it: typed alone, every line arrives as it is.
        #[test]
        fn the_net_result_is_the_line(seed: u64) {
            let mut random = Rng::with_seed(seed);
            let line = body::line(&mut random, 7);
            let strokes = strokes(&mut random, &line);
            let mut composer = Composer::default();
            let keys: Vec<Key> = strokes.iter().flat_map(|s| &s.bytes).filter_map(|byte| composer.feed(*byte)).collect();
            prop_assert_eq!(composer.text(), line);
            prop_assert_eq!(keys.iter().filter(|key| **key == Key::Enter).count(), 1);
            prop_assert_eq!(keys.last(), Some(&Key::Enter));
        }
    }
}
