//! Which agent runs a model: people name the model that they want, and the instruction file is that of the agent.

use std::collections::BTreeMap;

/// Models of others that run in an agent which is not named after them.
const FOREIGN: [(&str, &str); 7] = [
    ("kimi", "claude"),
    ("glm", "claude"),
    ("minimax", "claude"),
    ("deepseek", "claude"),
    ("qwen", "claude"),
    ("gpt", "codex"),
    ("o3", "codex"),
];

/// The agent that a name stands for: an agent's own word, a model of it (`claude-opus`), or a model that is run by
/// another agent (`kimi`). What the user says comes first. `None` if nobody knows the name.
pub fn base_agent<'n>(name: &'n str, agents: &[&'n str], users: &'n BTreeMap<String, String>) -> Option<&'n str> {
    let named = users.get(name).map_or(name, String::as_str);
    let stands_for = |word: &str| named == word || named.strip_prefix(word).is_some_and(|rest| rest.starts_with('-'));
    let own = agents.iter().copied().find(|agent| stands_for(agent));
    own.or_else(|| FOREIGN.into_iter().find(|(model, _)| is_of(named, model)).map(|(_, agent)| agent))
}

/// Whether a name is a model of that family. Some vendors write the version right behind it: `qwen3-coder`, `glm4.6`.
fn is_of(named: &str, family: &str) -> bool {
    named.strip_prefix(family).is_some_and(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        rest.is_empty() || rest.starts_with('-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_run_by_agents() {
        let users =
            BTreeMap::from([("house".to_owned(), "gemini".to_owned()), ("kimi".to_owned(), "opencode".to_owned())]);
        let nobody = BTreeMap::new();
        let agents = ["claude", "codex", "gemini", "opencode"];
        let cases = [
            ("claude", &nobody, Some("claude")),
            ("claude-opus", &nobody, Some("claude")),
            ("claude-sonnet", &nobody, Some("claude")),
            ("claude-haiku", &nobody, Some("claude")),
            ("codex", &nobody, Some("codex")),
            ("gemini-2.5-pro", &nobody, Some("gemini")),
            ("kimi", &nobody, Some("claude")),
            ("kimi-k2", &nobody, Some("claude")),
            ("qwen", &nobody, Some("claude")),
            ("qwen3-coder-plus", &nobody, Some("claude")),
            ("qwen2.5-coder", &nobody, Some("claude")),
            ("qwen3", &nobody, Some("claude")),
            ("qwentin", &nobody, None),
            ("gpt-5.4", &nobody, Some("codex")),
            ("kimi", &users, Some("opencode")),
            ("house", &users, Some("gemini")),
            ("claudette", &nobody, None),
            ("vim", &users, None),
            ("", &nobody, None),
        ];
        for (name, users, expected) in cases {
            assert_eq!(base_agent(name, &agents, users), expected, "{name}");
        }
    }
}
