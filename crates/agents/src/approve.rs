//! Keys that answer a request for permission: which dialog it has to be, and which key gives which answer.
//!
//! An answer is chosen by what it says, never by where it stands: their number and order differ from dialog to dialog.

use serde::Deserialize;

use crate::answer::Decision;
use crate::screen::{Dialog, DialogOption, Pattern};

/// How requests for permission are answered by keys: the `[approve]` table of a manifest. Without it nobody presses any.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApproveRules {
    /// What allows it this once. The first that the dialog offers is taken.
    #[serde(default)]
    yes: Vec<AnswerRule>,
    /// What refuses it.
    #[serde(default)]
    no: Vec<AnswerRule>,
}

/// One answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerRule {
    /// What it says.
    option: Pattern,
    /// The key that gives it, as tmux calls it; the one that the dialog shows unless set. Enter gives only the answer that is
    /// selected.
    #[serde(default)]
    press: Option<String>,
}

/// A key and the answer that it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The key, as tmux calls it.
    pub key: String,
    /// What the answer says.
    pub label: String,
}

impl ApproveRules {
    /// The key for an answer to a dialog; none if it does not offer that answer in a way that is known.
    pub fn choice(&self, decision: &Decision, dialog: &Dialog) -> Option<Choice> {
        let rules = match decision {
            Decision::Allow => &self.yes,
            Decision::Deny { .. } => &self.no,
        };
        rules.iter().find_map(|rule| {
            let mut fitting = dialog.options.iter().filter(|option| rule.option.matches(&option.label));
            // An answer that fits twice is not known.
            let (Some(option), None) = (fitting.next(), fitting.next()) else { return None };
            Some(Choice { key: rule.key(option)?, label: option.label.clone() })
        })
    }
}

impl AnswerRule {
    fn key(&self, option: &DialogOption) -> Option<String> {
        match self.press.as_deref() {
            Some("Enter") if !option.selected => None,
            Some(key) => Some(key.to_owned()),
            None => option.key.clone(),
        }
    }
}

/// Whether a dialog is about what somebody was told that it is about. What is shown is wrapped, framed and may name a file
/// by less than its path, so blanks do not count and the end of a path is enough.
pub fn is_about(dialog: &Dialog, subject: &str) -> bool {
    /// Long commands are shown in part.
    const COMPARED: usize = 60;
    let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let what = subject.split_once(": ").map_or(subject, |(_tool, what)| what).trim_end_matches('…');
    let what = if what.contains(char::is_whitespace) { what } else { what.rsplit('/').next().unwrap_or(what) };
    let what: String = squeezed(what).chars().take(COMPARED).collect();
    !what.is_empty() && squeezed(&dialog.rows.concat()).contains(&what)
}

#[cfg(test)]
mod tests {
    use super::{ApproveRules, is_about};
    use crate::answer::Decision;
    use crate::screen::{Dialog, DialogOption};

    fn dialog(options: &[(&str, &str)], rows: &[&str]) -> Dialog {
        let option = |(place, (key, label)): (usize, &(&str, &str))| DialogOption {
            key: Some((*key).to_owned()).filter(|key| !key.is_empty()),
            label: (*label).to_owned(),
            selected: place == 0,
        };
        Dialog {
            title: None,
            options: options.iter().enumerate().map(option).collect(),
            prompt_hash: String::new(),
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
        }
    }

    #[test]
    fn an_answer_is_chosen_by_what_it_says() {
        let rules: ApproveRules = toml::from_str(
            "yes = [{ option = '^Yes$' }, { option = '^Allow', press = 'Enter' }]\nno = [{ option = '^No\\b' }]",
        )
        .expect("rules");
        let chosen = |decision: &Decision, options: &[(&str, &str)]| {
            rules.choice(decision, &dialog(options, &[])).map(|choice| choice.key)
        };
        let deny = Decision::Deny { reason: None };
        let usual = [("1", "Yes"), ("2", "Yes, and always"), ("3", "No")];
        assert_eq!(chosen(&Decision::Allow, &usual).as_deref(), Some("1"));
        assert_eq!(chosen(&deny, &usual).as_deref(), Some("3"));
        let turned = [("1", "No"), ("2", "Yes")];
        assert_eq!(chosen(&Decision::Allow, &turned).as_deref(), Some("2"));
        assert_eq!(chosen(&Decision::Allow, &[("1", "Yes, and always"), ("2", "No")]), None);
        assert_eq!(chosen(&Decision::Allow, &[("", "Allow")]).as_deref(), Some("Enter"));
        assert_eq!(chosen(&Decision::Allow, &[("", "Reject"), ("", "Allow")]), None, "Enter would reject");
        assert_eq!(chosen(&deny, &[("1", "No"), ("2", "No, never")]), None, "which of the two?");
    }

    #[test]
    fn a_dialog_is_about_what_it_shows() {
        let bash = dialog(&[], &["Bash command", "touch a-file-with-a-long", "-name", "Do you want to proceed?"]);
        assert!(is_about(&bash, "Bash: touch a-file-with-a-long-name"));
        assert!(is_about(&bash, "touch a-file-with…"));
        assert!(!is_about(&bash, "Bash: touch another"));
        let write = dialog(&[], &["Create file", "notes.txt"]);
        assert!(is_about(&write, "Write: /w/notes.txt"));
        assert!(!is_about(&write, "Write: /w/"));
        assert!(!is_about(&write, ""));
    }
}
