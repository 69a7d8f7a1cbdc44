//! Session ids: `SCHMUX_SESSION_ID` in the environment of an agent's process, by which people and scripts may name it.

use std::collections::BTreeSet;
use std::ffi::OsStr;

use agtmux_core::command::Command;

use crate::daemon::Handle;
use crate::daemon::roster::Member;
use crate::platform;

/// The variable that holds a session id.
const SESSION_VARIABLE: &str = "SCHMUX_SESSION_ID";

/// The longest session id that counts.
const LONGEST: usize = 128;

/// Looks at every agent once, when it is found, until the daemon ends.
pub async fn run(handle: Handle) {
    let mut roster = handle.roster();
    let mut known = BTreeSet::new();
    loop {
        let members: Vec<_> = {
            let living = roster.borrow_and_update();
            known.retain(|runtime| living.contains_key(runtime));
            living.values().filter(|member| known.insert(member.runtime.clone())).cloned().collect()
        };
        // On some systems an environment is told by another program, which takes its time.
        let found = tokio::task::spawn_blocking(move || {
            members.iter().filter_map(|member| Some((member.runtime.clone(), session(member)?))).collect::<Vec<_>>()
        });
        for (runtime, session) in found.await.unwrap_or_default() {
            // A runtime that ended meanwhile needs none.
            handle.request(Command::Session { runtime, session }).await.ok();
        }
        if roster.changed().await.is_err() {
            return;
        }
    }
}

/// The session id that an agent was started with.
fn session(member: &Member) -> Option<String> {
    let pid = member.process.pid;
    let variables = platform::process_environment(pid);
    let session = variables.get(OsStr::new(SESSION_VARIABLE))?.to_str()?.to_owned();
    // Read before the check: a pid that has come to mean another process gives nothing.
    let is_it = platform::process_stat(pid).is_some_and(|stat| stat.start == member.process.start);
    (is_it && is_session_id(&session)).then_some(session)
}

/// Whether a text can name an agent: nothing that means something else in a reference or in a terminal.
fn is_session_id(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.len() <= LONGEST && text.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::is_session_id;

    #[test]
    fn a_session_id_means_nothing_else() {
        assert!(["claude-1f0c33aa", "myproj-abc-xyz12345", "a.b_c"].into_iter().all(is_session_id));
        for odd in ["", "%3", "runtime:rt_1", "pane:a/b/c/1", "a b", "a\u{1b}[m", &"x".repeat(129)] {
            assert!(!is_session_id(odd), "{odd:?}");
        }
    }
}
