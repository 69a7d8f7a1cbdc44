//! Whether a session that runs has loaded the hooks that were put in.
//!
//! Agents read their hooks when they start. Claude Code also reads its settings again when they change, and finds settings of a
//! project whose `.claude` is new to the session (measured with the recorded version, `lab/scenarios/claude/hooks_late.story`).

use super::agent::Agent;

/// The start of a process is known no better than this, in milliseconds.
const ROUGHLY: u64 = 3_000;

/// Whether a session has loaded our hooks: it has if one was heard from it, and it has not if all files with our hooks were
/// written after it started and it does not look again. `None` if neither is known. Times are in milliseconds since 1970;
/// `written_ms` has one for each file that the session reads hooks from, with ours in it.
pub fn is_loaded(agent: Agent, started_ms: u64, heard: bool, written_ms: &[u64]) -> Option<bool> {
    if heard {
        return Some(true);
    }
    let looks_again = match agent {
        // Nothing is measured of Cursor.
        Agent::Claude | Agent::Cursor => true,
        Agent::Codex | Agent::Gemini | Agent::Opencode | Agent::Copilot => false,
    };
    let may_be_read = |written: &u64| looks_again || *written <= started_ms.saturating_add(ROUGHLY);
    (!written_ms.is_empty() && !written_ms.iter().any(may_be_read)).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STARTED: u64 = 1_760_000_000_000;

    #[test]
    fn a_session_has_the_hooks_that_it_could_read() {
        let (early, late) = (STARTED - 60_000, STARTED + 60_000);
        type Case<'a> = (&'a str, Agent, bool, &'a [u64], Option<bool>);
        let cases: [Case<'_>; 9] = [
            ("one was heard", Agent::Codex, true, &[late], Some(true)),
            ("there are none", Agent::Codex, false, &[], None),
            ("they were there first", Agent::Codex, false, &[early], None),
            ("they came later", Agent::Codex, false, &[late], Some(false)),
            ("within what is not known", Agent::Gemini, false, &[STARTED + 2_000], None),
            ("a plugin that came later", Agent::Opencode, false, &[late], Some(false)),
            ("one of two files", Agent::Copilot, false, &[late, early], None),
            ("Claude looks again", Agent::Claude, false, &[late], None),
            ("nothing was measured", Agent::Cursor, false, &[late], None),
        ];
        for (why, agent, heard, written, expected) in cases {
            assert_eq!(is_loaded(agent, STARTED, heard, written), expected, "{why}");
        }
    }
}
