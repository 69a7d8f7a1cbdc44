//! The words after `agtmux hook`.

use std::ffi::OsString;

/// The longest name of an agent or event that is passed on.
const NAME_LIMIT: usize = 128;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) agent: String,
    pub(super) event: Option<String>,
    /// The payload, where the agent gives it as an argument: Codex does so for its notify command.
    pub(super) payload: Option<String>,
}

impl Call {
    /// Reads the arguments; nothing without an agent.
    pub(super) fn parse(arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = arguments.map(|word| word.to_string_lossy().into_owned());
        let agent = words.next().filter(|agent| !agent.is_empty()).map(short)?;
        let (payloads, names): (Vec<_>, Vec<_>) = words.partition(|word| word.trim_start().starts_with('{'));
        let event = names.into_iter().find(|word| !word.is_empty()).map(short);
        Some(Self { agent, event, payload: payloads.into_iter().next_back() })
    }
}

fn short(name: String) -> String {
    name.chars().take(NAME_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::Call;

    fn call(words: &[&str]) -> Option<(String, Option<String>, Option<String>)> {
        Call::parse(words.iter().map(Into::into)).map(|call| (call.agent, call.event, call.payload))
    }

    #[test]
    fn names_and_payload_are_told_apart() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(call(&["claude"]), Some(("claude".to_owned(), None, None)));
        assert_eq!(call(&["claude", "Stop"]), Some(("claude".to_owned(), some("Stop"), None)));
        assert_eq!(call(&["codex", "{}"]), Some(("codex".to_owned(), None, some("{}"))));
        assert_eq!(call(&["codex", "notify", " {}"]), Some(("codex".to_owned(), some("notify"), some(" {}"))));
        assert_eq!(call(&["codex", "", "more", "words"]), Some(("codex".to_owned(), some("more"), None)));
        assert_eq!((call(&[]), call(&[""])), (None, None));
        assert_eq!(call(&[&"x".repeat(1_000)]).expect("an agent").0.len(), 128);
    }
}
