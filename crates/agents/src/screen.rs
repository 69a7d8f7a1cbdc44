//! Reading an agent's screen: what state it shows, what is in the composer, and what Enter would do.
//!
//! A capture of a pane becomes a [`Screen`] of painted cells. The manifest says how to find the composer and the
//! dialogs of the agent and which rules tell its states. [`read`] applies them.
//!
//! Whoever types into a pane acts on [`ComposerView::enter`]. To call a composer safe that is not one can approve a
//! command or run one in a shell, so every doubt ends in [`Enter::Unknown`].

mod composer;
mod condition;
mod context;
mod dialog;
mod frame;
mod parse;
mod regions;
mod row;
mod rules;
mod style;

use std::sync::LazyLock;

use agtmux_core::signal::{Cause, Composer, Signal};
use regex::Regex;

pub use composer::ComposerRules;
pub use condition::{Condition, Paint, Pattern};
pub use context::{Cursor, Foreground, ScreenContext};
pub use dialog::{Dialog, DialogOption, DialogRules};
pub use frame::{Frame, Mode, Prompt};
pub use parse::Screen;
pub(crate) use parse::{line_of, rendition};
pub use row::{Cell, Row};
pub use rules::{Meaning, Region, Rule, ScreenRules};
pub use style::{Colour, Hue, Ink, Style};

use crate::manifest::Manifest;
use crate::reading::Reading;
use composer::{Content, Located};
use dialog::Shown;
use regions::Regions;

/// What a screen says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenReading {
    /// What it means for the agent's state. Empty if the screen is not conclusive.
    pub readings: Vec<Reading>,
    pub composer: ComposerView,
    /// The rules that matched, on what.
    pub matched: Vec<RuleMatch>,
}

/// What the composer shows, and what typing into the pane would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ComposerView {
    /// What text and Enter, sent right now, would do.
    pub enter: Enter,
    /// A person's text in the composer.
    pub draft: Option<String>,
    /// A hint in the composer that is nobody's text.
    pub ghost: Option<String>,
    /// How many prompts wait for the turn to end.
    pub queued: usize,
    /// What is asked in place of the composer.
    pub dialog: Option<Dialog>,
}

/// What text and Enter would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Enter {
    /// Start a turn.
    Submit,
    /// Wait for the turn to end, then start one.
    Queue,
    /// Go into the turn under way.
    Steer,
    /// Be appended to a person's text and sent with it.
    AppendToDraft,
    /// Answer what is asked.
    AnswerDialog,
    /// Be run as a command by the agent.
    RunCommand,
    /// Be run as a command by a shell.
    ReachShell,
    /// Reach nobody.
    Nothing,
    /// Not known. Nothing may be typed.
    #[default]
    Unknown,
}

/// A rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleMatch {
    pub rule: String,
    pub region: Region,
    pub means: Meaning,
    /// What it matched on.
    pub text: String,
}

impl Enter {
    /// The name used in the log, the API and truth files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::AppendToDraft => "append_to_draft",
            Self::AnswerDialog => "answer_dialog",
            Self::RunCommand => "run_command",
            Self::ReachShell => "reach_shell",
            Self::Nothing => "nothing",
            Self::Unknown => "unknown",
        }
    }

    /// Whether text and Enter reach the agent as a prompt of their own.
    pub const fn is_safe(self) -> bool {
        matches!(self, Self::Submit | Self::Queue | Self::Steer)
    }
}

/// Reads a screen by an agent's manifest.
pub fn read(manifest: &Manifest, screen: &Screen, context: &ScreenContext) -> ScreenReading {
    // The last screen of an agent stays when its process is gone; who has the keyboard is known better elsewhere.
    match (context.dead, context.foreground) {
        (true, _) => return ScreenReading::without_agent(Enter::Nothing),
        (false, Some(Foreground::Shell)) => return ScreenReading::without_agent(Enter::ReachShell),
        (false, Some(Foreground::Other)) => return ScreenReading::without_agent(Enter::Unknown),
        (false, Some(Foreground::Agent) | None) => {}
    }
    let composer = manifest.composer.as_ref().and_then(|rules| rules.locate(screen, context));
    let composer = composer.filter(|_| !manifest.dialog.has_cursor(screen.rows(), context));
    let rules = manifest.composer.as_ref().filter(|_| composer.is_none());
    let dialog = rules.and_then(|_| manifest.dialog.locate(screen.rows(), context));
    // What has the keyboard instead need not be a dialog; the rest of the screen speaks all the same.
    let outline = rules.filter(|_| dialog.is_none()).and_then(|rules| rules.outline(screen, context));
    let seen = composer.as_ref().or(outline.as_ref());
    let regions = Regions::new(screen, context, seen, dialog.as_ref(), &manifest.screen);
    let findings = findings(&manifest.screen, &regions, dialog.as_ref());
    let state = findings.iter().map(|finding| finding.found.means).find(|means| means.is_state());
    let enter = match (&manifest.composer, &composer) {
        _ if dialog.as_ref().is_some_and(|shown| shown.is_view) => Enter::Nothing,
        _ if dialog.is_some() => Enter::AnswerDialog,
        (Some(rules), Some(located)) => rules.enter(located, screen, &manifest.dialog, state),
        _ => Enter::Unknown,
    };
    let fact = composer_fact(composer.as_ref(), dialog.is_some());
    let fact = fact.map(|is| Reading::new(Signal::Composer { is }));
    ScreenReading {
        readings: findings.iter().flat_map(|finding| finding.readings.clone()).chain(fact).collect(),
        composer: view(enter, composer, dialog),
        matched: findings.into_iter().map(|finding| finding.found).collect(),
    }
}

