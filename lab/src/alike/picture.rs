//! Everything that can be told of a pane at one moment, as one text that can be compared line by line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::Result;
use regex::bytes::Regex;

use super::sight::seen;
use crate::terminal::Terminal;

/// What tmux tells of a pane's terminal.
const FACTS: [&str; 21] = [
    "pane_title",
    "pane_width",
    "pane_height",
    "cursor_x",
    "cursor_y",
    "cursor_flag",
    "alternate_on",
    "insert_flag",
    "keypad_flag",
    "keypad_cursor_flag",
    "mouse_any_flag",
    "mouse_all_flag",
    "mouse_button_flag",
    "mouse_standard_flag",
    "mouse_sgr_flag",
    "mouse_utf8_flag",
    "origin_flag",
    "wrap_flag",
    "scroll_region_upper",
    "scroll_region_lower",
    "window_bell_flag",
];

/// What tmux knows of the pane now: the facts, then the screen with its colours.
pub(super) async fn look(terminal: &Terminal) -> Result<String> {
    let told = terminal.picture(&FACTS).await?;
    let mut parts = told.splitn(FACTS.len() + 1, '\n');
    let mut text = String::new();
    for fact in FACTS {
        let _ = writeln!(text, "{fact} {}", parts.next().unwrap_or_default());
    }
    for line in seen(parts.next().unwrap_or_default()) {
        let _ = writeln!(text, "|{line}");
    }
    Ok(text)
}

/// What the program has asked its terminal for, told from all it has written: tmux does not tell of pastes, focus or the kinds of
/// keys, and other terminals understand more than tmux. One line for each, as it stands at the end.
pub(super) fn asked_for(written: &[u8]) -> String {
    let mut modes = BTreeMap::new();
    let mut strings = BTreeSet::new();
    let mut depth = 0_i64;
    for found in sequences().captures_iter(written) {
        let text = |name: &str| found.name(name).map(|part| String::from_utf8_lossy(part.as_bytes()).into_owned());
        if let Some(number) = text("string") {
            strings.insert(number.parse::<u32>().unwrap_or(u32::MAX));
            continue;
        }
        if let Some(keypad) = text("keypad") {
            modes.insert("keypad".to_owned(), keypad);
            continue;
        }
        let (kind, numbers, end) =
            (text("kind").unwrap_or_default(), text("numbers").unwrap_or_default(), text("end").unwrap_or_default());
        match (kind.as_str(), end.as_str()) {
            ("?", "h" | "l") => {
                modes.extend(numbers.split(';').map(|number| (format!("mode {number}"), end.clone())));
            }
            (">", "u") => depth += 1,
            ("<", "u") => depth -= numbers.parse().unwrap_or(1).max(1),
            (">", "m") => drop(modes.insert("modified keys".to_owned(), numbers)),
            ("", " q") => drop(modes.insert("cursor shape".to_owned(), numbers)),
            _ => {}
        }
    }
    modes.insert("kinds of keys, depth".to_owned(), depth.to_string());
    modes.insert("strings of kind".to_owned(), format!("{strings:?}"));
    modes.into_iter().map(|(name, value)| format!("{name} {value}\n")).collect()
}

#[expect(clippy::unwrap_used, reason = "every test of a picture uses it")]
fn sequences() -> Regex {
    Regex::new(
        r"(?-u)\x1b(?:\[(?P<kind>[?<>]?)(?P<numbers>[0-9;]*)(?P<end>[hlum]| q)|\](?P<string>[0-9]+)|(?P<keypad>[=>]))",
    )
    .unwrap()
}

#[cfg(test)]
mod tests {
    use super::asked_for;

    #[test]
    fn the_last_word_on_each_mode_counts() {
        let written = b"\x1b[?2004h\x1b[31mred\x1b[?1049;25h\x1b[>5u\x1b]0;t\x07\x1b[>1u\x1b[?25l\x1b[<u\x1b[2 q\x1b=";
        let expected = "cursor shape 2\nkeypad =\nkinds of keys, depth 1\nmode 1049 h\nmode 2004 h\nmode 25 l\n\
                        strings of kind {0}\n";
        assert_eq!(asked_for(written), expected);
    }
}
