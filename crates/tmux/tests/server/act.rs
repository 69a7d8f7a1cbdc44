//! A guarded act lands on exactly the pane it was aimed at, or does nothing (I5).

use std::path::Path;
use std::time::Duration;

use agtmux_tmux::act::{Acted, Guard, Mismatch, guarded};
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::{Command, PaneId, Plain, Script};

use crate::support::{DEADLINE, Server, wait_until};

fn plain(server: &Server) -> Plain {
    Plain::new(Path::new("tmux"), &server.socket())
}

/// The guard that holds for a pane right now.
async fn guard(server: &Server, pane: PaneId) -> Guard {
    let client = plain(server);
    let (identity, _) = list::identity(&client, DEADLINE).await.unwrap();
    let row = list::pane(&client, pane, Detail::Full, DEADLINE).await.unwrap().unwrap();
    Guard {
        server_pid: identity.pid,
        server_start: identity.start_time,
        pane,
        pane_pid: row.pane_pid,
        command: row.command,
        out_of_mode: true,
        quiet_since: None,
    }
}

/// An act that leaves a trace in the pane's title, and says so.
fn act(pane: PaneId) -> Script {
    let title = Command::new("select-pane").target(pane).opt("-T", "acted");
    Script::new().then(&title).then(&Command::new("display-message").flag("-p").arg("it ran"))
}

async fn run(server: &Server, guard: &Guard) -> Acted {
    guarded(&plain(server), guard, &act(guard.pane), &Script::new(), DEADLINE).await.unwrap()
}

#[track_caller]
fn untouched(server: &Server) {
    let titles = server.tmux(["list-panes", "-a", "-F", "#{pane_title}"]);
    assert!(!titles.lines().any(|title| title == "acted"), "{titles}");
}

#[tokio::test]
async fn it_acts_when_everything_is_as_it_was() {
    let server = Server::start("exec sleep 1000");
    let guard = guard(&server, PaneId(0)).await;
    assert_eq!(guard.command.as_deref(), Some("sleep"));
    assert_eq!(run(&server, &guard).await, Acted::Done(b"it ran\n".to_vec()));
    assert_eq!(server.format("%0", "#{pane_title}"), "acted");
}

#[tokio::test]
async fn it_does_nothing_when_anything_differs() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["split-window", "-d", "-t", "%0", "exec sleep 1000"]);
    let right = guard(&server, PaneId(0)).await;
    let cases = [
        (Guard { server_pid: 1, ..right.clone() }, "it is another tmux server"),
        (Guard { server_start: right.server_start - 1, ..right.clone() }, "it is another tmux server"),
        (Guard { pane: PaneId(9), ..right.clone() }, "the pane is gone"),
        (Guard { pane_pid: 1, ..right.clone() }, "the pane was respawned"),
        (Guard { command: Some("cat".into()), ..right.clone() }, "\"sleep\" is in the foreground"),
        (Guard { quiet_since: Some(0), ..right.clone() }, "somebody is typing"),
    ];
    for (wrong, why) in cases {
        match run(&server, &wrong).await {
            Acted::Refused(mismatch) => assert!(mismatch.to_string().starts_with(why), "{mismatch}"),
            Acted::Done(_) => panic!("acted though {why}"),
        }
        untouched(&server);
    }
    server.tmux(["copy-mode", "-t", "%0"]);
    assert_eq!(run(&server, &right).await, Acted::Refused(Mismatch::InMode));
    untouched(&server);
}

#[tokio::test]
async fn a_pane_that_was_respawned_is_another_one() {
    let server = Server::start("exec sleep 1000");
    let before = guard(&server, PaneId(0)).await;
    server.tmux(["respawn-pane", "-k", "-t", "%0", "exec sleep 1000"]);
    assert!(matches!(run(&server, &before).await, Acted::Refused(Mismatch::Respawned { .. })));
    untouched(&server);
}

#[tokio::test]
async fn a_dead_pane_takes_nothing() {
    let server = Server::start("sleep 1000");
    server.tmux(["set-option", "-w", "-t", "%0", "remain-on-exit", "on"]);
    server.tmux(["split-window", "-d", "-t", "%0", "exec sleep 1000"]);
    let before = guard(&server, PaneId(0)).await;
    crate::support::signal(before.pane_pid, "KILL");
    wait_until("the pane is dead", || server.format("%0", "#{pane_dead}") == "1");
    let after = run(&server, &Guard { command: None, ..before }).await;
    assert!(matches!(after, Acted::Refused(Mismatch::Dead | Mismatch::Respawned { .. })), "{after:?}");
    untouched(&server);
}

/// What was laid out for the act is cleared away when it does not happen.
#[tokio::test]
async fn a_refusal_clears_away() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["set-buffer", "-b", "body", "secret"]);
    let wrong = Guard { pane_pid: 1, ..guard(&server, PaneId(0)).await };
    let clear = Script::from(&Command::new("delete-buffer").opt("-b", "body"));
    let acted = guarded(&plain(&server), &wrong, &act(PaneId(0)), &clear, Duration::from_secs(20)).await.unwrap();
    assert!(matches!(acted, Acted::Refused(_)));
    assert_eq!(server.tmux(["list-buffers"]), "");
}

/// The name of a program is somebody else's text: it never runs, and never widens the guard.
#[tokio::test]
async fn a_hostile_program_name_is_only_compared() {
    let server = Server::start("exec sleep 1000");
    let canary = server.directory().join("canary");
    let name = format!("#(touch {})x,1}}#{{?1,1,1", canary.display());
    let wrong = Guard { command: Some(name), ..guard(&server, PaneId(0)).await };
    assert!(matches!(run(&server, &wrong).await, Acted::Refused(Mismatch::Command { .. })));
    assert!(!canary.exists());
    untouched(&server);
}
