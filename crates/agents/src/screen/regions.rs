//! The parts of a screen that rules look at.

use super::composer::Located;
use super::condition::{Condition, Hit};
use super::context::ScreenContext;
use super::dialog::Shown;
use super::parse::Screen;
use super::row::Row;
use super::rules::{Region, Rule};
use super::style::Style;

/// A screen cut into parts.
pub(super) struct Regions<'a> {
    rows: &'a [Row],
    width: usize,
    composer: Option<&'a Located>,
    dialog: Option<&'a Shown>,
    title: Option<Row>,
    options: Vec<Row>,
}

impl<'a> Regions<'a> {
    pub(super) fn new(
        screen: &'a Screen,
        context: &ScreenContext,
        composer: Option<&'a Located>,
        dialog: Option<&'a Shown>,
    ) -> Self {
        let options = dialog.map_or(&[][..], |shown| &shown.dialog.options);
        Self {
            rows: screen.rows(),
            width: context.size.map_or_else(|| screen.painted_width(), |(width, _)| width),
            composer,
            dialog,
            title: context.title.as_deref().map(plain),
            options: options.iter().map(|option| plain(&option.label)).collect(),
        }
    }

    /// What a rule matched on, if it does. None if its region is not on this screen.
    pub(super) fn matched(&self, rule: &Rule, message: Option<&Condition>) -> Option<String> {
        let rows = self.rows_of(rule.region, message)?;
        let all: Option<Vec<Hit<'_>>> = rule.all.iter().map(|condition| condition.find(&rows)).collect();
        let all = all?;
        let any = rule.any.iter().find_map(|condition| condition.find(&rows));
        if any.is_none() && !rule.any.is_empty() || rule.not.iter().any(|condition| condition.find(&rows).is_some()) {
            return None;
        }
        Some(all.first().copied().or(any).map_or_else(String::new, |hit| hit.text.to_owned()))
    }

    /// What a rule that matched is about.
    pub(super) fn subject(&self, rule: &Rule, message: Option<&Condition>) -> Option<String> {
        // The answers say that something is asked; what it is about stands above them.
        let region = if rule.region == Region::Options { Region::Dialog } else { rule.region };
        let lines: Vec<&str> = self.rows_of(region, message)?.iter().map(|row| row.text().trim_end()).collect();
        let text = lines.join("\n");
        rule.subject.iter().find_map(|pattern| pattern.subject(&text)).map(str::to_owned)
    }

    fn rows_of(&self, region: Region, message: Option<&Condition>) -> Option<Vec<&Row>> {
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
            Region::LastLine => composer.map(|found| self.last_line(found.top).into_iter().collect()),
            Region::LastMessage => composer.map(|found| self.last_message(found.top, message)),
            Region::Prompt => composer.map(|found| between(found.first, found.end)),
            Region::Frame => composer.map(|found| between(found.top, found.bottom)),
            Region::Footer => composer.map(|found| between(found.bottom, end)),
            Region::Dialog => self.dialog.map(|shown| between(shown.first, shown.end)),
            Region::Options => self.dialog.map(|_| self.options.iter().collect()),
        }
    }

    fn last_line(&self, top: usize) -> Option<&Row> {
        self.rows[..top].iter().rev().find(|row| !row.is_blank() && !self.is_notice(row))
    }

    fn last_message(&self, top: usize, message: Option<&Condition>) -> Vec<&Row> {
        let begins = |row: &Row| message.is_some_and(|message| message.holds(row));
        let first = self.rows[..top].iter().rposition(begins).unwrap_or(0);
        self.rows[first..top].iter().filter(|row| !self.is_notice(row)).collect()
    }

    /// Whether a row is a remark of the program at the right edge, between the conversation and the composer.
    fn is_notice(&self, row: &Row) -> bool {
        const INDENT: usize = 6;
        const MARGIN: usize = 3;
        row.indent().is_some_and(|indent| indent >= INDENT) && row.end() + MARGIN >= self.width
    }
}

fn plain(text: &str) -> Row {
    let mut row = Row::default();
    for character in text.chars().filter(|character| !character.is_control()) {
        row.push(character, 1, Style::default());
    }
    row
}
