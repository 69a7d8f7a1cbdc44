//! How an agent is started: its program, a model, a conversation that goes on, and what must not reach it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::instructions::base_agent;
use crate::manifest::Manifest;
use crate::registry::Registry;

/// What stands for the model or the conversation in an argument.
const PLACE: &str = "{}";

/// How an agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LaunchRules {
    /// The program, where it is not the first of the names by which the agent's process is recognised.
    program: Option<String>,
    /// Arguments that choose a model. `{}` stands for its name.
    #[serde(deserialize_with = "with_place")]
    model: Vec<String>,
    /// Models that the agent knows by a short name: `opus` makes `claude-opus` mean that.
    aliases: Vec<String>,
    /// Arguments that go on with a conversation. `{}` stands for the agent's own id of it.
    #[serde(deserialize_with = "with_place")]
    resume: Vec<String>,
    /// Variables that the agent gives to what it runs, by which a program knows that it runs inside this agent.
    #[serde(deserialize_with = "variables")]
    marks: Vec<String>,
}

/// What a name that a person gave stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice<'r> {
    /// The agent.
    pub manifest: &'r Manifest,
    /// The model that it is to use, in the agent's own words.
    pub model: Option<&'r str>,
}

/// The agent and model that a name stands for. A name that the user gave to an agent says nothing of a model.
pub fn choose<'r>(registry: &'r Registry, name: &'r str, users: &'r BTreeMap<String, String>) -> Option<Choice<'r>> {
    let ids: Vec<_> = registry.list().map(|entry| entry.manifest.id.as_str()).collect();
    let manifest = registry.get(base_agent(name, &ids, users)?)?;
    let named = users.get(name).map_or(name, String::as_str);
    let model = (named == name && name != manifest.id).then(|| {
        let short = name.strip_prefix(&manifest.id).and_then(|rest| rest.strip_prefix('-')).unwrap_or(name);
        if manifest.launch.aliases.iter().any(|alias| alias == short) { short } else { name }
    });
    Some(Choice { manifest, model })
}

/// Every variable by which a program knows that it runs inside one of the agents (F64).
pub fn marks(registry: &Registry) -> BTreeSet<&str> {
    registry.list().flat_map(|entry| &entry.manifest.launch.marks).map(String::as_str).collect()
}

/// Whether a text can be an agent's id of a conversation: nothing that a program takes for an option or a path.
pub fn is_conversation_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.len() <= 128 && text.chars().all(plain)
}

impl Manifest {
    /// The program that is run to start the agent, to be found on the path.
    pub fn program(&self) -> Option<&str> {
        self.launch.program.as_ref().or_else(|| self.process.programs.first()).map(String::as_str)
    }
}

impl LaunchRules {
    /// The arguments that choose a model; none if nobody knows how.
    pub fn model_arguments(&self, model: &str) -> Option<Vec<String>> {
        filled(&self.model, model)
    }

    /// The arguments that go on with a conversation; none if nobody knows how.
    pub fn resume_arguments(&self, conversation: &str) -> Option<Vec<String>> {
        filled(&self.resume, conversation)
    }
}

fn filled(arguments: &[String], value: &str) -> Option<Vec<String>> {
    (!arguments.is_empty()).then(|| arguments.iter().map(|argument| argument.replace(PLACE, value)).collect())
}

fn with_place<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let arguments = Vec::<String>::deserialize(deserializer)?;
    let places = arguments.iter().filter(|argument| argument.contains(PLACE)).count();
    if arguments.is_empty() || places == 1 {
        return Ok(arguments);
    }
    Err(de::Error::custom("one of the arguments, and no more, has to hold {}"))
}

fn variables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let is_name = |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match names.iter().find(|name| !is_name(name)) {
        Some(odd) => Err(de::Error::custom(format!("{odd:?} is not the name of a variable"))),
        None => Ok(names),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(name: &str, users: &BTreeMap<String, String>) -> Option<(String, Option<String>)> {
        let registry = Registry::builtin();
        choose(&registry, name, users).map(|choice| (choice.manifest.id.clone(), choice.model.map(str::to_owned)))
    }

    #[test]
    fn a_name_stands_for_an_agent_and_a_model() {
        let users = BTreeMap::from([("house".to_owned(), "gemini".to_owned())]);
        let cases = [
            ("claude", Some(("claude", None))),
            ("claude-opus", Some(("claude", Some("opus")))),
            ("claude-opus-5-5", Some(("claude", Some("claude-opus-5-5")))),
            ("gpt-5.4", Some(("codex", Some("gpt-5.4")))),
            ("gemini-2.5-pro", Some(("gemini", Some("gemini-2.5-pro")))),
            ("kimi-k2", Some(("claude", Some("kimi-k2")))),
            ("house", Some(("gemini", None))),
            ("vim", None),
        ];
        for (name, expected) in cases {
            let expected = expected.map(|(agent, model)| (agent.to_owned(), model.map(str::to_owned)));
            assert_eq!(chosen(name, &users), expected, "{name}");
        }
    }

    #[test]
    fn every_agent_can_be_started_and_told_to_go_on() {
        for entry in Registry::builtin().list() {
            let manifest = &entry.manifest;
            assert!(manifest.program().is_some(), "{}", manifest.id);
            let resume = manifest.launch.resume_arguments("0c1d").unwrap_or_default();
            assert!(resume.iter().any(|argument| argument.ends_with("0c1d")), "{}: {resume:?}", manifest.id);
            assert!(manifest.launch.model_arguments("m").is_some(), "{}", manifest.id);
        }
    }

    #[test]
    fn no_option_and_no_path_is_a_conversation() {
        for good in ["aa04c1f2-88f3-4c3e-9d3f-0123456789ab", "ses_4f1", "session-1.2"] {
            assert!(is_conversation_id(good), "{good}");
        }
        for bad in ["", "-r", "--last", "../x", "a/b", "a b", "é", "a\nb", &"x".repeat(129)] {
            assert!(!is_conversation_id(bad), "{bad}");
        }
    }

    #[test]
    fn rules_that_cannot_work_are_refused() {
        let manifest = |launch: &str| {
            let text = format!(
                "contract = 1\nid = \"x\"\nname = \"X\"\nrecorded = []\n[process]\nprograms = [\"x\"]\n[launch]\n{launch}\n"
            );
            Manifest::parse(&text).map(|manifest| manifest.launch).map_err(|error| error.to_string())
        };
        assert!(manifest("resume = [\"--resume\"]").is_err_and(|error| error.contains("has to hold {}")));
        assert!(manifest("marks = [\"A=B\"]").is_err_and(|error| error.contains("not the name of a variable")));
        assert!(manifest("resume = [\"--resume={}\"]").is_ok());
    }
}
