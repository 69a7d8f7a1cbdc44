//! A captured screen as a person sees it: every line by itself, and of blanks only what can be seen of them. How a line came about,
//! whether its end was cleared or written over with blanks, depends on when a program drew it and is nothing one can see.

use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Attributes that a blank shows too: underlined, reversed, struck through, overlined.
const SEEN_ON_BLANKS: [&str; 4] = ["4", "7", "9", "53"];

/// How a character is drawn, in the numbers of SGR.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Style {
    attributes: BTreeSet<String>,
    foreground: String,
    background: String,
    underline: String,
}

impl Style {
    /// Takes the numbers of one sequence, as tmux writes them.
    fn take(&mut self, numbers: &str) {
        let mut numbers = numbers.split(';');
        while let Some(number) = numbers.next() {
            match number {
                "" | "0" => *self = Self::default(),
                "39" => self.foreground.clear(),
                "49" => self.background.clear(),
                "59" => self.underline.clear(),
                "38" => self.foreground = colour(number, &mut numbers),
                "48" => self.background = colour(number, &mut numbers),
                "58" => self.underline = colour(number, &mut numbers),
                _ => match number.parse() {
                    Ok(30..=37 | 90..=97) => number.clone_into(&mut self.foreground),
                    Ok(40..=47 | 100..=107) => number.clone_into(&mut self.background),
                    Ok(_) | Err(_) => drop::<bool>(self.attributes.insert(number.to_owned())),
                },
            }
        }
    }

    fn is_seen_on_blanks(&self) -> bool {
        SEEN_ON_BLANKS.iter().any(|attribute| self.attributes.contains(*attribute))
            || self.attributes.iter().any(|attribute| attribute.starts_with("4:"))
    }
}

fn colour<'a>(first: &str, numbers: &mut impl Iterator<Item = &'a str>) -> String {
    let kind = numbers.next().unwrap_or_default();
    let count = if kind == "2" { 3 } else { 1 };
    let rest: Vec<_> = numbers.take(count).collect();
    format!("{first};{kind};{}", rest.join(";"))
}

/// The lines of a capture with colours, each as a person sees it. A style stands as `\e[…m` where it begins.
pub(super) fn seen(captured: &str) -> Vec<String> {
    let mut style = Style::default();
    captured.lines().map(|line| written(&cells(line, &mut style))).collect()
}

/// Every character of a line with its style, which goes on in the next line.
fn cells(line: &str, style: &mut Style) -> Vec<(char, Style)> {
    let mut cells: Vec<(char, Style)> = Vec::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if let Some((numbers, after)) = rest.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m')) {
            style.take(numbers);
            rest = after;
            continue;
        }
        rest = &rest[c.len_utf8()..];
        cells.push((c, if c == ' ' { blank(style, cells.last()) } else { style.clone() }));
    }
    // Of the end of a line that was cleared in a colour, tmux tells sometimes more and sometimes less.
    while cells.last().is_some_and(|(c, style)| *c == ' ' && !style.is_seen_on_blanks()) {
        cells.pop();
    }
    cells
}

/// The style of a blank: that of the character before it, if nobody can tell.
fn blank(style: &Style, before: Option<&(char, Style)>) -> Style {
    if style.is_seen_on_blanks() {
        return style.clone();
    }
    match before {
        Some((_, before)) if before.background == style.background && !before.is_seen_on_blanks() => before.clone(),
        _ => Style { background: style.background.clone(), ..Style::default() },
    }
}

fn written(cells: &[(char, Style)]) -> String {
    let (mut line, mut last) = (String::new(), &Style::default());
    for (c, style) in cells {
        if style != last {
            let Style { attributes, foreground, background, underline } = style;
            let colours = [foreground, background, underline].into_iter().filter(|colour| !colour.is_empty());
            let numbers: Vec<_> = attributes.iter().chain(colours).map(String::as_str).collect();
            let _ = write!(line, "\\e[{}m", numbers.join(";"));
            last = style;
        }
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(*c) }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::seen;

    #[track_caller]
    fn same(one: &str, other: &str) {
        assert_eq!(seen(one), seen(other));
    }

    #[track_caller]
    fn different(one: &str, other: &str) {
        assert_ne!(seen(one), seen(other));
    }

    #[test]
    fn how_a_line_came_about_does_not_matter() {
        same("\u{1b}[38;5;246mcall\n  next", "\u{1b}[38;5;246mcall \u{1b}[39m \n\u{1b}[38;5;246m  next");
        same("\u{1b}[1mone\u{1b}[0m two", "\u{1b}[1mone \u{1b}[0mtwo");
        same("\u{1b}[0;1m\u{1b}[39m\u{1b}[49mone", "\u{1b}[1mone");
    }

    #[test]
    fn what_can_be_seen_does() {
        different("one", "\u{1b}[1mone");
        different("one", " one");
        different("one  two", "one two");
        different("\u{1b}[7m \u{1b}[0m", " ");
        different("a\u{1b}[48;5;8m b", "a b");
        different("a\u{1b}[48;2;1;2;3m b", "a\u{1b}[48;2;1;2;4m b");
        different("\u{1b}[31mone", "\u{1b}[32mone");
        different("\u{1b}[4mone \u{1b}[0mtwo", "\u{1b}[4mone\u{1b}[0m two");
    }
}
