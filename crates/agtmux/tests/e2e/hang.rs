//! A daemon that does not answer, and one that runs an older program than the one on the disk: both are told.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::common::{AGTMUX, Run, TestEnvironment, kill, wait_for};

/// A person is told soon, and the command goes on when the daemon does.
#[test]
fn a_daemon_that_hangs_is_told() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let pid = environment.daemon_pid();
    kill(pid, Signal::STOP);
    let commands = [vec!["list", "panes"], vec!["watch", "--once"], vec!["daemon", "status", "--json"]];
    let waiting: Vec<_> = commands.iter().map(|arguments| environment.agtmux_in_background(arguments)).collect();
    let mut told = vec![String::new(); waiting.len()];
    wait_for("every command to tell", || {
        for (told, command) in told.iter_mut().zip(&waiting) {
            told.push_str(&command.new_errors());
        }
        if told.iter().all(|told| told.contains("does not answer yet")) { Ok(()) } else { Err(format!("{told:#?}")) }
    });
    assert!(told[2].contains("{\"waiting\":"), "{told:#?}");
    kill(pid, Signal::CONT);
    for command in waiting {
        command.finish().ok();
    }
}

#[test]
fn a_daemon_that_stays_so_is_given_up() {
    let environment = TestEnvironment::with_tmux();
    environment.start_daemon();
    let agent = environment.agent("claude");
    let pid = environment.daemon_pid();
    kill(pid, Signal::STOP);
    // The second may wait for long by its nature, and is given up all the same.
    let commands = [vec!["list", "panes"], vec!["wait", &agent.pane], vec!["sm", "send", &agent.pane, "hello"]];
    let waiting: Vec<_> = commands.iter().map(|arguments| environment.agtmux_in_background(arguments)).collect();
    for command in waiting {
        let run = command.finish();
        assert_eq!(run.code, 5, "{run:#?}");
        assert!(run.stderr.contains(&format!("pid {pid}, runs and does not answer")), "{run:#?}");
    }
    kill(pid, Signal::CONT);
}

/// A copy of the program, which can be replaced.
fn copy(to: &Path) {
    let new = to.with_extension("new");
    fs::copy(AGTMUX, &new).unwrap();
    fs::rename(&new, to).unwrap();
}

#[test]
fn a_daemon_that_is_older_than_its_program_is_told() {
    let environment = TestEnvironment::with_tmux();
    let program = environment.path("bin/agtmux");
    copy(&program);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        let known = environment.command(&[]);
        command.env_clear().args(arguments).current_dir(environment.root());
        command.envs(known.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Run::of(&mut command)
    };
    run(&["daemon", "start"]).ok();
    assert_eq!(run(&["list", "panes"]).ok().stderr, "");
    assert_eq!(run(&["daemon", "status", "--json"]).ok().json()["program_replaced"], false);

    copy(&program);
    let told = run(&["list", "panes"]).ok().stderr;
    assert!(told.contains("older than its program") && told.contains("agtmux daemon stop"), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert_eq!(run(&["list", "panes", "--json"]).ok().stderr, "", "a script is told nothing");
    assert_eq!(run(&["daemon", "status", "--json"]).ok().json()["program_replaced"], true);
    let doctor = run(&["doctor"]);
    assert!(doctor.stdout.contains("older program"), "{doctor:#?}");

    run(&["daemon", "stop"]).ok();
    assert_eq!(run(&["list", "panes"]).ok().stderr, "");
}
