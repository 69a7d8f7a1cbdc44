//! Text for an agent: what may be typed at it, how it is typed, and how one sees that it is there.
//!
//! A text arrives byte for byte, or it is refused with a reason. Nothing is repaired on the way.

mod body;

use serde::Deserialize;
use serde::de::{self, Deserializer};

pub use body::{Body, LONGEST, Objection};

use crate::screen::Pattern;

/// How text is typed at an agent: the `[send]` table of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SendRules {
    /// How the text is pasted.
    pub paste: Paste,
    /// The key that submits, as tmux calls it.
    #[serde(deserialize_with = "key")]
    pub enter: String,
    /// How long after the paste that key may come. Sooner, some agents take it for a part of the paste (F46, F48).
    pub enter_delay_ms: u64,
    /// What the composer shows in place of a long text.
    pub folds: Vec<Pattern>,
    /// What a text begins with that the agent runs instead of reading it.
    pub commands: Vec<char>,
    /// What is typed behind a command that is to be run. A blank closes the menu that the agent opens for its name, from which Enter
    /// would pick: what is most like it, or whatever the menu has shown by then.
    #[serde(deserialize_with = "blanks")]
    pub command_end: String,
    /// What a word begins with for which the agent opens a menu. Where such a word ends the text, the menu is open when the
    /// text is submitted, and the key picks from it.
    pub menus: Vec<char>,
    /// What a text ends with that makes the key break the line instead of submitting.
    pub continues: Vec<char>,
}

/// How a text is pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paste {
    /// Between the marks of a bracketed paste, so that a line end in it is no Enter.
    #[default]
    Bracketed,
    /// As keys. A text of several lines is refused then.
    Plain,
}

/// How much of a text is in the composer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All of it, or what the agent shows in its place.
    Whole,
    /// A part of it: the composer scrolls, or the rest is not drawn yet.
    Part,
    /// Something else, or something else besides.
    Other,
}

impl Default for SendRules {
    fn default() -> Self {
        Self {
            paste: Paste::Bracketed,
            enter: "Enter".to_owned(),
            enter_delay_ms: 150,
            folds: Vec::new(),
            commands: vec!['/', '!'],
            command_end: " ".to_owned(),
            menus: vec!['@'],
            continues: vec!['\\'],
        }
    }
}

impl SendRules {
    /// Why this agent would not take the text as a prompt. Whoever wants it typed all the same says `raw`.
    pub fn objection(&self, body: &Body) -> Option<Objection> {
        let text = body.as_str();
        let begins = text.trim_start_matches(is_trimmed).chars().next();
        if let Some(sign) = begins.filter(|sign| self.commands.contains(sign)) {
            return Some(Objection::Command { sign });
        }
        let last_word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
        if let Some(sign) = last_word.chars().next().filter(|sign| self.menus.contains(sign)) {
            return Some(Objection::Menu { sign });
        }
        text.chars().next_back().filter(|sign| self.continues.contains(sign)).map(|sign| Objection::Continues { sign })
    }

    /// The text as it is typed to be submitted all the same: a command so that it is run, and no other one.
    pub fn runnable(&self, body: Body) -> Body {
        let is_command = matches!(self.objection(&body), Some(Objection::Command { .. }));
        if is_command && !body.as_str().contains('\n') { body.followed_by(&self.command_end) } else { body }
    }

    /// Why the text cannot be typed at this agent at all.
    pub fn obstacle(&self, body: &Body) -> Option<Objection> {
        (self.paste == Paste::Plain && body.as_str().contains('\n')).then_some(Objection::Lines)
    }

    /// How much of a text a composer shows that was empty before. Blanks, line ends and signs are not compared: a composer wraps
    /// lines and draws tabs and rare signs in its own way.
    pub fn shown(&self, body: &Body, draft: &str) -> Shown {
        if self.folds.iter().any(|fold| fold.matches(draft.trim())) {
            return Shown::Whole;
        }
        let (all, seen) = (letters(body.as_str()), letters(draft));
        match () {
            () if all == seen => Shown::Whole,
            () if !seen.is_empty() && all.contains(&seen) => Shown::Part,
            () => Shown::Other,
        }
    }

    /// Whether a composer shows all of a text itself, and not what the agent shows in its place: that could be anybody's.
    pub fn shows_itself(&self, body: &Body, draft: &str) -> bool {
        let (all, seen) = (letters(body.as_str()), letters(draft));
        !self.folds.iter().any(|fold| fold.matches(draft.trim())) && !all.is_empty() && all == seen
    }

    /// Whether a text in a composer may stand for another one. A fold among other words looks like many things.
    pub fn may_fold(&self, draft: &str) -> bool {
        draft.contains('[') || self.folds.iter().any(|fold| fold.matches(draft.trim()))
    }

    /// Whether a line in a composer is what the agent shows in place of a text that only it knows.
    pub fn is_folded(&self, draft: &str) -> bool {
        draft.lines().any(|line| self.folds.iter().any(|fold| fold.matches(line.trim())))
    }

