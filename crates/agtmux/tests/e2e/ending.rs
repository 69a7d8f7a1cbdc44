//! How agents end: in order, or not. The wrapper of an agent tells, whatever agent it is; of others nobody can.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::common::{AGTMUX, FakeAgent, Run, SCRIPT, TestEnvironment, kill, wait_for};

/// An agent that agtmux has started, which takes its pane with it when it ends.
fn spawned(environment: &TestEnvironment) -> FakeAgent {
    let rest = SCRIPT.strip_prefix("#!/bin/sh\n").unwrap();
    environment.program("codex", &format!("#!/bin/sh\n{AGTMUX} signal idle\n{rest}"));
    let dir = environment.agent_dir();
    let path = format!("{}:{}", environment.path("bin").display(), std::env::var("PATH").unwrap());
    let variable = format!("AGENT_DIR={}", dir.display());
    let workspace = environment.root().display().to_string();
    let words = ["spawn", "codex", "--workspace", &workspace, "--session", "main", "--env", &variable, "--json"];
    let answer = Run::of(environment.command(&words).env("PATH", path)).ok().json();
    assert_eq!((&answer["status"], &answer["wrapped"]), (&"ready".into(), &true.into()), "{answer:#}");
    FakeAgent::new(answer["pane_id"].as_str().unwrap().to_owned(), dir)
}

/// An agent that somebody has started in a shell, which stays.
fn at_a_prompt(environment: &TestEnvironment, before: &str) -> FakeAgent {
    let program = environment.program("codex", SCRIPT);
    let dir = environment.agent_dir();
    let tmux = environment.tmux();
    let pane = tmux.window("main", "exec bash --norc --noprofile -i");
    tmux.keys(&pane, &[&format!("AGENT_DIR={} {before} {}", dir.display(), program.display()), "Enter"]);
    environment.wait_for_pane(&pane, "the agent", |pane| pane["agent"] == "codex");
    FakeAgent::new(pane, dir)
}

/// What the log says of the end of the only agent that there was.
#[track_caller]
fn ending(environment: &TestEnvironment) -> String {
    wait_for("the end", || {
        let events = environment.agtmux(&["events", "--limit", "1000"]).ok().stdout;
        let ended = events.lines().find_map(|line| line.split_once("ended: "));
        ended.map(|(_, how)| how.trim().to_owned()).ok_or(events)
    })
}

fn notes(environment: &TestEnvironment) -> Vec<PathBuf> {
    let entries = fs::read_dir(environment.path("run/agtmux/shim")).unwrap();
    entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "ended"))
        .collect()
}

type End = fn(&TestEnvironment, &FakeAgent);

#[test]
fn the_wrapper_tells_a_crash_from_an_exit() {
    let in_turn = |environment: &TestEnvironment, agent: &FakeAgent| {
        agent.signal("running").ok();
        environment.wait_for_pane(&agent.pane, "its turn", |pane| pane["state"] == "running");
    };
    let cases: [(&str, bool, End); 8] = [
        ("crashed", false, |_, agent| kill(agent.pid(), Signal::KILL)),
        ("crashed", true, |_, agent| kill(agent.pid(), Signal::SEGV)),
        ("exited", true, |_, agent| kill(agent.pid(), Signal::TERM)),
        ("exited", true, |_, agent| agent.tell("exit 0")),
        ("exited", false, |_, agent| agent.tell("exit 1")),
        ("crashed", true, |_, agent| agent.tell("exit 1")),
        ("exited", true, |_, agent| agent.tell("exit 130")),
        // Somebody wanted it.
        ("exited", true, |environment, agent| {
            let killed = environment.agtmux(&["kill", &agent.pane, "--yes", "--json", "--signal", "KILL"]).ok().json();
            assert_eq!(killed["ending"], "exited", "{killed:#}");
        }),
    ];
    for (number, (wanted, is_in_turn, end)) in cases.into_iter().enumerate() {
        let environment = TestEnvironment::with_tmux();
        let agent = spawned(&environment);
        if is_in_turn {
            in_turn(&environment, &agent);
        }
        end(&environment, &agent);
        assert_eq!(ending(&environment), wanted, "case {number}");
        assert_eq!(notes(&environment), Vec::<PathBuf>::new(), "it was read");
    }
}

/// The same agent in a shell that stays: with the wrapper it is known, without it nobody could tell.
#[test]
fn without_the_wrapper_nobody_can_tell() {
    for (before, wanted) in [(format!("{AGTMUX} wrap"), "crashed"), (String::new(), "exited")] {
        let environment = TestEnvironment::with_tmux();
        environment.start_daemon();
        let agent = at_a_prompt(&environment, &before);
        kill(agent.pid(), Signal::KILL);
        assert_eq!(ending(&environment), wanted, "{before:?}");
    }
}

/// What the wrapper runs is a shell that goes on: it leaves no word of the agent, and is not waited for for long.
#[test]
fn a_wrapped_shell_says_nothing_of_its_agents() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let (program, dir) = (environment.program("codex", SCRIPT), environment.agent_dir());
    let (program, folder) = (program.display(), dir.display());
    let line = format!("AGENT_DIR={folder} exec {AGTMUX} wrap bash -c '{program}; exec sleep 100000'");
    let agent = FakeAgent::new(environment.tmux().window("main", &line), dir);
    environment.wait_for_pane(&agent.pane, "the agent", |pane| pane["agent"] == "codex");
    kill(agent.pid(), Signal::KILL);
    assert_eq!(ending(&environment), "exited");
}

/// A wrapper that is killed leaves no word, and its agent goes with its terminal.
#[test]
fn a_killed_wrapper_is_not_waited_for() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = at_a_prompt(&environment, &format!("{AGTMUX} wrap"));
    let lineage = agtmux::platform::ancestors(agent.pid());
    let shim = lineage.iter().find(|(pid, _)| environment.path(&format!("run/agtmux/shim/{pid}.sock")).exists());
    kill(shim.unwrap().0, Signal::KILL);
    assert_eq!(ending(&environment), "exited");
}
