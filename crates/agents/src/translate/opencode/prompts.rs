//! What opencode's server says its model was given in a person's place: neither what the model said, nor what a tool gave, nor what
//! opencode puts beside a prompt, such as a file that is named in it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::translate::payload::{list, text, text_at};

/// What is shown at least of a name that is cut.
const CUT: usize = 30;

/// Reads the events of one server in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct OpencodePrompts {
    /// The messages that are a person's, by id. Ids grow with time.
    messages: BTreeSet<String>,
}

impl OpencodePrompts {
    /// More than a person sends before the text of the first of them is told.
    const MESSAGES: usize = 256;

    /// The text that an event says was given. An event without one may say whose the texts of the next ones are.
    pub fn event(&mut self, event: &Value) -> Option<String> {
        let properties = event.get("properties")?;
        match text(event, "type")? {
            "message.updated" => {
                let id = text_at(properties, &["info", "id"])?;
                if is_a_persons(&properties["info"]) {
                    self.messages.insert(id.to_owned());
                    if self.messages.len() > Self::MESSAGES {
                        self.messages.pop_first();
                    }
                }
                None
            }
            "message.part.updated" => {
                let part = properties.get("part")?;
                let is_given = text(part, "messageID").is_some_and(|id| self.messages.contains(id));
                written(part).filter(|_| is_given).map(str::to_owned)
            }
            _ => None,
        }
    }

    /// The texts that were given in a conversation, of the messages that the server lists of it.
    pub fn listed(messages: &Value) -> Vec<String> {
        let messages = messages.as_array().into_iter().flatten();
        let given = messages.filter(|message| is_a_persons(&message["info"]));
        given.flat_map(|message| list(message, "parts")).filter_map(written).map(str::to_owned).collect()
    }
}

/// Whether a pane of this title shows a conversation of that name: opencode writes it there, and cuts what is long.
pub fn opencode_shows(title: &str, name: &str) -> bool {
    let Some(shown) = title.strip_prefix("OC | ") else { return false };
    match shown.strip_suffix('…') {
        Some(beginning) if beginning.chars().count() >= CUT => name.starts_with(beginning),
        _ => shown == name,
    }
}

fn is_a_persons(info: &Value) -> bool {
    text(info, "role") == Some("user")
}

fn written(part: &Value) -> Option<&str> {
    let is_synthetic = part.get("synthetic").and_then(Value::as_bool) == Some(true);
    text(part, "text").filter(|_| text(part, "type") == Some("text") && !is_synthetic)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{OpencodePrompts, opencode_shows};

    fn message(id: &str, role: &str) -> serde_json::Value {
        json!({"type": "message.updated", "properties": {"sessionID": "s", "info": {"id": id, "role": role}}})
    }

    fn part(id: &str, part: serde_json::Value) -> serde_json::Value {
        let mut part = part;
        part["messageID"] = id.into();
        json!({"type": "message.part.updated", "properties": {"sessionID": "s", "part": part}})
    }

    #[test]
    fn only_what_stands_in_the_persons_place_was_given() {
        let mut prompts = OpencodePrompts::default();
        let hello = json!({"type": "text", "text": "hello"});
        assert_eq!(prompts.event(&part("msg_1", hello.clone())), None, "nobody knows whose it is");
        assert_eq!(prompts.event(&message("msg_1", "user")), None);
        assert_eq!(prompts.event(&message("msg_2", "assistant")), None);
        assert_eq!(prompts.event(&part("msg_1", hello.clone())), Some("hello".to_owned()));
        assert_eq!(prompts.event(&part("msg_2", hello.clone())), None, "the model said it");
        let file = json!({"type": "text", "text": "hello", "synthetic": true});
        assert_eq!(prompts.event(&part("msg_1", file.clone())), None, "it stands in a file");
        assert_eq!(prompts.event(&part("msg_1", json!({"type": "tool", "text": "hello"}))), None);
        let listed = json!([
            {"info": {"role": "user"}, "parts": [file, hello]},
            {"info": {"role": "assistant"}, "parts": [{"type": "text", "text": "bye"}]},
        ]);
        assert_eq!(OpencodePrompts::listed(&listed), ["hello"]);
        assert!(OpencodePrompts::listed(&json!({"name": "NotFoundError"})).is_empty());
    }

    #[test]
    fn the_title_of_a_pane_names_its_conversation() {
        assert!(opencode_shows("OC | Lab title", "Lab title"));
        assert!(opencode_shows(
            "OC | A title that has exactly forty charac…",
            "A title that has exactly forty characters"
        ));
        assert!(!opencode_shows(
            "OC | A title that has exactly forty charac…",
            "A title that has more than forty characters"
        ));
        for title in ["OpenCode", "Lab title", "OC | ", "OC | …", "OC | Lab…", "OC | Lab title of another"] {
            assert!(!opencode_shows(title, "Lab title"), "{title}");
        }
    }

    #[test]
    fn no_more_is_remembered_than_is_needed() {
        let mut prompts = OpencodePrompts::default();
        for n in 0..1_000 {
            prompts.event(&message(&format!("msg_{n:04}"), "user"));
        }
        assert_eq!(prompts.messages.len(), OpencodePrompts::MESSAGES);
        let last = part("msg_0999", json!({"type": "text", "text": "hello"}));
        assert!(prompts.event(&last).is_some());
    }
}
