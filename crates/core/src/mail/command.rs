//! Commands: a line such as `/compact` that a person sends for the agent to run, and not to read.
//!
//! An agent takes it for one only if nothing stands before it and nothing behind, so it is typed bare and alone: no line says who wrote
//! it, no other message comes with it (F61), and no hook or server is given it, where it would be words. Nobody can tell afterwards
//! that the agent was given this one and not the same from somebody else, so it is never more than unconfirmed.

use super::letter::{Letter, Party};
use super::sanitized::Sanitized;

impl Letter {
    /// Whether a text is a command if that one sends it: one line that begins with a slash and a word. The path of a file is none, and
    /// what an agent writes is never more than words to another one.
    pub fn is_command(from: &Party, text: &Sanitized) -> bool {
        let line = text.as_str().trim_end_matches('\n');
        let name = line.strip_prefix('/').and_then(|rest| rest.split([' ', '\t']).next()).unwrap_or_default();
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b':'));
        matches!(from, Party::Person { .. }) && is_name && !line.contains('\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::RuntimeId;

    #[test]
    fn one_line_of_a_person_that_begins_with_a_slash_and_a_word_is_a_command() {
        let person = Party::Person { uid: 1_000, name: "me".to_owned() };
        let agent = Party::Agent { runtime: RuntimeId::new("rt_1"), name: "api".to_owned() };
        let is_command = |from: &Party, text: &str| Letter::is_command(from, &Sanitized::new(text).unwrap());
        for text in ["/compact", "/compact\n", "/rename the parser", "/plugin:review-pr 12", "/init_x"] {
            assert!(is_command(&person, text), "{text:?}");
            assert!(!is_command(&agent, text), "{text:?}");
            assert!(!is_command(&Party::System, text), "{text:?}");
        }
        let words = [
            "compact",
            " /compact",
            "/",
            "// no",
            "/tmp/log has it",
            "/a.out crashed",
            "/1",
            "/a\nb",
            "/é",
            "!ls",
            "a /b",
        ];
        for text in words {
            assert!(!is_command(&person, text), "{text:?}");
        }
    }
}
