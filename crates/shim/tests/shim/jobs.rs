//! Job control: a shell in the pane can suspend and continue what runs behind the shim, as without it.

use std::thread::sleep;
use std::time::Duration;

use crate::common::{Pane, Server, Wrapped, shim};

fn shell(server: &Server) -> Pane<'_> {
    let pane = server.pane("exec bash --norc --noprofile -i");
    pane.wait("$");
    pane
}

/// Ctrl-Z, by a program that is stopped by its terminal, and by one that reads the key and stops itself.
#[test]
fn a_suspended_program_gives_the_shell_back() {
    let server = Server::start();
    for program in ["cat", "vim -u NONE -N"] {
        let pane = shell(&server);
        pane.line(&format!("{} {program}", shim().display()));
        if program == "cat" {
            pane.line("echoed");
            pane.wait("echoed\nechoed");
        } else {
            pane.wait("~\n~");
        }
        for round in 0..3 {
            pane.keys(&["C-z"]);
            pane.wait("Stopped");
            pane.line(&format!("clear; stty -a; echo round {round}"));
            pane.wait(&format!("\nround {round}"));
            assert!(pane.text().contains(" icanon "), "{}", pane.text());
            pane.line("clear; fg");
            if program == "cat" {
                // What the shell says when it brings a job back.
                pane.wait("cat");
                pane.line(&format!("again {round}"));
                pane.wait(&format!("again {round}\nagain {round}"));
            } else {
                pane.wait("~\n~");
            }
        }
        pane.keys(if program == "cat" { &["C-c"] } else { &[":q", "Enter"] });
        pane.wait("$");
        pane.line("echo status $?");
        pane.wait(if program == "cat" { "status 130" } else { "status 0" });
    }
}

/// Where no shell could continue it, a program is not suspended for ever.
#[test]
fn without_a_shell_a_suspended_program_goes_on() {
    let server = Server::start();
    let pane = server.pane(&format!("exec {} cat", shim().display()));
    pane.line("ready");
    pane.wait("ready\nready");
    for round in 0..3 {
        pane.keys(&["C-z"]);
        pane.line(&format!("line {round}"));
        pane.wait(&format!("line {round}\nline {round}"));
    }
}

/// A job that is killed while it is suspended is gone, shim and all.
#[test]
fn a_suspended_job_can_be_killed() {
    let server = Server::start();
    let pane = shell(&server);
    pane.line(&format!("{} cat", shim().display()));
    pane.line("echoed");
    pane.wait("echoed\nechoed");
    pane.keys(&["C-z"]);
    pane.wait("Stopped");
    pane.line("kill %1; wait %1; echo status $?; pgrep -P $$ || echo nobody");
    pane.wait("nobody");
}

/// Keys that are pressed while the program is on its way do not keep it from arriving.
#[test]
fn a_key_at_the_very_start_stops_nothing() {
    for round in 0..40 {
        let mut wrapped = Wrapped::start("echo up >$LOG; exec cat");
        // At another moment of the start in each round.
        for _ in 0..10 {
            wrapped.keys(b"\x1a");
            sleep(Duration::from_micros(round * 50));
        }
        // Not on the screen: the key also throws away what is on its way there.
        wrapped.wait_log(3);
        wrapped.keys(b"line\n");
        wrapped.wait_screen("line\r\nline");
    }
}
