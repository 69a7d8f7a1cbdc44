//! What the model was told: in the longest conversation, by the person or in their place, whatever the agent put around it.

use std::collections::BTreeMap;
use std::ops::Range;

use agtmux_typist::body;
use agtmux_typist::oracle::Fate;
use regex::Regex;
use serde_json::Value;

use crate::model::Asked;

/// Agents send their whole conversation with every request; the last one is among so many.
const LATEST: usize = 30;

/// Every text in it that is not the model's own.
pub(super) fn texts(asked: &[Asked]) -> Vec<String> {
    let bodies = asked.iter().rev().take(LATEST).filter_map(|asked| serde_json::from_str::<Value>(&asked.body).ok());
    let conversations = bodies.filter(|body| body["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    let longest = conversations.max_by_key(|body| items(body).len()).unwrap_or_default();
    let mut texts = Vec::new();
    for item in items(&longest).iter().filter(|item| !is_the_models(item)) {
        collect(item, &mut texts);
    }
    texts
}

fn items(body: &Value) -> &[Value] {
    let items = body.get("messages").or_else(|| body.get("input")).and_then(Value::as_array);
    items.map_or(&[], Vec::as_slice)
}

fn is_the_models(item: &Value) -> bool {
    let is = |key: &str, value: &str| item[key].as_str().is_some_and(|found| found.ends_with(value));
    is("role", "assistant") || is("type", "_call") || is("type", "reasoning")
}

fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| collect(value, texts)),
        _ => {}
    }
}

/// What became of a line that was typed.
pub(super) fn of_line(told: &[String], line: &str) -> Fate {
    fate(told, line, |text| alone(text, line))
}

/// What became of a message.
pub(super) fn of_message(told: &[String], id: &str, message: &str) -> Fate {
    fate(told, message, |text| enveloped(text, id, message))
}

/// Texts in which something is left that belongs to a line or to a message, when those that are whole are taken out.
pub(super) fn strays(told: &[String], lines: &[String], sent: &BTreeMap<String, String>) -> Vec<String> {
    let Ok(piece) = Regex::new(r"[UM][0-9]{5} |#[0-9a-f]{8}\b|via sm send") else { return Vec::new() };
    let suspects = told.iter().filter(|text| piece.is_match(text));
    let left = suspects.map(|text| {
        let whole = lines.iter().flat_map(|line| alone(text, line));
        let mut whole: Vec<_> = whole.chain(sent.iter().flat_map(|(id, sent)| enveloped(text, id, sent))).collect();
        whole.sort_by_key(|place| std::cmp::Reverse(place.start));
        let mut left = text.clone();
        whole.into_iter().for_each(|place| left.replace_range(place, "…"));
        left
    });
    left.filter(|left| piece.is_match(left)).collect()
}

fn fate(told: &[String], text: &str, places: impl Fn(&str) -> Vec<Range<usize>>) -> Fate {
    let times: usize = told.iter().map(|told| places(told).len()).sum();
    let has = |piece: Option<&str>| piece.is_some_and(|piece| told.iter().any(|told| told.contains(piece)));
    match times {
        1 => Fate::Intact,
        0 if has(Some(text)) => Fate::Merged,
        0 if has(body::id(text)) || has(body::seal(text)) => Fate::Mangled,
        0 => Fate::Lost,
        _ => Fate::Duplicated,
    }
}

/// Where a line stands by itself: before and after it are other lines.
fn alone(text: &str, line: &str) -> Vec<Range<usize>> {
    let places = text.match_indices(line).map(|(at, _)| at..at + line.len());
    let is_alone = |place: &Range<usize>| {
        let (before, after) = (&text[..place.start], &text[place.end..]);
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with('\n'))
    };
    places.filter(is_alone).collect()
}

/// Where a message stands behind the line that says whose it is.
fn enveloped(text: &str, id: &str, message: &str) -> Vec<Range<usize>> {
    let mark = format!(" via sm send id={id}.");
    let with_head = |place: Range<usize>| {
        let before = text[..place.start].strip_suffix('\n')?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        // What Claude Code's hook was answered stands behind a few words of its own.
        let head = &before[start..];
        let head = head.split_once(" hook additional context: ").map_or(head, |(_, head)| head);
        (head.starts_with("[Input from: ") && head.contains(&mark) && head.ends_with(']')).then_some(start..place.end)
    };
    alone(text, message).into_iter().filter_map(with_head).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "U00001 look again #0123abcd";
    const TEXT: &str = "M00001 fix\nit #4567abcd\nstream:1";
    const WHOLE: &str = "[Input from: me (uid 1) via sm send id=typist-1.77b1e0]\nM00001 fix\nit #4567abcd\nstream:1";

    fn judged(told: &str) -> (Fate, Fate, usize) {
        let told = [told.to_owned()];
        let sent = BTreeMap::from([("typist-1".to_owned(), TEXT.to_owned())]);
        let strays = strays(&told, &[LINE.to_owned()], &sent).len();
        (of_line(&told, LINE), of_message(&told, "typist-1", TEXT), strays)
    }

    #[test]
    fn what_the_agent_puts_around_changes_nothing() {
        let told = format!("<x>\nStop hook additional context: {WHOLE}\n\n{LINE}\nmind that");
        assert_eq!(judged(&told), (Fate::Intact, Fate::Intact, 0));
    }

    #[test]
    fn whatever_touches_is_found() {
        assert_eq!(judged(&format!("{LINE}{WHOLE}")), (Fate::Merged, Fate::Merged, 1));
        assert_eq!(judged(&format!("x{LINE}\n{WHOLE}!")), (Fate::Merged, Fate::Merged, 1));
        assert_eq!(judged(&WHOLE.replace("fix", "fixU00001 look")), (Fate::Mangled, Fate::Mangled, 1));
        assert_eq!(judged(&format!("{WHOLE}\n{WHOLE}\n{LINE}\n{LINE}")), (Fate::Duplicated, Fate::Duplicated, 0));
        assert_eq!(judged("say:hello"), (Fate::Lost, Fate::Lost, 0));
        assert_eq!(judged(TEXT).1, Fate::Merged);
    }

    #[test]
    fn what_the_model_said_itself_does_not_count() {
        let body = serde_json::json!({"tools": [{"name": "x"}], "messages": [
            {"role": "user", "content": [{"type": "text", "text": LINE}]},
            {"role": "assistant", "content": format!("echo: {LINE}")},
        ]});
        let asked = Asked {
            at: std::time::Instant::now(),
            request: String::new(),
            body: body.to_string(),
            answer: String::new(),
            outside: false,
        };
        assert!(texts(&[asked]).contains(&LINE.to_owned()));
    }
}
