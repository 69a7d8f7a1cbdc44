//! Untrusted JSON: fields that may be missing, of the wrong type, or a megabyte long.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Enough of a message for a person to know what it is about.
const MESSAGE: usize = 400;

/// A text field that says something.
pub(crate) fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str().filter(|text| !text.trim().is_empty())
}

/// A text field further inside.
pub(crate) fn text_at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    let (name, parents) = path.split_last()?;
    text(parents.iter().try_fold(value, |inside, name| inside.get(name))?, name)
}

/// A list, empty when there is none.
pub(crate) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Text for a person: trimmed, its lines kept, cut where it is long.
pub(crate) fn message(text: &str) -> String {
    cut(text.trim().chars(), MESSAGE)
}

/// Text on one line, with every run of blanks and control characters made one blank.
pub(crate) fn line(text: &str, limit: usize) -> String {
    let mut blank = false;
    let chars = text.trim().chars().filter_map(|c| {
        let is_blank = c.is_whitespace() || c.is_control();
        let again = is_blank && blank;
        blank = is_blank;
        (!again).then_some(if is_blank { ' ' } else { c })
    });
    cut(chars, limit)
}

fn cut(mut chars: impl Iterator<Item = char>, limit: usize) -> String {
    let mut text: String = chars.by_ref().take(limit).collect();
    if chars.next().is_some() {
        text.pop();
        text.push('…');
    }
    text
}

/// The tool and the part of its input that tells a person what it is about, such as `Bash: touch x`.
pub(crate) fn subject(tool: &str, input: &Value) -> String {
    const TELLING: [&str; 11] = [
        "command",
        "file_path",
        "filePath",
        "notebook_path",
        "path",
        "url",
        "pattern",
        "query",
        "skill",
        "prompt",
        "description",
    ];
    match TELLING.iter().find_map(|name| text(input, name)) {
        Some(what) => line(&format!("{tool}: {}", line(what, 300)), 300),
        None => line(tool, 300),
    }
}

/// The question of a tool that asks some, with the number of those that follow it.
pub(crate) fn question(input: &Value) -> Option<String> {
    let questions = list(input, "questions");
    let first = text(questions.first()?, "question")?;
    Some(match questions.len() {
        1 => message(first),
        more => message(&format!("{first} (and {} more)", more - 1)),
    })
}

/// A hash of a tool and its input that does not depend on the order of keys, so that it is the same in every event that
/// is about this use of the tool. `without` names fields that only some of these events have.
pub(crate) fn hash(tool: &str, input: &Value, without: &[&str]) -> String {
    let mut digest = Sha256::new();
    digest.update(tool.as_bytes());
    feed(&mut digest, input, without);
    digest.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

fn feed(digest: &mut Sha256, value: &Value, without: &[&str]) {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.keys().filter(|name| !without.contains(&name.as_str())).collect();
            names.sort();
            digest.update(b"{");
            for name in names {
                digest.update(name.as_bytes());
                digest.update(b"\0");
                feed(digest, &fields[name], &[]);
            }
            digest.update(b"}");
        }
        Value::Array(items) => {
            digest.update(b"[");
            items.iter().for_each(|item| feed(digest, item, &[]));
            digest.update(b"]");
        }
        scalar => digest.update(format!("{scalar}\0").as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{hash, line, message, question, subject};

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(message(&"é".repeat(1_000_000)).chars().count(), 400);
        assert_eq!(message("  two\nlines \n"), "two\nlines");
        assert_eq!(line(" two\n\t lines\u{1b}[0m ", 80), "two lines [0m");
        assert_eq!(line("abcdef", 3), "ab…");
    }

    #[test]
    fn a_subject_is_the_tool_and_what_it_is_about() {
        assert_eq!(subject("Bash", &json!({"command": "touch x", "description": "d"})), "Bash: touch x");
        assert_eq!(subject("mcp__lab__ask", &json!({})), "mcp__lab__ask");
        assert_eq!(subject("Odd", &json!({"command": 7})), "Odd");
    }

    #[test]
    fn a_hash_is_of_the_content_and_not_of_its_order() {
        let same = [json!({"a": 1, "b": [2, {"c": null}]}), json!({"b": [2, {"c": null}], "a": 1})];
        assert_eq!(hash("Bash", &same[0], &[]), hash("Bash", &same[1], &[]));
        let with = json!({"command": "x", "description": "d"});
        assert_eq!(hash("Bash", &with, &["description"]), hash("Bash", &json!({"command": "x"}), &[]));
        assert_ne!(hash("Bash", &with, &[]), hash("Bash", &json!({"command": "x"}), &[]));
        assert_ne!(hash("Bash", &json!(["12", "3"]), &[]), hash("Bash", &json!(["1", "23"]), &[]));
    }

    #[test]
    fn the_first_of_several_questions_is_shown() {
        assert_eq!(question(&json!({"questions": [{"question": "Why?"}]})).as_deref(), Some("Why?"));
        let two = json!({"questions": [{"question": "Why?"}, {"question": "How?"}]});
        assert_eq!(question(&two).as_deref(), Some("Why? (and 1 more)"));
        assert_eq!(question(&json!({"questions": "Why?"})), None);
    }
}
