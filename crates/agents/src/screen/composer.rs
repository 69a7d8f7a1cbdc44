//! What is in the composer, and what text and Enter would do there.

use serde::Deserialize;

use super::Enter;
use super::condition::{Condition, Paint, Pattern};
use super::context::ScreenContext;
use super::dialog::DialogRules;
use super::frame::{Found, Frame, Mode, Prompt};
use super::parse::Screen;
use super::row::Row;
use super::rules::Meaning;
use super::style::{Colour, Ink};

/// What the rows of a box begin with.
const BOX: [char; 6] = ['╭', '│', '╰', '┌', '└', '┃'];

/// How an agent's composer is found and read: the `[composer]` table of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ComposerRules {
    /// How the input line is set off.
    pub(super) frame: Frame,
    /// The column where a prompt stands.
    #[serde(default)]
    pub(super) column: usize,
    /// The prompts that may stand there. A bar has none.
    #[serde(default)]
    pub(super) prompts: Vec<Prompt>,
    /// What the cursor proves.
    pub(super) cursor: CursorRule,
    /// How text is painted that is a hint and not a person's.
    #[serde(default)]
    ghost: GhostRules,
    /// What Enter does with text while a turn is under way.
    pub(super) busy: BusyEnter,
    /// What it does while the conversation is compacted. Not said: that is not known.
    #[serde(default)]
    compacting: Option<BusyEnter>,
    /// Rows that say that prompts wait for the turn to end.
    #[serde(default)]
    queued: Vec<QueuedRule>,
    /// Inside the frame or below it: typed text is run as a command.
    #[serde(default)]
    shell: Vec<Condition>,
    /// Anywhere on the screen: the keyboard may belong to something else than the composer.
    #[serde(default)]
    pub(super) veto: Vec<Condition>,
    /// How many rows with text may follow the frame, where the cursor does not prove that it is the composer.
    pub(super) rows_below: usize,
}

/// What the terminal's cursor proves about the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CursorRule {
    /// It is in the composer, shown or hidden, whenever the composer has the keyboard.
    Inside,
    /// It is in the composer and shown whenever the composer has the keyboard, and hidden or elsewhere otherwise.
    Shown,
    /// Nothing: the agent leaves it anywhere.
    Unused,
}

/// What Enter does with text while a turn is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BusyEnter {
    /// The text waits for the turn to end.
    Queue,
    /// The text goes into the turn.
    Steer,
}

/// How text is painted that is a hint and not a person's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct GhostRules {
    /// Painted like one of these.
    #[serde(default)]
    paint: Vec<Paint>,
    /// In the colour of the first match of this below the text: agents use one colour for all their hints.
    #[serde(default)]
    like: Option<Condition>,
    /// How many columns after the caret it begins at least, where a person's text begins at the caret.
    #[serde(default)]
    inset: usize,
    /// An empty composer always shows a hint, so one without any holds blanks that a person typed.
    #[serde(default)]
    always: bool,
    /// Hints by their words, for screens where no colour tells.
    #[serde(default)]
    texts: Vec<Pattern>,
    /// A row below that goes when a person types, for screens without colours.
    #[serde(default)]
    beside: Option<Condition>,
}

/// Prompts that wait, above the composer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueuedRule {
    /// A row that says so.
    head: Condition,
    /// Each prompt, in the rows around that one up to the next blank row.
    item: Pattern,
}

/// What is in the composer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Content {
    /// A person's text. Blanks alone are text too.
    pub(super) draft: Option<String>,
    pub(super) ghost: Option<String>,
    /// Nothing is in it, and that is sure.
    pub(super) empty: bool,
}

/// A composer on the screen.
pub(super) struct Located {
    pub(super) found: Found,
    pub(super) mode: Option<Mode>,
    pub(super) content: Content,
    pub(super) queued: usize,
    /// The cursor proves that the keyboard is the composer's.
    is_proved: bool,
}

impl ComposerRules {
    /// Whether the terminal's cursor is where the next character goes.
    pub fn shows_cursor(&self) -> bool {
        self.cursor != CursorRule::Unused
    }

    /// The composer that has the keyboard, if the screen shows one.
    pub(super) fn locate(&self, screen: &Screen, context: &ScreenContext) -> Option<Located> {
        let rows = screen.rows();
        let width = context.size.map_or_else(|| screen.painted_width(), |(width, _)| width);
        let mut found = self.frame.find(rows, width, self.column, &self.prompts)?;
        if self.frame == Frame::Open {
            reach_cursor(&mut found, rows, context);
        }
        if !self.has_cursor(&found, context) {
            return None;
        }
        let is_proved = self.shows_cursor() && context.cursor.is_some();
        self.read(rows, found, context, is_proved)
    }

