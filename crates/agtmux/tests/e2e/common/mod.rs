//! What the tests stand on: an isolated environment, tmux servers, scripted agents, and waiting with a deadline.

mod agent;
#[cfg(target_os = "linux")]
mod clocks;
mod conversation;
mod environment;
mod http;
mod middleman;
#[cfg(target_os = "linux")]
mod opencode;
pub(crate) mod plugin;
mod run;
mod terminal;
mod tmux;
mod tui;
mod wait;

pub(crate) use agent::{FakeAgent, SCRIPT};
#[cfg(target_os = "linux")]
pub(crate) use clocks::MovedDaemon;
pub(crate) use environment::{AGTMUX, TestEnvironment};
pub(crate) use http::{raw_request, request};
pub(crate) use middleman::Middleman;
#[cfg(target_os = "linux")]
pub(crate) use opencode::Opencode;
pub(crate) use run::{Background, Run};
pub(crate) use terminal::Terminal;
pub(crate) use tmux::{Tmux, difference};
pub(crate) use tui::Composer;
pub(crate) use wait::{DEADLINE, PROMISED, wait_for, wait_within};

use std::path::Path;

/// Whether a process is there and not merely waiting to be reaped.
pub(crate) fn is_alive(pid: u32) -> bool {
    !agtmux::platform::has_ended(pid)
}

/// Sends a signal to a process that the test started.
pub(crate) fn kill(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    // A process that is gone already is as the test wants it.
    rustix::process::kill_process(pid, signal).ok();
}

/// Text with everything taken out that differs from run to run: the environment's path, ids, pids and times.
pub(crate) fn redacted(text: &str, root: &Path) -> String {
    let text = text.replace(&root.display().to_string(), "[ROOT]");
    let patterns = [
        (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[TIME]"),
        (r"rt_[0-9a-z]+", "[RUNTIME]"),
        (r"\bpid \d+", "pid [PID]"),
        (r"\b\d+s ago", "[AGE] ago"),
        (r"for \d+s\b", "for [AGE]"),
        (r"event \d+", "event [SEQ]"),
    ];
    patterns
        .iter()
        .fold(text, |text, (pattern, with)| regex::Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned())
}
