//! Texts that can be told apart and checked: an id in front, words, a checksum at the end.

use fastrand::Rng;
use sha2::{Digest as _, Sha256};

/// Words that people type, with what keyboards and input methods of the world make of them.
const WORDS: &[&str] = &[
    "fix",
    "the",
    "failing",
    "test",
    "please",
    "look",
    "at",
    "src/main.rs",
    "again;",
    "naïve",
    "größer",
    "日本語",
    "入力",
    "тест",
    "—",
    "then",
    "run",
    "it",
    "$HOME",
    "#(date)",
    "`ls`",
    "\\n",
    "\"quoted\"",
    "'single'",
    "%0",
    "🙂",
    "a|b",
    "&&",
    "{brace}",
    "~/.config",
    "ok",
    "what",
    "do",
    "you",
    "think",
    "한글",
];

/// The largest message that is sent.
pub const LARGEST: usize = 256 * 1024;

/// The shortest text that has room for an id and a checksum.
const SHORTEST_WITH_ID: usize = 32;

/// A line that a person types. `number` is unique in its pane.
#[must_use]
pub fn line(random: &mut Rng, number: usize) -> String {
    let count = random.usize(1..8);
    let words: Vec<&str> = (0..count).map(|_| word(random)).collect();
    // Some lines have line breaks in them.
    let between = if random.u32(..6) == 0 { "\n" } else { " " };
    sealed(&format!("U{number:05}"), &words.join(between))
}

/// A message of about this many bytes, never more. Very short ones have no room for an id.
#[must_use]
pub fn message(random: &mut Rng, number: usize, bytes: usize) -> String {
    if bytes < SHORTEST_WITH_ID {
        return std::iter::repeat_with(|| random.alphanumeric()).take(bytes.max(1)).collect();
    }
    let mut words = String::new();
    let room = bytes - SHORTEST_WITH_ID;
    loop {
        let next = word(random);
        let between = if random.u32(..12) == 0 { "\n" } else { " " };
        if words.len() + next.len() + 1 > room {
            break;
        }
        if !words.is_empty() {
            words.push_str(between);
        }
        words.push_str(next);
    }
    sealed(&format!("M{number:05}"), &words)
}

/// How long a message is: most are short, and all sizes up to the largest occur.
#[must_use]
pub fn size(random: &mut Rng) -> usize {
    let largest = match random.u32(..100) {
        0..10 => return random.usize(1..SHORTEST_WITH_ID),
        10..70 => 400,
        70..92 => 6_000,
        92..98 => 40_000,
        _ => LARGEST,
    };
    random.usize(SHORTEST_WITH_ID..=largest)
}

/// The id a text begins with, if it has one.
#[must_use]
pub fn id(text: &str) -> Option<&str> {
    let id = text.get(..6)?;
    let (kind, number) = id.split_at(1);
    (matches!(kind, "U" | "M") && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

/// The checksum a text ends with, if it has one.
#[must_use]
pub fn seal(text: &str) -> Option<&str> {
    id(text).and_then(|_| text.get(text.len().checked_sub(9)?..)).filter(|seal| seal.starts_with('#'))
}

fn sealed(id: &str, words: &str) -> String {
    let text = format!("{id} {words} ");
    let digest = Sha256::digest(text.as_bytes());
    let sum: String = digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    format!("{text}#{sum}")
}

fn word(random: &mut Rng) -> &'static str {
    WORDS[random.usize(..WORDS.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_never_longer_than_asked_and_has_its_id() {
        let mut random = Rng::with_seed(1);
        for number in 0..2_000 {
            let bytes = size(&mut random);
            let text = message(&mut random, number, bytes);
            assert!(!text.is_empty() && text.len() <= bytes, "{} of {bytes}", text.len());
            if bytes >= SHORTEST_WITH_ID {
                assert_eq!(id(&text), Some(format!("M{number:05}").as_str()));
            }
        }
        assert_eq!(message(&mut random, 0, 1).len(), 1);
    }
}