    /// A composer on the screen that something else has taken the keyboard from.
    pub(super) fn outline(&self, screen: &Screen, context: &ScreenContext) -> Option<Located> {
        let rows = screen.rows();
        let width = context.size.map_or_else(|| screen.painted_width(), |(width, _)| width);
        let found = self.frame.find(rows, width, self.column, &self.prompts)?;
        self.read(rows, found, context, false)
    }

    fn read(&self, rows: &[Row], found: Found, context: &ScreenContext, is_proved: bool) -> Option<Located> {
        let below = || rows[found.bottom..].iter().filter(|row| !row.is_blank());
        // A box below is a dialog, and what is above it is a picture of a composer; unless it is a person's own row.
        let is_box = |row: &Row| row.text().trim_start().starts_with(BOX);
        if !is_proved && (below().count() > self.rows_below || below().any(is_box)) {
            return None;
        }
        let beside: Vec<&Row> = rows[found.top..].iter().collect();
        let shell = self.shell.iter().any(|condition| condition.find(&beside).is_some());
        let content = self.content(rows, &found, context);
        let queued = self.queued(&rows[..found.top]);
        let mode = if shell { Some(Mode::Shell) } else { found.mode };
        Some(Located { mode, content, queued, is_proved, found })
    }

    /// What text and Enter would do, by what is in the composer and what state the agent shows.
    pub(super) fn enter(
        &self,
        located: &Located,
        screen: &Screen,
        dialogs: &DialogRules,
        state: Option<Meaning>,
    ) -> Enter {
        match (located.mode, &located.content) {
            (Some(Mode::Shell), _) => return Enter::RunCommand,
            (_, Content { draft: Some(_), .. }) => return Enter::AppendToDraft,
            (Some(Mode::Prompt), Content { empty: true, .. }) => {}
            _ => return Enter::Unknown,
        }
        let all: Vec<&Row> = screen.rows().iter().collect();
        let vetoed = self.veto.iter().any(|veto| veto.find(&all).is_some());
        if vetoed || !located.is_proved && dialogs.offers(&all[located.found.bottom..]) {
            return Enter::Unknown;
        }
        let waits = |busy: BusyEnter| match busy {
            BusyEnter::Queue => Enter::Queue,
            BusyEnter::Steer => Enter::Steer,
        };
        match state {
            Some(Meaning::Idle | Meaning::Interrupted | Meaning::Error) => Enter::Submit,
            Some(Meaning::Running | Meaning::Retrying) => waits(self.busy),
            // With some agents a prompt that is sent while the conversation is compacted is lost (F60).
            Some(Meaning::Compacting) => self.compacting.map_or(Enter::Unknown, waits),
            _ => Enter::Unknown,
        }
    }

    fn has_cursor(&self, found: &Found, context: &ScreenContext) -> bool {
        let inside = context.cursor.map(|cursor| {
            (found.first..found.end.max(found.first + 1)).contains(&cursor.row) && cursor.column >= found.columns.start
        });
        match self.cursor {
            CursorRule::Unused => true,
            CursorRule::Inside => inside.unwrap_or(true),
            CursorRule::Shown => inside.unwrap_or(false) && context.cursor.is_some_and(|cursor| cursor.visible),
        }
    }

    fn content(&self, rows: &[Row], found: &Found, context: &ScreenContext) -> Content {
        let text: Vec<Row> = rows[found.first..found.end].iter().map(|row| row.slice(found.columns.clone())).collect();
        let cursor = context.cursor.filter(|_| self.cursor != CursorRule::Unused);
        let at_start = cursor.is_none_or(|cursor| (cursor.column, cursor.row) == (found.columns.start, found.first));
        let typed = || {
            let lines: Vec<&str> = text.iter().map(|row| row.text().trim_end()).collect();
            lines.join("\n").trim_end().to_owned()
        };
        if text.iter().all(Row::is_blank) {
            // Blanks that a person typed push the cursor on, or the hint away.
            let empty = at_start && !self.ghost.always;
            return Content { draft: (!empty).then(String::new), ghost: None, empty };
        }
        let below = &rows[found.end..];
        // The rows below can be hidden; then those above have hints in the same colour.
        let hint = self.ghost.hint(below).or_else(|| self.ghost.hint(&rows[found.top..found.first]));
        if at_start && (self.ghost.covers(&text, hint) || self.ghost.stands_off(&text, below, hint)) {
            return Content { draft: None, ghost: Some(typed().trim().to_owned()), empty: true };
        }
        // Without paint a hint and a text whose beginning the cursor is on look alike.
        let is_unpainted = rows.iter().all(|row| row.ink() == Ink::Plain);
        if is_unpainted && cursor.is_some() && at_start {
            let empty = self.ghost.is_known(&text, below);
            return Content { draft: None, ghost: empty.then(|| typed().trim().to_owned()), empty };
        }
        Content { draft: Some(typed()), ghost: None, empty: false }
    }

