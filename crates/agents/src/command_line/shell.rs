//! What a shell that is no interactive one runs.

use super::{Opened, Program, is_assignment, rest};

pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// A shell runs a script by name, or one simple command after `-c`. A list of commands is no match: the
/// shell outlives the agent in it, while the agent is a child that is found on its own.
pub(super) fn open_shell(words: &[String]) -> Option<Opened> {
    const VALUE_OPTIONS: &[&str] = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            at += 1;
            break;
        }
        if !(word.starts_with('-') || word.starts_with('+')) {
            break;
        }
        if word.starts_with('-') && !word.starts_with("--") && word.contains('c') {
            return simple_command(words.get(at + 1)?).map(Opened::Command);
        }
        at += if VALUE_OPTIONS.contains(&word.as_str()) { 2 } else { 1 };
    }
    Some(Opened::Program(Program::Script(words.get(at)?.clone()), rest(words, at + 1)))
}

const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "sh", "zsh"];

/// The words of a shell command if it is a single simple one.
fn simple_command(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = text.trim().chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(chars.next()?),
            (None, ';' | '&' | '|' | '(' | ')' | '`' | '\n') => return None,
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let prefix = words.iter().take_while(|word| is_assignment(word) || *word == "exec").count();
    Some(words.split_off(prefix))
}
