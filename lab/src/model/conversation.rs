//! What a request says, whatever the dialect: the newest words of the person, and how often they were answered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::script;

/// A message of a conversation, as far as the script cares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    /// A person said it. Agents put words of their own there too.
    Person(String),
    /// The model said it.
    Model,
    /// A tool's result.
    Result,
}

/// A request in no particular dialect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// The newest words of the person, without what the agent put around them.
    pub(super) prompt: String,
    /// Everything the person said, oldest first.
    pub(super) said: Vec<String>,
    /// How often the model has answered since.
    pub(super) round: usize,
    /// The tools that may be used, with the schema of what each takes. Null for one that takes free text.
    pub(super) tools: BTreeMap<String, Value>,
    /// The schema that the answer has to follow, for requests that want data.
    pub(super) schema: Option<Value>,
    /// The file that a plan is to be written to before it is presented, if the agent wants that.
    pub(super) plan_file: Option<String>,
    /// Whether the answer is wanted piece by piece.
    pub(super) streamed: bool,
    /// The model that was asked for.
    pub(super) model: String,
}

impl Request {
    /// Reads the conversation, oldest message first.
    pub(super) fn with_messages(mut self, messages: &[Message]) -> Self {
        let mut answered = true;
        for message in messages {
            match message {
                Message::Person(text) => {
                    let text = without_wrappings(text);
                    if !text.is_empty() {
                        self.said.push(text.clone());
                        (self.prompt, self.round, answered) = (text, 0, false);
                    }
                }
                // Some dialects spread one answer over several messages; it ends with the next result.
                Message::Model => answered = true,
                Message::Result => {
                    self.round += usize::from(answered);
                    answered = false;
                }
            }
        }
        self
    }
}

/// The person's words in a message that may also carry results. Beside a result, only words with an act are the
/// person's; the rest are the agent's reminders.
pub(super) fn beside_a_result(text: &str) -> Option<Message> {
    script::has_act(&without_wrappings(text)).then(|| Message::Person(text.to_owned()))
}

/// The text without `<tag>…</tag>`, which is how agents mark what the person did not type.
fn without_wrappings(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((start, end)) = first_wrapping(&text) {
        text.replace_range(start..end, "");
    }
    text.trim().to_owned()
}

fn first_wrapping(text: &str) -> Option<(usize, usize)> {
    text.match_indices('<').find_map(|(start, _)| {
        let name: String =
            text[start + 1..].chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).collect();
        let close = format!("</{name}>");
        let end = text[start..].find(&close).filter(|_| !name.is_empty())?;
        Some((start, start + end + close.len()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(text: &str) -> Message {
        Message::Person(text.to_owned())
    }

    #[test]
    fn rounds_are_counted_from_the_newest_prompt() {
        let read = |messages: &[Message]| {
            let request = Request::default().with_messages(messages);
            (request.prompt, request.round)
        };
        assert_eq!(read(&[person("a")]), ("a".to_owned(), 0));
        assert_eq!(read(&[person("a"), Message::Model, person("b")]), ("b".to_owned(), 0));
        assert_eq!(read(&[person("a"), Message::Model, Message::Result]), ("a".to_owned(), 1));
        let parallel = [person("a"), Message::Model, Message::Model, Message::Result, Message::Result];
        assert_eq!(read(&parallel), ("a".to_owned(), 1));
        let twice = [person("a"), Message::Model, Message::Result, Message::Model, Message::Result];
        assert_eq!(read(&twice), ("a".to_owned(), 2));
    }

    #[test]
    fn what_the_agent_wraps_around_a_prompt_is_not_the_prompt() {
        let text = "<env>\n<cwd>/x</cwd>\n</env>say:hi<system-reminder>say:no</system-reminder> a < b";
        assert_eq!(without_wrappings(text), "say:hi a < b");
        let request = Request::default().with_messages(&[person("say:hi"), person("<env>x</env>")]);
        assert_eq!(request.prompt, "say:hi");
    }
}
