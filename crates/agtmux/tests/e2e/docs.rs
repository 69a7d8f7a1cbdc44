//! What the documents show is what happens: their console blocks are run, by a shell, on three scripted agents. An agent that
//! they start is one with a composer.
//!
//! In the expected output `[..]` stands for any text within a line and a line `...` for any lines. Ages and pane ids may
//! differ, and runs of blanks count as one, since columns are as wide as their contents.

use std::fs;
use std::path::Path;

use crate::common::{AGTMUX, Composer, Run, TestEnvironment};

#[test]
fn console_blocks_are_true() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let environment = TestEnvironment::new();
    let tmux = environment.tmux();
    let mut agents = Vec::new();
    for (session, name) in [("api", "claude"), ("api", "codex"), ("docs", "gemini")] {
        if agents.is_empty() || session == "docs" {
            tmux.start(session);
        }
        agents.push(environment.agent_in(&tmux, session, name));
    }
    // The sessions were started with a shell each; what is left are the agents, numbered from the first window on.
    tmux.run(&["kill-window", "-t", "=api:0", ";", "kill-window", "-t", "=docs:0"]);
    tmux.run(&["move-window", "-r", "-t", "=api:", ";", "move-window", "-r", "-t", "=docs:"]);
    environment.start_daemon();
    agents[0].signal("waiting_approval 'run the migration?'").ok();
    agents[1].signal("running 'looking for the leak'").ok();

    let mut ran = 0;
    let documents = [
        "README.md",
        "docs/states.md",
        "docs/agents.md",
        "docs/configuration.md",
        "docs/setup.md",
        "docs/safety.md",
        "docs/messages.md",
    ];
    let path = format!("{}:{}", Composer::install(&environment).display(), std::env::var("PATH").unwrap());
    for document in documents {
        // What one of them teaches a directory is nothing to the next.
        let dir = environment.path(&format!("for/{document}"));
        fs::create_dir_all(&dir).unwrap();
        let text = fs::read_to_string(root.join(document)).unwrap();
        for block in text.split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap();
            for step in block.split("$ ").skip(1) {
                let (command, expected) = step.split_once('\n').unwrap();
                let arguments = command.strip_prefix("agtmux ").unwrap_or_else(|| panic!("{document}: {command}"));
                let line = format!("{AGTMUX} {arguments}").replace(" %1", &format!(" {}", agents[0].pane));
                let mut shell = environment.shell(&line);
                shell.env("PATH", &path).env("AGTMUX_TMUX_SOCKET", environment.path("t")).current_dir(&dir);
                let run = Run::of(&mut shell);
                assert_eq!(
                    run.code,
                    0,
                    "{document}: $ {command}\n{run:#?}\n{}",
                    environment.agtmux(&["events"]).stdout
                );
                assert!(
                    matches(&lines(expected), &lines(&run.stdout)),
                    "{document}: $ {command}\n--- shows\n{expected}--- but is\n{}",
                    run.stdout
                );
                ran += 1;
            }
        }
    }
    assert!(ran >= 5, "only {ran} commands were found");
}

/// Lines with single blanks, without what differs from run to run and without those that are empty.
fn lines(text: &str) -> Vec<String> {
    let collapsed = text.lines().map(|line| line.split_whitespace().map(steady).collect::<Vec<_>>().join(" "));
    collapsed.filter(|line| !line.is_empty()).collect()
}

/// A word, with any age as `1s` and any pane as `%1`.
fn steady(word: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if word.strip_suffix(['s', 'm', 'h', 'd']).is_some_and(is_number) {
        "1s"
    } else if word.strip_prefix('%').is_some_and(is_number) {
        "%1"
    } else {
        word
    }
}

fn matches(expected: &[String], found: &[String]) -> bool {
    match (expected, found) {
        ([], []) => true,
        ([any, rest @ ..], found) if any == "..." => (0..=found.len()).any(|skip| matches(rest, &found[skip..])),
        ([first, rest @ ..], [line, more @ ..]) => line_matches(first, line) && matches(rest, more),
        _ => false,
    }
}

/// Whether the parts between `[..]` follow one another in a line, from its beginning to its end.
fn line_matches(expected: &str, line: &str) -> bool {
    let parts: Vec<_> = expected.split("[..]").map(str::trim).collect();
    let [first, between @ .., last] = &parts[..] else {
        return expected == line;
    };
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    for part in between {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
