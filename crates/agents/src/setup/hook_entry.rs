//! One hook of ours: the command an agent runs for one event, and how it is known again.

use jsonc_parser::ast::{Object, Value};

use super::agent::Agent;
use super::json;
use super::json_text::Json;

/// Seconds after which an agent gives up on the command. It takes milliseconds; this bounds a machine that swaps.
const TIMEOUT_SECONDS: u32 = 5;

/// The same for the one hook that waits while somebody may answer what it asks. The agent shows its dialog meanwhile.
pub const PERMISSION_SECONDS: u32 = 3_600;

/// Codex allows the hooks of a session's end no more than this, whatever the file says.
pub(super) const CODEX_SESSION_END_SECONDS: u32 = 3;

/// How a command of ours ends: a comment, which every shell ignores.
const MARK: &str = "# agtmux";

/// What was there before an entry went in, as far as the file does not show it. It is written behind the mark, so that
/// taking the entry out gives the bytes of before without any memory elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// The file was not there.
    MadeFile,
    /// The file was there and blank.
    FilledFile,
    /// `hooks` was there and empty.
    FoundHooksEmpty,
    /// The list of the event was there and empty.
    FoundListEmpty,
}

impl Note {
    const ALL: [Self; 4] = [Self::MadeFile, Self::FilledFile, Self::FoundHooksEmpty, Self::FoundListEmpty];

    const fn words(self) -> &'static str {
        match self {
            Self::MadeFile => "made this file",
            Self::FilledFile => "filled this file",
            Self::FoundHooksEmpty => "found hooks empty",
            Self::FoundListEmpty => "found this list empty",
        }
    }
}

/// The command for an event. It must never disturb the agent: a program that is gone is not an error, and says nothing.
pub(super) fn command(agent: Agent, program: &str, event: &str, note: Option<Note>) -> String {
    let note = note.map_or_else(String::new, |note| format!(" {}", note.words()));
    format!("{} hook {} {event} 2>/dev/null || true {MARK}{note}", shell_quoted(program), agent.id())
}

/// Whether a command is ours, and what it says about the time before it.
pub(super) fn recognise(agent: Agent, command: &str) -> Option<Option<Note>> {
    let (before, after) = command.rsplit_once(MARK)?;
    let after = after.trim();
    let note = Note::ALL.into_iter().find(|note| note.words() == after);
    let is_ours = before.contains(&format!(" hook {} ", agent.id())) && (after.is_empty() || note.is_some());
    is_ours.then_some(note)
}

/// Whether an agent's hooks are listed in groups, each with a list `hooks`, or one by one.
pub(super) const fn is_grouped(agent: Agent) -> bool {
    matches!(agent, Agent::Claude | Agent::Codex | Agent::Gemini)
}

/// The hook itself, as the agent wants it written.
pub(super) fn hook(agent: Agent, program: &str, event: &str, note: Option<Note>) -> Json {
    let command = Json::Text(command(agent, program, event, note));
    let kind = ("type", Json::Text("command".to_owned()));
    Json::Object(match agent {
        Agent::Gemini => vec![
            kind,
            ("name", Json::Text("agtmux".to_owned())),
            ("command", command),
            // This agent counts in milliseconds.
            ("timeout", Json::Number(TIMEOUT_SECONDS * 1_000)),
        ],
        Agent::Copilot => vec![kind, ("bash", command), ("timeoutSec", Json::Number(TIMEOUT_SECONDS))],
        Agent::Cursor => vec![("command", command), ("timeout", Json::Number(TIMEOUT_SECONDS))],
        Agent::Codex if event == "SessionEnd" => {
            vec![kind, ("command", command), ("timeout", Json::Number(CODEX_SESSION_END_SECONDS))]
        }
        Agent::Claude if event == "PermissionRequest" => {
            vec![kind, ("command", command), ("timeout", Json::Number(PERMISSION_SECONDS))]
        }
        Agent::Claude | Agent::Codex | Agent::Opencode => {
            vec![kind, ("command", command), ("timeout", Json::Number(TIMEOUT_SECONDS))]
        }
    })
}

/// The element of an event's list: the hook, or a group of nothing but the hook.
pub(super) fn element(agent: Agent, program: &str, event: &str, note: Option<Note>) -> Json {
    let hook = hook(agent, program, event, note);
    if is_grouped(agent) { Json::Object(vec![("hooks", Json::List(vec![hook]))]) } else { hook }
}

/// What a hook of a file is to us: `Some` if it is ours.
pub(super) fn recognise_value(agent: Agent, value: &Value<'_>) -> Option<Option<Note>> {
    let hook = value.as_object()?;
    recognise(agent, command_of(hook)?)
}

fn command_of<'o>(hook: &'o Object<'_>) -> Option<&'o str> {
    json::string(hook, "command").or_else(|| json::string(hook, "bash"))
}

/// A word for a POSIX shell, whatever characters it has.
fn shell_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_again_with_its_note() {
        for note in [None, Some(Note::MadeFile), Some(Note::FoundListEmpty)] {
            let command = command(Agent::Claude, "/opt/it's/agtmux", "Stop", note);
            assert!(command.starts_with(r"'/opt/it'\''s/agtmux' hook claude Stop 2>/dev/null || true # agtmux"));
            assert_eq!(recognise(Agent::Claude, &command), Some(note), "{command}");
            assert_eq!(recognise(Agent::Codex, &command), None, "{command}");
        }
    }

    #[test]
    fn what_only_looks_like_ours_is_not() {
        for command in ["agtmux hook claude Stop", "echo hi # agtmux", "x hook claude Stop # agtmux and more", ""] {
            assert_eq!(recognise(Agent::Claude, command), None, "{command}");
        }
    }
}
