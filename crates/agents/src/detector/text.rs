//! Bytes from a stream, made into text that is safe to keep and to show.

use std::borrow::Cow;

/// The text without control characters, and with U+FFFD for what is no UTF-8. Bytes of C1 controls are dropped like
/// the controls: nobody should be able to smuggle an escape sequence into a message.
pub(super) fn clean(bytes: &[u8]) -> Cow<'_, str> {
    // C1 controls begin with C2. So do others, which then are looked at closely too.
    let may_be_control = bytes.iter().fold(false, |any, byte| any | matches!(byte, 0x00..=0x1f | 0x7f | 0xc2));
    if let Ok(text) = std::str::from_utf8(bytes)
        && !may_be_control
    {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        cleaned.extend(chunk.valid().chars().filter(|char| !char.is_control()));
        if !matches!(chunk.invalid(), [] | [0x80..=0x9f]) {
            cleaned.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Cow::Owned(cleaned)
}

/// What agents put beside their text: bullets, and the sides of boxes and scrollbars.
pub(super) const GUTTER: [char; 8] = ['●', '⏺', '•', '✦', '│', '┃', '▌', '\u{a0}'];

/// Whether a character at the edge of a line is no part of its text.
pub(super) fn is_gutter(char: char) -> bool {
    char.is_whitespace() || GUTTER.contains(&char)
}
