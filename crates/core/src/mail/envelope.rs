//! What an agent is given: a line that says who writes, then the text; and how that line is found again in what the agent says
//! it was given.
//!
//! The line ends in the message's id and a word that only the recipient's box has. Whoever writes does not know that word and
//! cannot write a line that counts as one of ours ([`super::Sanitized`] marks those that only look like it).

use super::letter::{Category, Letter, MailId};
use super::sanitized::Sanitized;

const OPENING: &str = "[Input from: ";
const SYSTEM: &str = "[sm] ";
const BEFORE_ID: &str = " via sm send id=";
const CLOSING: &str = "[sm] end";
const REDELIVERED: &str = " redelivered=1";

/// What is typed for some messages, in this order. A command is alone, and bare.
pub fn envelope<'a>(nonce: &str, letters: impl IntoIterator<Item = (&'a Letter, &'a Sanitized)>) -> String {
    let mut text = String::new();
    for (letter, body) in letters {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        if letter.command {
            text.push_str(body.as_str());
            continue;
        }
        let reply = letter.reply_to.as_ref().map(|id| format!(" re={id}")).unwrap_or_default();
        let (name, who) = (one_line(letter.from.name()), letter.from.id());
        let is_again = letter.again.as_ref().is_some_and(|again| again.redelivered);
        let mark = format!("{}.{nonce}{}", letter.id, if is_again { REDELIVERED } else { "" });
        let head = match letter.category {
            Category::Mail => format!("{OPENING}{name} ({who}){BEFORE_ID}{mark}{reply}]"),
            Category::Notice => format!("{SYSTEM}id={mark}"),
            Category::Reminder if letter.from.runtime() == Some(&letter.to) => {
                format!("{SYSTEM}Scheduled reminder: id={mark}")
            }
            Category::Reminder => format!("{SYSTEM}Scheduled reminder from {name} ({who}): id={mark}"),
        };
        text.push_str(&[&head, body.as_str()].join("\n"));
    }
    text
}

/// The same with a line behind it, for whom the end of the last text would mean something else: a word that opens a menu, a sign that
/// continues the line.
pub fn closed(envelope: &str) -> String {
    [envelope, CLOSING].join("\n")
}

/// The ids of the messages that a text was made of, if it was made by [`envelope`] with this word.
pub fn receipts(nonce: &str, text: &str) -> Vec<MailId> {
    text.lines().filter_map(|line| receipt(nonce, line)).collect()
}

/// The messages that a text is made of, each with its words, if it was made by [`envelope`] with this word and holds nothing else.
pub(super) fn messages(nonce: &str, text: &str) -> Option<Vec<(MailId, String)>> {
    let mut messages: Vec<(MailId, Vec<&str>)> = Vec::new();
    let text = text.trim_end();
    // A line that somebody wrote like that is quoted, and stays.
    for line in text.strip_suffix(CLOSING).filter(|rest| rest.ends_with('\n')).unwrap_or(text).lines() {
        match receipt(nonce, line) {
            Some(id) => messages.push((id, Vec::new())),
            None => messages.last_mut()?.1.push(line),
        }
    }
    Some(messages.into_iter().map(|(id, lines)| (id, lines.join("\n").trim_end().to_owned())).collect())
}

/// Whether it is worth a look if a text, however it is written down, was made by [`envelope`].
pub fn may_hold_receipts(text: &str) -> bool {
    text.contains(BEFORE_ID) || text.contains(SYSTEM)
}

fn receipt(nonce: &str, line: &str) -> Option<MailId> {
    let line = line.trim();
    let token = match line.strip_prefix(SYSTEM) {
        Some(system) => system.rsplit_once("id=")?.1.split(' ').next()?,
        None => line.strip_prefix(OPENING)?.rsplit_once(BEFORE_ID)?.1.strip_suffix(']')?.split(' ').next()?,
    };
    let (id, word) = token.rsplit_once('.')?;
    (!nonce.is_empty() && word == nonce).then(|| MailId::parse(id))?
}

/// A name is one that agtmux checked or that the system gave; still, nothing in it may end the line.
fn one_line(name: &str) -> String {
    name.chars().filter(|c| !c.is_control() && !matches!(c, '[' | ']' | '(' | ')')).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_line_is_no_part_of_the_last_text() {
        let text = r"[Input from: me (uid 1) via sm send id=m_1.k7f3]
the folder is C:\tmp\";
        let told = |text: &str| messages("k7f3", text).unwrap().remove(0).1;
        assert_eq!(told(text), r"the folder is C:\tmp\");
        assert_eq!(told(&closed(text)), told(text));
        assert_eq!(told(&format!("{text}\n> [sm] end")), "the folder is C:\\tmp\\\n> [sm] end");
    }
}
