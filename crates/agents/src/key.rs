//! A key, as tmux calls it, and the bytes that a terminal sends for it.

use serde::Deserialize;
use serde::de::{self, Deserializer};

/// The name of a key: `Enter`, `Escape`, `C-s`. It goes to tmux, so it is a name and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// The name, if it can be one.
    pub fn parse(name: &str) -> Option<Self> {
        let is_name = !name.is_empty() && !name.starts_with('-');
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        (is_name && is_plain).then(|| Self(name.to_owned()))
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// What a terminal sends for it; nothing for a key whose bytes depend on the terminal.
    pub fn bytes(&self) -> Option<String> {
        let control = |letter: char| char::from(u8::try_from(letter.to_ascii_lowercase()).unwrap_or(b'@') & 0x1f);
        let byte = match self.0.as_str() {
            "Enter" => '\r',
            "Escape" => '\u{1b}',
            "Tab" => '\t',
            name => {
                let mut rest = name.strip_prefix("C-")?.chars();
                let (Some(letter), None) = (rest.next(), rest.next()) else { return None };
                letter.is_ascii_alphabetic().then(|| control(letter))?
            }
        };
        Some(byte.to_string())
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| {
            de::Error::invalid_value(de::Unexpected::Str(&name), &"a key as tmux calls it, such as Enter or C-m")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_name_and_nothing_else() {
        for name in ["", "-l", "Enter ; kill-server", "#{pid}"] {
            assert_eq!(Key::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_key_has_the_bytes_that_a_terminal_sends() {
        let bytes = |name: &str| Key::parse(name).unwrap().bytes();
        assert_eq!(bytes("Escape").as_deref(), Some("\u{1b}"));
        assert_eq!(bytes("C-s").as_deref(), Some("\u{13}"));
        assert_eq!(bytes("C-B").as_deref(), Some("\u{2}"));
        assert_eq!(bytes("Up"), None);
        assert_eq!(bytes("C-Up"), None);
    }
}
