//! A guarded act lands on exactly the pane it was aimed at, or does nothing (I5).

use std::path::Path;

use agtmux_tmux::act::{Acted, Guard, Mismatch, guarded};
use agtmux_tmux::buffer::Buffer;
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
    ];
    for (wrong, why) in cases {
        match run(&server, &wrong).await {
            Acted::Refused(mismatch) => assert!(mismatch.to_string().starts_with(why), "{mismatch}"),
            Acted::Done(_) => panic!("acted though {why}"),
        }
        untouched(&server);
    }
    for (covers, uncovers, why) in [
        (vec!["copy-mode", "-t", "%0"], vec!["send-keys", "-t", "%0", "-X", "cancel"], Mismatch::InMode),
        (vec!["select-pane", "-d", "-t", "%0"], vec!["select-pane", "-e", "-t", "%0"], Mismatch::InputOff),
        // Keys that are sent to one pane then reach its neighbours too.
        (
            vec!["set-option", "-w", "-t", "%0", "synchronize-panes", "on"],
            vec!["set-option", "-w", "-t", "%0", "synchronize-panes", "off"],
            Mismatch::Synchronized,
        ),
    ] {
        server.tmux(covers);
        assert_eq!(run(&server, &right).await, Acted::Refused(why));
        untouched(&server);
        server.tmux(uncovers);
    }
    assert!(matches!(run(&server, &right).await, Acted::Done(_)));
}

/// Only somebody whose keys go to the pane disturbs it: not who is in another window, and not a session nobody looks at. A
/// window can be linked into several sessions.
#[tokio::test]
async fn it_is_quiet_where_nobody_types() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["new-window", "-d", "-t", "work:", "exec sleep 1000"]);
    let right = guard(&server, PaneId(0)).await;
    let wanted = |quiet_since| Guard { quiet_since: Some(quiet_since), ..right.clone() };
    assert!(matches!(run(&server, &wanted(0)).await, Acted::Done(_)), "nobody is attached");
    server.tmux(["select-pane", "-t", "%0", "-T", ""]);
    // The session that tmux would name for the pane is not the one that somebody looks at.
    server.tmux(["new-session", "-d", "-t", "work", "-s", "other"]);
    let _terminal = server.attach_terminal("other");
    let last: i64 = server.format("=other:", "#{session_activity}").parse().unwrap();
    for since in [last, last - 30] {
        assert_eq!(run(&server, &wanted(since)).await, Acted::Refused(Mismatch::NotQuiet));
        untouched(&server);
    }
    assert!(matches!(run(&server, &wanted(last + 1)).await, Acted::Done(_)), "the last key was before");
    server.tmux(["select-window", "-t", "=other:1"]);
    assert!(matches!(run(&server, &wanted(last)).await, Acted::Done(_)), "the keys go to another window");
}

/// A clock that is set back makes the last key one that is yet to come. Nobody waits until it has caught up with that.
#[tokio::test]
async fn it_is_quiet_when_the_clock_was_set_back_after_the_last_key() {
    let server = Server::start("exec sleep 1000");
    let right = guard(&server, PaneId(0)).await;
    let wanted = |quiet_since| Guard { quiet_since: Some(quiet_since), ..right.clone() };
    let _terminal = server.attach_terminal("work");
    let last: i64 = server.format("=work:", "#{session_activity}").parse().unwrap();
    assert_eq!(run(&server, &wanted(last)).await, Acted::Refused(Mismatch::NotQuiet));
    untouched(&server);
    assert!(matches!(run(&server, &wanted(last - 3_600)).await, Acted::Done(_)), "the clock was set back by an hour");
}

/// Text arrives byte for byte, whatever it says, and no buffer stays.
#[tokio::test]
async fn what_is_pasted_arrives_as_it_is() {
    let server = Server::start("exec sleep 1000");
    let client = plain(&server);
    let long = "long \u{1f9ea} ".repeat(20_000);
    let texts = [
        "plain",
        "ends in ;",
        "-x",
        "#(touch canary) #{pid} $HOME ~ %1",
        "two\nlines\n",
        "tab\tand é 你好 \u{ff} '\"",
        &long,
    ];
    for (number, text) in texts.iter().enumerate() {
        let file = server.directory().join(number.to_string());
        let head = format!("stty raw -echo; printf ready; head -c {} > {}; sleep 1000", text.len(), file.display());
        let pane = server.tmux(["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "work:", &head]);
        let pane = PaneId::parse(pane.as_bytes()).unwrap();
        wait_until("the pane reads", || server.tmux(["capture-pane", "-p", "-t", &pane.to_string()]).contains("ready"));
        let buffer = Buffer::of_this_process(0);
        buffer.load(&client, text.as_bytes(), DEADLINE).await.unwrap();
        let guard = Guard { command: None, ..guard(&server, pane).await };
        let paste = Script::from(&buffer.paste(pane, true));
        let acted = guarded(&client, &guard, &paste, &buffer.clear(), DEADLINE).await.unwrap();
        assert_eq!(acted, Acted::Done(Vec::new()));
        wait_until("all of it has arrived", || {
            std::fs::metadata(&file).is_ok_and(|file| file.len() == u64::try_from(text.len()).unwrap())
        });
        assert!(std::fs::read(&file).unwrap() == text.as_bytes(), "text {number} is another");
        assert_eq!(server.tmux(["list-buffers"]), "");
    }
    assert!(!server.directory().join("canary").exists());
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
    let buffer = Buffer::of_this_process(1);
    buffer.load(&plain(&server), b"secret", DEADLINE).await.unwrap();
    let wrong = Guard { pane_pid: 1, ..guard(&server, PaneId(0)).await };
    let acted = guarded(&plain(&server), &wrong, &act(PaneId(0)), &buffer.clear(), DEADLINE).await.unwrap();
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
