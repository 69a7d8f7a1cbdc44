//! Programs as providers: good ones, and all that can be wrong with one.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

use super::super::command::KEPT;
use super::*;

fn sh(script: &str, timeout: u32) -> Client {
    sh_in(script, timeout, Path::new("/"))
}

fn sh_in(script: &str, timeout: u32, workdir: &Path) -> Client {
    let argv = toml::Value::from(vec!["sh", "-c", script]);
    client_in(&format!("provider = 'command'\ncommand = {argv}\ntimeout_seconds = {timeout}"), workdir)
}

fn error(script: &str) -> String {
    ask(&sh(script, 20), "x").unwrap_err().to_string()
}

#[test]
fn it_reads_the_question_and_its_answer_counts() {
    let dir = TempDir::new().unwrap();
    let client = sh_in(&format!("cat >asked; echo '{ANSWER}'"), 20, dir.path());
    assert_eq!(ask(&client, "$ cargo test").unwrap(), completed());
    let asked = fs::read_to_string(dir.path().join("asked")).unwrap();
    assert!(asked.starts_with(agtmux_agents::guess::INSTRUCTIONS), "{asked}");
    assert!(asked.contains("$ cargo test"), "{asked}");
}

#[test]
fn it_need_not_read_the_question() {
    let screen = "long line ".repeat(20_000);
    assert_eq!(ask(&sh(&format!("echo '{ANSWER}'"), 20), &screen).unwrap(), completed());
}

#[test]
fn it_is_not_told_that_it_runs_in_a_pane_or_below_an_agent() {
    let dir = TempDir::new().unwrap();
    ask(&sh_in(&format!("env >env; echo '{ANSWER}'"), 20, dir.path()), "x").unwrap();
    let environment = fs::read_to_string(dir.path().join("env")).unwrap();
    let names: Vec<_> = environment.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    // The shell adds these by itself.
    let own = ["PWD", "OLDPWD", "SHLVL", "_"];
    let strange = names.iter().find(|name| !own.contains(name) && !KEPT.contains(name));
    assert_eq!(strange, None, "{environment}");
    assert!(names.contains(&"PATH"), "{environment}");
}

#[test]
fn its_failures_are_told_in_its_words() {
    assert_eq!(error("echo 'not logged in' >&2; exit 1"), "sh failed (exit status: 1): not logged in");
    assert_eq!(error("kill -9 $$"), "sh failed (signal: 9 (SIGKILL)): it did not say why");
    assert_eq!(error("echo gibberish"), "the answer has no JSON object with a state");
    assert_eq!(error("true"), "the answer has no JSON object with a state");
    let missing = ask(&client("provider = 'command'\ncommand = ['/no/such/program']"), "x").unwrap_err().to_string();
    assert!(missing.starts_with("cannot run /no/such/program: "), "{missing}");
}

#[test]
fn a_flood_is_cut_off() {
    assert_eq!(error("yes"), "answered more than 64 KiB");
}

#[test]
fn complaints_without_end_block_nobody() {
    let answer = ask(&sh(&format!("head -c 1000000 /dev/zero >&2; echo '{ANSWER}'"), 20), "x");
    assert_eq!(answer.unwrap(), completed());
}

#[test]
fn who_hangs_is_killed_with_all_that_it_started() {
    let dir = TempDir::new().unwrap();
    let client = sh_in("sleep 1000 & echo $! >pid.new; mv pid.new pid; wait", 1, dir.path());
    assert_eq!(ask(&client, "x").unwrap_err().to_string(), "no answer within 1 s");
    assert_gone(&dir);
}

#[test]
fn what_it_leaves_behind_holds_nobody_up() {
    let dir = TempDir::new().unwrap();
    let client = sh_in(&format!("sleep 1000 & echo $! >pid; echo '{ANSWER}'"), 20, dir.path());
    let started = Instant::now();
    assert_eq!(ask(&client, "x").unwrap(), completed());
    assert!(started.elapsed() < Duration::from_secs(15));
    assert_gone(&dir);
}

/// Waits until the process that a script wrote down is gone. Where nobody reaps orphans, a zombie is as good as gone.
fn assert_gone(dir: &TempDir) {
    let pid = fs::read_to_string(dir.path().join("pid")).unwrap().trim().parse().unwrap();
    let is_zombie = || crate::platform::process_stat(pid).is_none_or(|stat| stat.state == 'Z');
    let raw = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let started = Instant::now();
    while test_kill_process(raw).is_ok() && !is_zombie() {
        assert!(started.elapsed() < Duration::from_secs(10), "{pid} still runs");
        std::thread::sleep(Duration::from_millis(10));
    }
}