    /// Whether a composer shows for sure nothing of a text, whatever else it shows. A text that may be folded, or has nothing that is
    /// compared, can be anywhere.
    pub fn is_absent(&self, body: &Body, draft: &str) -> bool {
        let text = letters(body.as_str());
        let is_plain = body.as_str().len() <= PLAIN && !body.as_str().contains('\n');
        is_plain && !text.is_empty() && !letters(draft).contains(&text)
    }
}

/// No agent folds a line of so many bytes.
const PLAIN: usize = 200;

/// What agents cut off the beginning of a prompt. JavaScript counts the byte order mark among blanks, Rust does not.
fn is_trimmed(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200d}' | '\u{2060}')
}

fn letters(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// The name of a key, which goes to tmux.
fn key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if !name.is_empty() && !name.starts_with('-') && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Ok(name);
    }
    Err(de::Error::invalid_value(de::Unexpected::Str(&name), &"a key as tmux calls it, such as Enter or C-m"))
}

/// What can stand behind a command and is no part of it.
fn blanks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let blanks = String::deserialize(deserializer)?;
    if blanks.chars().all(|c| c == ' ') {
        return Ok(blanks);
    }
    Err(de::Error::invalid_value(de::Unexpected::Str(&blanks), &"blanks, or nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objection(text: &str) -> Option<String> {
        SendRules::default().objection(&Body::new(text).unwrap()).map(|objection| objection.to_string())
    }

    #[test]
    fn what_an_agent_would_run_or_pick_or_wait_for_is_said_first() {
        for text in ["/clear", "!rm -rf x", "  /clear", "\n!ls", "\u{feff}/clear", "\u{a0}!ls", "\u{200b}/x"] {
            assert!(objection(text).is_some_and(|why| why.contains("would run")), "{text:?}");
        }
        assert!(objection("look at @READ").is_some_and(|why| why.contains("menu")));
        assert!(objection("a line \\").is_some_and(|why| why.contains("break")));
        for text in ["what is 1/2?", "a!", "@README.md says so", "me@example.org", "a \\ b", "-x", "#(x)", ";"] {
            assert_eq!(objection(text), None, "{text:?}");
        }
    }

    /// Behind a blank no menu is open from which Enter would pick `/clear` for `/cle`.
    #[test]
    fn a_command_that_is_to_be_run_closes_its_menu() {
        let runnable = |rules: &SendRules, text: &str| rules.runnable(Body::new(text).unwrap()).as_str().to_owned();
        let rules = SendRules::default();
        assert_eq!(runnable(&rules, "/cle"), "/cle ");
        for text in ["look at @READ", "a line \\", "/two\nlines"] {
            assert_eq!(runnable(&rules, text), text);
        }
        let rules: SendRules = toml::from_str("command_end = ''").unwrap();
        assert_eq!(runnable(&rules, "/compact"), "/compact");
        assert!(toml::from_str::<SendRules>("command_end = 'x'").is_err());
    }

    #[test]
    fn what_stands_for_a_text_is_not_the_text() {
        let rules: SendRules = toml::from_str(r"folds = ['^\[Pasted text #\d+(?: \+\d+ lines)?\]$']").unwrap();
        let body = Body::new("[Input from: a (b) via sm send id=m.k7]\nhello").unwrap();
        assert!(rules.shows_itself(&body, "[Input from: a (b) via sm send\n id=m.k7]\nhello"));
        assert!(!rules.shows_itself(&body, "[Input from: a (b) via sm send id=m.k7]\nhello you"));
        assert!(!rules.shows_itself(&body, "[Pasted text #1 +1 lines]"));
    }

    #[test]
    fn a_composer_shows_all_or_a_part_or_something_else() {
        let rules: SendRules = toml::from_str(r"folds = ['^\[Pasted text #\d+(?: \+\d+ lines)?\]$']").unwrap();
        let body = Body::new("first line\n\tsecond, 你好\nthird").unwrap();
        for (draft, shown) in [
            ("first line\n    second, 你好\nthird", Shown::Whole),
            ("first li\nne second, 你\n好 third", Shown::Whole),
            (" [Pasted text #3 +2 lines] ", Shown::Whole),
            ("[Pasted text #3]", Shown::Whole),
            ("second, 你好\nthird", Shown::Part),
            ("first", Shown::Part),
            ("first line\nsecond, 你好\nthirdx", Shown::Other),
            ("[Pasted text #3 +2 lines] and more", Shown::Other),
            ("", Shown::Other),
            ("somebody's own", Shown::Other),
        ] {
            assert_eq!(rules.shown(&body, draft), shown, "{draft:?}");
        }
        let signs = Body::new("🧪 --").unwrap();
        assert_eq!(rules.shown(&signs, "🧪 --"), Shown::Whole);
        assert_eq!(rules.shown(&signs, "hello"), Shown::Other);
    }

    #[test]
    fn a_key_is_a_name_and_nothing_else() {
        assert!(toml::from_str::<SendRules>("enter = \"C-m\"").is_ok());
        for name in ["", "-l", "Enter ; kill-server", "#{pid}"] {
            assert!(toml::from_str::<SendRules>(&format!("enter = {name:?}")).is_err(), "{name}");
        }
    }
}
