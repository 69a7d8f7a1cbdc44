//! Somebody between the daemon and the wrapper of an agent, for what happens in the very moment between a look and a request.
//!
//! It is this test binary itself, in the wrapper and with the agent below it. The daemon looks for a wrapper among the ancestors of the agent,
//! nearest first, and so finds this one, which passes on whatever is said.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{net, thread};

use serde_json::Value;

use super::environment::{AGTMUX, TestEnvironment};
use super::tmux::Tmux;
use super::wait::wait_for;

const ITSELF: &str = "common::middleman::be_a_middleman";

/// What it does besides passing on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Middleman {
    /// Before the first text is passed on, Enter is pressed in the pane, and the wrapper has got it.
    PressesEnter,
    /// What an older wrapper does not say is left out, and what it does not understand is not answered.
    IsOlder,
}

impl Middleman {
    /// Starts the command line of an agent below one, in the wrapper; gives the pane.
    pub(crate) fn start(self, environment: &TestEnvironment, tmux: &Tmux, line: &str) -> String {
        let agent = environment.program("agent", &format!("#!/bin/sh\nexec {line}\n"));
        let program = environment.path("bin/middleman");
        symlink(std::env::current_exe().unwrap(), &program).unwrap();
        let line = format!(
            "exec {AGTMUX} wrap -- env MIDDLEMAN={self:?} MIDDLEMAN_AGENT='{}' MIDDLEMAN_SOCKETS='{}' '{}' {ITSELF} --exact --ignored \
             --nocapture --test-threads=1",
            agent.display(),
            environment.path("run/agtmux/shim").display(),
            program.display()
        );
        tmux.window("main", &line)
    }
}

/// What its process runs.
#[test]
#[ignore = "it is a part of an agent's pane, not a test"]
fn be_a_middleman() {
    let variable = |name: &str| std::env::var(name).unwrap();
    let kind = match variable("MIDDLEMAN").as_str() {
        "PressesEnter" => Middleman::PressesEnter,
        _ => Middleman::IsOlder,
    };
    let sockets = PathBuf::from(variable("MIDDLEMAN_SOCKETS"));
    let wrapper = wait_for("the wrapper", || socket_in(&sockets).ok_or("none"));
    let own = sockets.join(format!("{}.sock", std::process::id()));
    let listener = UnixListener::bind(&own).unwrap();
    thread::spawn(move || {
        let is_pressed = AtomicBool::new(false);
        thread::scope(|scope| {
            for daemon in listener.incoming().flatten() {
                let (wrapper, is_pressed) = (&wrapper, &is_pressed);
                scope.spawn(move || pass_on(kind, daemon, wrapper, is_pressed));
            }
        });
    });
    let status = Command::new(variable("MIDDLEMAN_AGENT")).status();
    fs::remove_file(own).ok();
    exit(status.ok().and_then(|status| status.code()).unwrap_or(1));
}

fn socket_in(sockets: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(sockets).ok()?.flatten().map(|entry| entry.path());
    entries.find(|path| path.extension().is_some_and(|extension| extension == "sock"))
}

/// Passes one request on, and whatever is answered to it until either side hangs up.
fn pass_on(kind: Middleman, daemon: UnixStream, wrapper: &Path, is_pressed: &AtomicBool) {
    let mut asks = BufReader::new(daemon.try_clone().unwrap());
    let mut line = String::new();
    // Some only look whether anybody listens.
    if asks.read_line(&mut line).unwrap_or(0) == 0 {
        return;
    }
    let request: Value = serde_json::from_str(&line).unwrap();
    let mut body = vec![0; usize::try_from(request["length"].as_u64().unwrap_or(0)).unwrap()];
    asks.read_exact(&mut body).unwrap();
    let is_new = ["if_input", "if_stands"].iter().any(|field| request.get(field).is_some());
    if kind == Middleman::IsOlder && is_new {
        return;
    }
    if kind == Middleman::PressesEnter && !body.is_empty() && !is_pressed.swap(true, Ordering::SeqCst) {
        press_enter(wrapper);
    }
    let to_wrapper = UnixStream::connect(wrapper).unwrap();
    (&to_wrapper).write_all(&[line.as_bytes(), &body].concat()).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            std::io::copy(&mut asks, &mut &to_wrapper).ok();
            to_wrapper.shutdown(net::Shutdown::Write).ok();
        });
        for answer in BufReader::new(&to_wrapper).lines().map_while(Result::ok) {
            let answer = if kind == Middleman::IsOlder { as_older(&answer) } else { answer };
            if (&daemon).write_all(format!("{answer}\n").as_bytes()).is_err() {
                break;
            }
        }
        daemon.shutdown(net::Shutdown::Both).ok();
    });
}

/// What a wrapper has said before it knew what stands in the composer.
fn as_older(answer: &str) -> String {
    let mut answer: Value = serde_json::from_str(answer).unwrap();
    let fields = answer.as_object_mut().unwrap();
    fields.remove("protocol");
    fields.remove("stands");
    answer.to_string()
}

fn press_enter(wrapper: &Path) {
    let input = || {
        let mut wrapper = UnixStream::connect(wrapper).unwrap();
        wrapper.write_all(b"{\"do\":\"status\"}\n").unwrap();
        let mut answer = String::new();
        BufReader::new(wrapper).read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()["input"].as_u64().unwrap()
    };
    let before = input();
    let pane = std::env::var("TMUX_PANE").unwrap();
    assert!(Command::new("tmux").args(["send-keys", "-t", &pane, "Enter"]).status().unwrap().success());
    wait_for("the wrapper to get Enter", || if input() > before { Ok(()) } else { Err(before) });
}
