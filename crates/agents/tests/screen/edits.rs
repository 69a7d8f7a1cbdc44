//! Edits of recorded screens: what an agent, a person or a smaller pane may make of them.

use crate::recordings::Recording;

/// The rows of a capture. Each keeps its escape sequences.
pub(crate) fn rows(capture: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(capture).lines().map(str::to_owned).collect()
}

/// The capture of rows.
pub(crate) fn capture(rows: &[String]) -> Vec<u8> {
    rows.iter().flat_map(|row| [row.as_bytes(), b"\n"].concat()).collect()
}

/// Puts rows in front of one and takes as many away at the top, so that what is below keeps its place. What the lost
/// rows said about the rendition of those that follow is kept.
pub(crate) fn scroll_in(recording: &Recording, at: usize, lines: &[String]) -> Vec<u8> {
    let mut rows = rows(&recording.capture);
    let at = at.min(rows.len());
    let lines = &lines[..lines.len().min(at)];
    let lost: String = rows.drain(..lines.len()).map(|row| escapes(&row)).collect();
    let at = at - lines.len();
    for (place, line) in lines.iter().enumerate() {
        rows.insert(at + place, line.clone());
    }
    if let Some(first) = rows.first_mut() {
        first.insert_str(0, &lost);
    }
    capture(&rows)
}

/// One past the last row where a conversation can have lines: above the composer, or above the selected answer.
pub(crate) fn end_of_conversation(recording: &Recording) -> usize {
    let screen = recording.screen();
    let rows = screen.rows();
    let cursor = recording.context.cursor.expect("a cursor").row;
    let rules: Vec<usize> = (0..rows.len()).filter(|row| rows[*row].text().starts_with("──────────")).collect();
    let end = match (recording.agent.as_str(), recording.enter.as_str()) {
        ("gemini", "answer_dialog") => rows.iter().rposition(|row| row.text().contains('●')),
        (_, "answer_dialog") => Some(cursor),
        ("gemini", _) => rules.last().copied(),
        ("claude" | "copilot", _) => rules.iter().rev().nth(1).copied(),
        ("codex", _) => rows.iter().rposition(|row| row.text().starts_with('›')),
        _ => cursor.checked_sub(2),
    };
    end.unwrap_or(cursor)
}

/// Cuts every row after so many columns.
pub(crate) fn crop(recording: &Recording, width: usize) -> Vec<u8> {
    let cut = |row: &String| {
        let mut column = 0;
        let mut kept = String::new();
        let mut characters = row.chars();
        while let Some(character) = characters.next() {
            if character == '\u{1b}' {
                kept.push(character);
                for part in characters.by_ref() {
                    kept.push(part);
                    if part.is_ascii_alphabetic() {
                        break;
                    }
                }
            } else if column < width {
                kept.push(character);
                column += 1;
            }
        }
        kept
    };
    capture(&rows(&recording.capture).iter().map(cut).collect::<Vec<_>>())
}

/// The capture as a program paints it that was told to use no colours.
pub(crate) fn without_colours(capture: &[u8]) -> Vec<u8> {
    repainted(capture, |parameters| {
        let mut numbers = parameters.split(';').peekable();
        let mut kept: Vec<&str> = Vec::new();
        while let Some(number) = numbers.next() {
            match number.parse::<u8>().unwrap_or(0) {
                38 | 48 | 58 => {
                    let parts = if numbers.peek() == Some(&"5") { 2 } else { 4 };
                    numbers.by_ref().take(parts).for_each(drop);
                }
                30..=49 | 90..=107 => {}
                _ => kept.push(number),
            }
        }
        (!kept.is_empty()).then(|| kept.join(";"))
    })
}

/// The capture as text alone.
pub(crate) fn without_paint(capture: &[u8]) -> Vec<u8> {
    repainted(capture, |_| None)
}

/// The capture with each of its renditions replaced.
fn repainted(capture: &[u8], repaint: impl Fn(&str) -> Option<String>) -> Vec<u8> {
    let text = String::from_utf8_lossy(capture);
    let mut parts = text.split("\u{1b}[");
    let mut painted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (parameters, rest) = part.split_once('m').expect("a rendition");
        if let Some(parameters) = repaint(parameters) {
            painted.extend(["\u{1b}[", &parameters, "m"]);
        }
        painted.push_str(rest);
    }
    painted.into_bytes()
}

/// The escape sequences of a row without its text.
fn escapes(row: &str) -> String {
    let mut found = String::new();
    let mut inside = false;
    for character in row.chars() {
        inside |= character == '\u{1b}';
        if inside {
            found.push(character);
        }
        inside &= !character.is_ascii_alphabetic();
    }
    found
}
