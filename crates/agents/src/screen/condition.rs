//! What a rule asks of a row: a text or a pattern, where it stands and how it is painted.

use std::fmt;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;
use serde::de::{self, Deserializer};

use super::row::Row;
use super::style::{Hue, Ink, Style};

/// Holds if some row of a region has the pattern, in one of the columns and painted so.
///
/// Column and paint are those of the first character of the match, or of the group named `at` where the pattern has
/// one. They are what tells a program's own words from words that it quotes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What the row has to contain.
    regex: Pattern,
    /// The first and the last column where it may begin.
    #[serde(default)]
    columns: Option<(usize, usize)>,
    #[serde(default)]
    paint: Paint,
}

/// How a cell has to be painted. What is not said does not matter.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paint {
    /// The families of colours that will do.
    #[serde(default)]
    fg: Vec<Hue>,
    #[serde(default)]
    bg: Vec<Hue>,
    #[serde(default)]
    bold: Option<bool>,
    #[serde(default)]
    dim: Option<bool>,
    #[serde(default)]
    italic: Option<bool>,
    #[serde(default)]
    reverse: Option<bool>,
    /// The paint is what tells, so that nothing is told where the screen has no such paint.
    #[serde(default)]
    needed: bool,
}

/// A regular expression of a manifest. It is checked when the manifest is read and compiled when it is first needed: a
/// compiled one takes tens of kilobytes, and most rules are of agents that this machine does not run.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

/// Where a condition held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit<'a> {
    /// The row's place in its region.
    pub(super) row: usize,
    /// What the pattern matched.
    pub(super) text: &'a str,
    /// The column of the character that was looked at.
    pub(super) column: usize,
}

impl Condition {
    /// The first row that meets the condition.
    pub(super) fn find<'a>(&self, rows: &[&'a Row]) -> Option<Hit<'a>> {
        rows.iter().enumerate().find_map(|(place, row)| self.hit(place, row))
    }

    /// The last row that meets the condition.
    pub(super) fn find_last<'a>(&self, rows: &[&'a Row]) -> Option<Hit<'a>> {
        rows.iter().enumerate().rev().find_map(|(place, row)| self.hit(place, row))
    }

    pub(super) fn holds(&self, row: &Row) -> bool {
        self.hit(0, row).is_some()
    }

    fn hit<'a>(&self, place: usize, row: &'a Row) -> Option<Hit<'a>> {
        self.regex.compiled()?.captures_iter(row.text()).find_map(|captures| {
            let whole = captures.get(0)?;
            let cell = row.cell_of_byte(captures.name("at").unwrap_or(whole).start())?;
            let in_place = self.columns.is_none_or(|(first, last)| (first..=last).contains(&cell.column));
            (in_place && self.paint.suits_in(row.ink(), cell.style)).then(|| Hit {
                row: place,
                text: whole.as_str().trim(),
                column: cell.column,
            })
        })
    }
}

impl Paint {
    /// Whether a cell is painted so, as far as the screen it is on is painted at all.
    pub(super) fn suits_in(&self, ink: Ink, style: Style) -> bool {
        if self.needed || ink == Ink::Colours {
            return self.suits(style);
        }
        let colourless = Self { fg: Vec::new(), bg: Vec::new(), ..self.clone() };
        match ink {
            Ink::Plain => Self { bold: None, dim: None, italic: None, ..colourless }.suits(style),
            Ink::Colours | Ink::Weights => colourless.suits(style),
        }
    }

    pub(super) fn suits(&self, style: Style) -> bool {
        let one_of =
            |hues: &[Hue], colour: super::style::Colour| hues.is_empty() || hues.iter().any(|hue| colour.is(*hue));
        let agrees = |wanted: Option<bool>, is: bool| wanted.is_none_or(|wanted| wanted == is);
        one_of(&self.fg, style.fg)
            && one_of(&self.bg, style.bg)
            && agrees(self.bold, style.bold)
            && agrees(self.dim, style.dim)
            && agrees(self.italic, style.italic)
            && agrees(self.reverse, style.reverse)
    }
}

impl Pattern {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    /// The text of the group named `subject`, or of the whole match, somewhere in a text of several lines.
    pub(super) fn subject<'a>(&self, text: &'a str) -> Option<&'a str> {
        let captures = self.compiled()?.captures(text)?;
        captures.name("subject").or_else(|| captures.get(0)).map(|found| found.as_str().trim())
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.compiled().is_some_and(|regex| regex.is_match(text))
    }

    /// None for the rare one that is well written and too large.
    fn compiled(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(&self.text).ok()).as_ref()
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // The last line of the complaint says what is wrong; the lines before it draw the pattern again.
        let complaint = |error: &regex_syntax::Error| error.to_string().lines().last().unwrap_or_default().to_owned();
        match regex_syntax::parse(&text) {
            Ok(_) => Ok(Self { text, compiled: OnceLock::new() }),
            Err(error) => Err(de::Error::custom(complaint(&error))),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.regex)?;
        if let Some((first, last)) = self.columns {
            write!(f, " at column {first} to {last}")?;
        }
        write!(f, "{}", self.paint)
    }
}

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hues =
            |hues: &[Hue]| hues.iter().map(|hue| format!("{hue:?}").to_lowercase()).collect::<Vec<_>>().join("|");
        if !self.fg.is_empty() {
            write!(f, " fg={}", hues(&self.fg))?;
        }
        if !self.bg.is_empty() {
            write!(f, " bg={}", hues(&self.bg))?;
        }
        if self.needed {
            write!(f, " needed")?;
        }
        let flags = [("bold", self.bold), ("dim", self.dim), ("italic", self.italic), ("reverse", self.reverse)];
        for (name, wanted) in flags {
            match wanted {
                Some(true) => write!(f, " {name}")?,
                Some(false) => write!(f, " not {name}")?,
                None => {}
            }
        }
        Ok(())
    }
}
