//! The parts of a screen that rules look at.

use super::composer::Located;
use super::condition::{Condition, Hit};
use super::context::ScreenContext;
use super::dialog::Shown;
use super::parse::Screen;
use super::row::Row;
use super::rules::{Region, Rule, ScreenRules};
use super::style::{Ink, Style};

/// A screen cut into parts.
pub(super) struct Regions<'a> {
    rows: &'a [Row],
    composer: Option<&'a Located>,
    dialog: Option<&'a Shown>,
    title: Option<Row>,
    options: Vec<Row>,
    /// The last message above the composer, each of its paragraphs as one row.
    message: Vec<Row>,
    /// The last turn above the composer, if its beginning is on the screen.
    turn: Option<&'a [Row]>,
}

impl<'a> Regions<'a> {
    pub(super) fn new(
        screen: &'a Screen,
        context: &ScreenContext,
        composer: Option<&'a Located>,
        dialog: Option<&'a Shown>,
        rules: &ScreenRules,
    ) -> Self {
        let width = context.size.map_or_else(|| screen.painted_width(), |(width, _)| width);
        let above = composer.map_or(&[][..], |located| &screen.rows()[..located.found.top]);
        let options = dialog.map_or(&[][..], |shown| &shown.dialog.options);
        Self {
            rows: screen.rows(),
            composer,
            dialog,
            title: context.title.as_deref().map(plain),
            options: options.iter().map(|option| plain(&option.label)).collect(),
            message: last_message(above, width, rules.message.as_ref()),
            turn: last_beginning(above, rules.sent.as_ref()).map(|first| &above[first..]),
        }
    }

    /// What a rule matched on, if it does. None if its region is not on this screen.
    pub(super) fn matched(&self, rule: &Rule) -> Option<String> {
        if rule.uncoloured && self.rows.iter().any(|row| row.ink() == Ink::Colours) {
            return None;
        }
        let above = || self.rows_of(Region::Above).unwrap_or_default();
        if !rule.above.is_empty() && rule.above.iter().all(|condition| condition.find(&above()).is_none()) {
            return None;
        }
        let rows = self.rows_of(rule.region)?;
        let all: Option<Vec<Hit<'_>>> = rule.all.iter().map(|condition| condition.find(&rows)).collect();
        let all = all?;
        let any = rule.any.iter().find_map(|condition| condition.find(&rows));
        if any.is_none() && !rule.any.is_empty() || rule.not.iter().any(|condition| condition.find(&rows).is_some()) {
            return None;
        }
        Some(all.first().copied().or(any).map_or_else(String::new, |hit| hit.text.to_owned()))
    }

    /// What a rule that matched is about.
    pub(super) fn subject(&self, rule: &Rule) -> Option<String> {
        // The answers say that something is asked; what it is about stands above them.
        let region = if rule.region == Region::Options { Region::Dialog } else { rule.region };
        let lines: Vec<&str> = self.rows_of(region)?.iter().map(|row| row.text().trim_end()).collect();
        let text = lines.join("\n");
        rule.subject.iter().find_map(|pattern| pattern.subject(&text)).map(str::to_owned)
    }

    fn rows_of(&self, region: Region) -> Option<Vec<&Row>> {
        let between = |first: usize, end: usize| self.rows[first..end.max(first)].iter().collect::<Vec<_>>();
        let end = self.rows.len();
        let composer = self.composer.map(|located| &located.found);
        match region {
            // Only what is in the dialog tells what it is; the title and the rest speak of the turn it stopped.
            Region::Screen | Region::Bottom(_) | Region::Title if self.dialog.is_some() => None,
            Region::Screen => Some(between(0, end)),
            Region::Bottom(count) => {
                let painted: Vec<&Row> = self.rows.iter().filter(|row| !row.is_blank()).collect();
                Some(painted[painted.len().saturating_sub(count)..].to_vec())
            }
            // A title outlives its program, and others set one too: it speaks for a screen that is the agent's.
            Region::Title => composer.and(self.title.as_ref()).map(|title| vec![title]),
            Region::Above => composer.map(|found| between(0, found.top)),
            Region::LastLine => {
                composer.map(|_| self.message.iter().rev().find(|row| !row.is_blank()).into_iter().collect())
            }
            Region::LastTurn => self.turn.map(|turn| turn.iter().collect()),
            Region::LastMessage => composer.map(|_| self.message.iter().collect()),
            Region::Prompt => composer.map(|found| between(found.first, found.end)),
            Region::Frame => composer.map(|found| between(found.top, found.bottom)),
            Region::Footer => composer.map(|found| between(found.bottom, end)),
            Region::Dialog => self.dialog.map(|shown| between(shown.first, shown.end)),
            Region::Options => self.dialog.map(|_| self.options.iter().collect()),
        }
    }
}

/// Where the last part of what is above begins, by what its first row is like.
fn last_beginning(above: &[Row], first_row: Option<&Condition>) -> Option<usize> {
    above.iter().rposition(|row| first_row.is_some_and(|first| first.holds(row)))
}

fn last_message(above: &[Row], width: usize, message: Option<&Condition>) -> Vec<Row> {
    let rows = above[last_beginning(above, message).unwrap_or(0)..].iter().map(|row| without_scrollbar(row, width));
    unwrapped(rows.filter(|row| !is_notice(row, width)), width)
}

/// Rows with those that a narrow pane wrapped put together again.
fn unwrapped(rows: impl Iterator<Item = Row>, width: usize) -> Vec<Row> {
    let mut whole: Vec<Row> = Vec::new();
    let mut previous: Option<Row> = None;
    for row in rows {
        let wrapped = previous.as_ref().is_some_and(|before| goes_on(before, &row, width));
        match whole.last_mut().filter(|_| wrapped) {
            Some(last) => *last = last.followed_by(&row),
            None => whole.push(row.clone()),
        }
        previous = Some(row);
    }
    whole
}

/// Whether a row has the words that found no room in the one before it. What begins with a sign of the program's is new.
fn goes_on(before: &Row, row: &Row, width: usize) -> bool {
    const MARGIN: usize = 6;
    let text = row.text().trim_start();
    let is_word = text.starts_with(|c: char| c.is_ascii() || c.is_alphabetic());
    let word = text.split(' ').next().map_or(0, |word| word.chars().count());
    !before.is_blank() && is_word && before.end() + word + MARGIN >= width
}

fn without_scrollbar(row: &Row, width: usize) -> Row {
    let is_bar = row.text().trim_end().ends_with(['┃', '█']) && row.end() + 1 >= width;
    if is_bar && row.indent().is_some_and(|indent| indent + 1 < row.end()) {
        row.slice(0..row.end() - 1)
    } else {
        row.clone()
    }
}

/// Whether a row is a remark of the program at the right edge, between the conversation and the composer.
fn is_notice(row: &Row, width: usize) -> bool {
    const INDENT: usize = 6;
    const MARGIN: usize = 3;
    row.indent().is_some_and(|indent| indent >= INDENT) && row.end() + MARGIN >= width
}

fn plain(text: &str) -> Row {
    let mut row = Row::default();
    for character in text.chars().filter(|character| !character.is_control()) {
        row.push(character, 1, Style::default());
    }
    row
}
