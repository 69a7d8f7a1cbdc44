//! The scripted agents: what each does, and when.

use std::path::Path;

/// A scripted agent.
pub(super) struct Agent {
    /// The name of its program, as the real one has it.
    pub(super) program: &'static str,
    /// The session it runs in.
    pub(super) session: &'static str,
    /// The window it runs in.
    pub(super) window: &'static str,
    /// What it says, and for how many seconds it stays so. Goes round and round.
    acts: &'static [(u32, &'static str, &'static str)],
}

/// The six agents. Together they go through every state: one of them never says a word and stays `unknown`.
pub(super) const AGENTS: &[Agent] = &[
    Agent {
        program: "claude",
        session: "api",
        window: "refactor",
        acts: &[
            (3, "running", "reading src/router.rs"),
            (4, "waiting_approval", "run `cargo test -p router`?"),
            (3, "running", "running the tests"),
            (3, "completed", "router split in two, 41 tests pass"),
        ],
    },
    Agent {
        program: "codex",
        session: "api",
        window: "bugfix",
        acts: &[
            (4, "running", "looking for the leak"),
            (5, "waiting_input", "keep the old flag, or drop it?"),
            (2, "running", "dropping it"),
        ],
    },
    Agent {
        program: "gemini",
        session: "docs",
        window: "guide",
        acts: &[(5, "running", "writing the guide"), (4, "idle", ""), (3, "completed", "guide written")],
    },
    Agent {
        program: "opencode",
        session: "docs",
        window: "site",
        acts: &[(3, "running", "building the site"), (6, "error", "the provider asks to wait")],
    },
    Agent {
        program: "copilot",
        session: "web",
        window: "login",
        acts: &[(2, "running", "drawing the page"), (7, "needs_testing", "try the login page in a browser")],
    },
    Agent { program: "cursor-agent", session: "web", window: "silent", acts: &[] },
];

/// The agent as a shell script.
pub(super) fn text(agent: &Agent, agtmux: &Path) -> String {
    let agtmux = quoted(&agtmux.to_string_lossy());
    let act = |(seconds, state, message): &(u32, &str, &str)| {
        let message = quoted(message);
        format!("  echo {state}: {message}\n  {agtmux} signal {state} {message}\n  sleep {seconds}\n")
    };
    let mut acts: String = agent.acts.iter().map(act).collect();
    if acts.is_empty() {
        acts.push_str("  sleep 5\n");
    }
    format!(
        "#!/bin/sh\n# A scripted agent of `agtmux demo`.\necho '{} (scripted)'\nwhile :; do\n{acts}done\n",
        agent.program
    )
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