    fn queued(&self, above: &[Row]) -> usize {
        const NEAR: usize = 24;
        let near: Vec<&Row> = above[above.len().saturating_sub(NEAR)..].iter().collect();
        let count = |rule: &QueuedRule| {
            let Some(head) = rule.head.find_last(&near) else {
                return 0;
            };
            let before = near[..head.row].iter().rev().take_while(|row| !row.is_blank());
            let after = near[head.row..].iter().take_while(|row| !row.is_blank());
            before.chain(after).filter(|row| rule.item.matches(row.text())).count().max(1)
        };
        self.queued.iter().map(count).sum()
    }
}

/// Without a border below, a blank row inside a person's text looks like its end. The cursor is still in the text.
fn reach_cursor(found: &mut Found, rows: &[Row], context: &ScreenContext) {
    let Some(end) = context.cursor.map(|cursor| cursor.row + 1).filter(|end| (found.end..=rows.len()).contains(end))
    else {
        return;
    };
    let goes_on = |row: &Row| row.indent().is_none_or(|indent| indent >= found.columns.start);
    if rows[found.end..end].iter().all(goes_on) {
        (found.end, found.bottom) = (end, end);
    }
}

impl GhostRules {
    /// The colour of hints, as the rows below the text show it.
    fn hint(&self, below: &[Row]) -> Option<Colour> {
        let below: Vec<&Row> = below.iter().collect();
        let hit = self.like.as_ref()?.find(&below)?;
        below[hit.row].cell(hit.column).map(|(_, cell)| cell.style.fg)
    }

    /// Whether the text begins where no typed text does, with the caret before it, or is known where the colour of hints is not.
    fn stands_off(&self, text: &[Row], below: &[Row], hint: Option<Colour>) -> bool {
        let [row] = text else {
            return false;
        };
        let caret = row.cell(0).is_some_and(|(text, cell)| text.trim().is_empty() && cell.style.reverse);
        let has_hint = hint.is_some_and(|hint| hint != Colour::Default);
        let stands_off = self.inset > 0 && row.indent() == Some(self.inset);
        let has_lost_colour = self.like.is_some() && hint.is_none() && self.inset == 0;
        stands_off && caret && !has_hint || (stands_off || has_lost_colour) && self.is_known(text, below)
    }

    /// Whether the text is known for a hint by its words, or by what stands below only while nothing is typed.
    fn is_known(&self, text: &[Row], below: &[Row]) -> bool {
        let first = text.first().map_or("", |row| row.text().trim());
        let below: Vec<&Row> = below.iter().collect();
        self.texts.iter().any(|known| known.matches(first))
            || self.beside.as_ref().is_some_and(|beside| beside.find(&below).is_some())
    }

    /// Whether the text is a hint. The cell below a caret is painted as the caret is, so the first one may differ.
    fn covers(&self, text: &[Row], hint: Option<Colour>) -> bool {
        let faint = |style: super::style::Style| {
            self.paint.iter().any(|paint| paint.suits(style))
                || hint.is_some_and(|hint| hint != Colour::Default && hint == style.fg)
        };
        let inset = text.first().and_then(Row::indent).unwrap_or(0);
        let cells: Vec<_> = text
            .iter()
            .enumerate()
            .flat_map(|(row, text)| text.cells().map(move |(text, cell)| (row, text, cell)))
            .filter(|(_, text, _)| !text.trim().is_empty())
            .collect();
        let is_caret = |row: usize, column: usize, reverse: bool| row == 0 && column == 0 && reverse;
        let others = || cells.iter().filter(|(row, _, cell)| !is_caret(*row, cell.column, cell.style.reverse));
        inset >= self.inset && others().count() > 0 && others().all(|(_, _, cell)| faint(cell.style))
    }
}