impl ScreenReading {
    fn without_agent(enter: Enter) -> Self {
        Self { readings: Vec::new(), composer: ComposerView { enter, ..ComposerView::default() }, matched: Vec::new() }
    }
}

/// A rule that matched, and what it says.
struct Finding {
    found: RuleMatch,
    readings: Vec<Reading>,
}

/// What the rules find: the first that tells a state, and all that tell something beside it.
fn findings(rules: &ScreenRules, regions: &Regions<'_>, dialog: Option<&Shown>) -> Vec<Finding> {
    let prompt_hash = dialog.map(|shown| shown.dialog.prompt_hash.as_str());
    let title = dialog.and_then(|shown| shown.dialog.title.clone());
    let mut findings: Vec<Finding> = Vec::new();
    let mut decided = false;
    for rule in rules.in_order() {
        if decided && rule.means.is_state() {
            continue;
        }
        let Some(text) = regions.matched(rule) else {
            continue;
        };
        decided |= rule.means.is_state();
        let subject = regions.subject(rule).or_else(|| match rule.means {
            Meaning::Dialog | Meaning::WaitingApproval => title.clone(),
            _ => None,
        });
        let found = RuleMatch { rule: rule.id.clone(), region: rule.region, means: rule.means, text };
        findings.push(Finding::new(found, rule.cause, subject, prompt_hash));
    }
    // What takes the composer's place and is not known by name is a dialog all the same.
    if dialog.is_some() && !decided {
        let text = title.clone().unwrap_or_default();
        let found = RuleMatch { rule: "dialog".to_owned(), region: Region::Dialog, means: Meaning::Dialog, text };
        findings.push(Finding::new(found, None, title, prompt_hash));
    }
    findings
}

impl Finding {
    fn new(found: RuleMatch, cause: Option<Cause>, subject: Option<String>, prompt_hash: Option<&str>) -> Self {
        let signals = found.means.signals(cause, subject.as_deref(), prompt_hash);
        let message = if found.means == Meaning::Background { None } else { subject };
        let readings = signals.into_iter().map(|signal| match (&signal, &message) {
            // The words are about what the turn is busy with, and change while it goes on.
            (Signal::TurnStarted, _) | (_, None) => Reading::new(signal),
            (Signal::Working { .. }, Some(message)) => Reading::new(signal).with_message(steady(message)),
            (_, Some(message)) => Reading::new(signal).with_message(message.clone()),
        });
        Self { readings: readings.collect(), found }
    }
}

/// A text without what counts on by itself, such as the seconds until the next attempt.
fn steady(text: &str) -> String {
    static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r" in \d+(?:\.\d+)? ?(?:s|sec|seconds?|m|min|minutes?)\b").expect("a fixed pattern")
    });
    COUNTS.replace_all(text, "").into_owned()
}

fn composer_fact(composer: Option<&Located>, dialog: bool) -> Option<Composer> {
    let Some(located) = composer else {
        return dialog.then_some(Composer::Hidden);
    };
    let content = &located.content;
    match u32::try_from(located.queued) {
        _ if content.draft.is_some() => Some(Composer::Draft),
        Ok(count @ 1..) => Some(Composer::Queued { count }),
        _ if content.ghost.is_some() => Some(Composer::Ghost),
        _ => content.empty.then_some(Composer::Ready),
    }
}

fn view(enter: Enter, composer: Option<Located>, dialog: Option<Shown>) -> ComposerView {
    let dialog = dialog.map(|shown| shown.dialog);
    let Some(located) = composer else {
        return ComposerView { enter, dialog, ..ComposerView::default() };
    };
    let Content { draft, ghost, .. } = located.content;
    ComposerView { enter, draft, ghost, queued: located.queued, dialog }
}
