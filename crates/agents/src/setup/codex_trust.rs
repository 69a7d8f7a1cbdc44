//! Which hooks Codex runs without asking: those whose hash stands in its configuration, by file, event and place.

use jsonc_parser::ast::Object;
use sha2::{Digest as _, Sha256};

use super::Refusal;
use super::agent::Agent;
use super::hook_entry::CODEX_SESSION_END_SECONDS;
use super::hook_file;
use super::json;
use super::json_text::quoted;
use super::text::Source;

/// A hook that Codex is told to trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trusted {
    /// `<file>:<event>:<group>:<place in the group>`.
    pub(super) key: String,
    /// `sha256:` and the hash of what the hook does.
    pub(super) hash: String,
}

/// The hooks of ours in a hooks file, as Codex names them.
pub(super) fn trusted(path: &str, bytes: Option<&[u8]>) -> Result<Vec<Trusted>, Refusal> {
    let source = Source::read(bytes.unwrap_or_default())?;
    let Some(root) = json::parse(source.text)? else {
        return Ok(Vec::new());
    };
    let ours = hook_file::ours(Agent::Codex, source.text, &root)?;
    let name = |(event, group, index, hook)| {
        let event = snake_case(event);
        Trusted { key: format!("{path}:{event}:{group}:{index}"), hash: hash(&event, hook) }
    };
    Ok(ours.into_iter().map(name).collect())
}

/// The hash of a hook: that of its parts as JSON without blanks, members in the order of their names. Codex puts in what
/// a file leaves out, and cuts the time of a session's end, before it computes the same.
fn hash(event: &str, hook: &Object<'_>) -> String {
    let command = json::string(hook, "command").unwrap_or_default();
    let timeout: u32 = hook.get_number("timeout").and_then(|number| number.value.parse().ok()).unwrap_or_default();
    let timeout = if event == "session_end" { timeout.min(CODEX_SESSION_END_SECONDS) } else { timeout };
    let identity = format!(
        r#"{{"event_name":{},"hooks":[{{"async":false,"command":{},"timeout":{timeout},"type":"command"}}]}}"#,
        quoted(event),
        quoted(command),
    );
    let digest = Sha256::digest(identity.as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

fn snake_case(event: &str) -> String {
    let mut snake = String::with_capacity(event.len() + 4);
    for (place, c) in event.chars().enumerate() {
        if c.is_ascii_uppercase() && place > 0 {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed apart from this code, by the rule that Codex 0.166 follows; its session end takes no more than three seconds.
    #[test]
    fn the_hash_is_that_of_codex() {
        let file = br#"{"hooks":{"SessionEnd":[{"hooks":[{"type":"command","timeout":10,
            "command":"'/x' hook codex SessionEnd 2>/dev/null || true # agtmux"}]}]}}"#;
        let trusted = trusted("/h/.codex/hooks.json", Some(file)).expect("valid");
        assert_eq!(trusted[0].key, "/h/.codex/hooks.json:session_end:0:0");
        assert_eq!(trusted[0].hash, "sha256:a83482f4fdb1984c8498d4d7857f85d29cb3620a669413b11d6309ed8eae9235");
    }
}
