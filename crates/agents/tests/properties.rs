//! Whatever the process table says, discovery neither panics nor invents an agent.

use std::sync::LazyLock;

use agtmux_agents::{Process, Registry, explain, identify};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// Words that a command line may hold without naming any agent.
const PLAIN: &[&str] = &[
    "bash",
    "-zsh",
    "sh",
    "-c",
    "-lc",
    "node",
    "npx",
    "npm",
    "exec",
    "docker",
    "run",
    "kubectl",
    "sudo",
    "-u",
    "env",
    "A=1",
    "timeout",
    "5",
    "--",
    "-",
    "",
    "-it",
    "uv",
    "tool",
    "python3",
    "-m",
    "vim",
    "index.js",
    "/x/node_modules/.bin/tsc",
    "sleep 5",
    "cat a; ls",
    "'",
    "\\",
    "node_modules",
    "@scope/tool@1",
    "npm exec tsc",
    "-p",
    "=",
    "é␣",
    "3.1",
];

/// Words that do name one, in all the ways there are.
const AGENTS: &[&str] = &[
    "claude",
    "codex",
    "/usr/bin/gemini",
    "opencode",
    "copilot",
    "cursor-agent",
    "@openai/codex",
    "2.1.325",
    "/x/node_modules/@google/gemini-cli/bundle/gemini.js",
    "claude -p",
    "exec codex",
    "npm exec opencode-ai",
];

fn forest(words: &'static [&'static [&'static str]]) -> impl Strategy<Value = Vec<Process>> {
    let all: Vec<&str> = words.concat();
    let word = select(all).prop_map(str::to_owned);
    // Few pids, so that parents exist, repeat, and form loops.
    let pid = 0_u32..12;
    let process = (
        (pid.clone(), pid.clone(), pid, -1_i32..12),
        prop_oneof![Just(None), Just(Some("pts/1".to_owned())), Just(Some("pts/2".to_owned()))],
        any::<u64>(),
        select(vec!['R', 'S', 'T', 'Z', 'D', '?']),
        word.clone(),
        vec(word, 0..7),
    );
    let process = process.prop_map(|((pid, ppid, pgid, tpgid), tty, start, state, comm, argv)| Process {
        pid,
        ppid,
        pgid,
        tpgid,
        tty,
        start,
        state,
        comm,
        argv,
    });
    vec(process, 0..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_forest_without_any_agent_word_never_matches(processes in forest(&[PLAIN]), pane in 0_u32..12) {
        prop_assert_eq!(identify(&REGISTRY, &processes, pane).agent(), None);
    }

    #[test]
    fn what_is_found_is_a_living_process_on_a_terminal(processes in forest(&[PLAIN, AGENTS]), pane in 0_u32..12) {
        let explanation = explain(&REGISTRY, &processes, pane);
        match identify(&REGISTRY, &processes, pane).agent() {
            Some(found) => {
                prop_assert!(REGISTRY.get(&found.agent).is_some());
                prop_assert!(explanation.starts_with(&found.agent));
                let source = processes.iter().find(|p| p.pid == found.pid && p.start == found.start && p.argv == found.argv);
                prop_assert!(source.is_some_and(|p| p.state != 'Z' && p.tty.is_some()));
            }
            None => prop_assert!(explanation.starts_with("no agent at or below")),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_make_a_manifest_or_an_error(text in "\\PC{0,200}") {
        let (registry, problems) = Registry::with_user(vec![("any.toml".to_owned(), text)]);
        prop_assert_eq!(problems.len(), 1);
        prop_assert_eq!(registry.list().count(), 6);
    }
}
