//! Ordinary clients do all that control clients do, and do not endanger the server.

use std::path::Path;
use std::time::Duration;

use agtmux_tmux::hook_queue::{HookKind, HookQueue, HookReader, Verified};
use agtmux_tmux::janitor::Janitor;
use agtmux_tmux::list::{self, Detail};
use agtmux_tmux::pipe::{Freed, PipeReceiver};
use agtmux_tmux::{ClientError, Command, PaneId, Plain, Transport};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::hook_queue::{collect, traces};
use crate::support::{DEADLINE, Server, example, wait_until};

fn plain(server: &Server) -> Plain {
    Plain::new(Path::new("tmux"), &server.socket())
}

async fn install(server: &Server) -> (HookQueue<Plain>, HookReader, Janitor) {
    let helper = [example("observe").into(), "--janitor".into()];
    HookQueue::install_plain(&plain(server), &helper, DEADLINE).await.unwrap()
}

#[tokio::test]
async fn both_ways_give_the_same_rows() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["rename-window", "-t", "=work:", "a\tb ##(touch canary) ü"]);
    server.tmux(["select-pane", "-t", "%0", "-T", "x|y; {z} $HOME"]);
    let (session, _notifications) = server.open().await;
    let by_control = list::panes(session.control(), Detail::Full, DEADLINE).await.unwrap();
    assert_eq!(list::panes(&plain(&server), Detail::Full, DEADLINE).await.unwrap(), by_control);
    let identity = list::identity(session.control(), DEADLINE).await.unwrap();
    assert_eq!(list::identity(&plain(&server), DEADLINE).await.unwrap(), identity);
}

#[tokio::test]
async fn refusals_ends_and_deadlines_are_told_apart() {
    let server = Server::start("exec sleep 1000");
    let plain = plain(&server);
    let missing = Command::new("kill-pane").target("%99");
    assert!(matches!(plain.run(&missing, DEADLINE).await, Err(ClientError::Refused(text)) if text.contains("%99")));
    let say = Command::new("display-message").flag("-p").arg("still there");
    server.signal("STOP");
    assert!(matches!(plain.run(&say, Duration::from_millis(300)).await, Err(ClientError::Timeout)));
    server.signal("CONT");
    assert_eq!(plain.run(&say, DEADLINE).await.unwrap().text(), b"still there");
    server.tmux(["kill-server"]);
    wait_until("the server is gone", || !agtmux_tmux::server::is_alive(&server.socket()));
    assert!(matches!(plain.run(&say, DEADLINE).await, Err(ClientError::Closed { .. })));
    assert!(!agtmux_tmux::server::is_alive(&server.socket()), "a server was started");
}

#[tokio::test]
async fn no_event_is_lost_in_a_burst() {
    let server = Server::start("exec sleep 1000");
    let (_queue, mut reader, _janitor) = install(&server).await;
    let list = (0..400).map(|number| format!("select-pane -t %0 -T list{number}")).collect::<Vec<_>>().join(" ; ");
    server.tmux(["if-shell", "-F", "1", &list]);
    for number in 0..100 {
        server.tmux(["select-pane", "-t", "%0", "-T", &format!("one{number}")]);
    }
    let events = collect(&mut reader, HookKind::TitleChanged, 500).await;
    assert_eq!(events.iter().filter(|event| event.kind == HookKind::TitleChanged).count(), 500);
}

#[tokio::test]
async fn a_cancelled_wait_loses_nothing() {
    let server = Server::start("exec sleep 1000");
    let (_queue, mut reader, _janitor) = install(&server).await;
    for number in 0..30 {
        // Cancelled before, while and after the event happens.
        drop(timeout(Duration::from_micros(number * 150), reader.next_batch()).await);
        server.tmux(["select-pane", "-t", "%0", "-T", &number.to_string()]);
        collect(&mut reader, HookKind::TitleChanged, 1).await;
    }
}

#[tokio::test]
async fn structure_is_told_without_a_control_client() {
    let server = Server::start("exec sleep 1000");
    let (_queue, mut reader, _janitor) = install(&server).await;
    for command in [
        &["new-session", "-d", "-s", "two", "exec sleep 1000"][..],
        &["rename-session", "-t", "=two", "three"],
        &["new-window", "-d", "-t", "=three:", "exec sleep 1000"],
        &["rename-window", "-t", "=three:", "x"],
        &["kill-session", "-t", "=three"],
    ] {
        server.tmux(command);
        collect(&mut reader, HookKind::Structure, 1).await;
    }
}

#[tokio::test]
async fn observers_share_a_server_and_leave_it_as_it_was() {
    let server = Server::start("exec sleep 1000");
    server.tmux(["set-hook", "-g", "pane-title-changed[3]", "display-message user"]);
    let before = traces(&server);
    let (first, _reader, janitor) = install(&server).await;
    let (second, _other_reader, other_janitor) = install(&server).await;
    assert_eq!((first.slot().number(), second.slot().number()), (0, 1));
    // A user who sets a hook without an index wipes the whole array.
    server.tmux(["set-hook", "-g", "pane-title-changed", "display-message again"]);
    assert_eq!(first.verify_and_list(Detail::Light, DEADLINE).await.unwrap().0, Verified::Reinstalled);
    assert_eq!(first.verify_and_list(Detail::Light, DEADLINE).await.unwrap().0, Verified::Intact);
    server.tmux(["set-hook", "-gu", "pane-title-changed[0]"]);
    server.tmux(["set-hook", "-g", "pane-title-changed[3]", "display-message user"]);
    janitor.dismiss().await;
    other_janitor.dismiss().await;
    first.remove(DEADLINE).await.unwrap();
    second.remove(DEADLINE).await.unwrap();
    assert_eq!(traces(&server), before);
}

#[tokio::test]
async fn what_a_dead_observer_left_is_taken_over() {
    let server = Server::start("exec sleep 1000");
    let before = traces(&server);
    let (_dead, _reader, dead_janitor) = install(&server).await;
    dead_janitor.dismiss().await;
    // No process has this number: the kernel's limit lies below.
    server.tmux(["set-environment", "-gh", "AGTMUX_OWNER", "2147483646"]);
    let (queue, _reader, janitor) = install(&server).await;
    janitor.dismiss().await;
    assert_eq!(queue.slot().number(), 0);
    queue.remove(DEADLINE).await.unwrap();
    assert_eq!(traces(&server), before);
}

#[test]
fn a_killed_observer_leaves_nothing_behind() {
    let server = Server::start("exec sleep 1000");
    let before = traces(&server);
    for _ in 0..5 {
        let mut observers = [server.plain_observer(), server.plain_observer()];
        let owners = || server.tmux(["show-environment", "-gh"]).matches("AGTMUX_OWNER").count();
        wait_until("both observe", || owners() == 2);
        for observer in &mut observers {
            observer.kill();
        }
        wait_until("the janitors have been there", || traces(&server) == before);
    }
    wait_until("no client waits any more", || server.tmux(["list-clients"]).is_empty());
}

/// A pane that is silent would keep the pipe of a dead reader for as long as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_pipes_of_a_gone_reader_are_freed_and_no_others() {
    let server = Server::start("exec sleep 1000");
    for _ in 0..2 {
        server.tmux(["split-window", "-t", "%0", "exec sleep 1000"]);
    }
    let receiver = PipeReceiver::bind(&server.directory().join("pipes"), Freed::ByCommand).unwrap();
    let pass = [example("observe").into(), "--pass".into()];
    let pid = |pane: PaneId| server.format(&pane.to_string(), "#{pane_pid}").parse().unwrap();
    let is_piped = |pane: &str| server.format(pane, "#{pane_pipe}") == "1";
    let mut others = 2;
    for is_dismissed in [true, false] {
        let (queue, _reader, janitor) = install(&server).await;
        let notes = janitor.pipe_notes();
        let mut streams = Vec::new();
        for (number, pane) in (0..others).map(|number| (number, PaneId(number))) {
            receiver.arm(&plain(&server), pane, pid(pane), &pass, DEADLINE).await.unwrap();
            let piped = timeout(DEADLINE, receiver.receive()).await.unwrap().unwrap();
            notes.begins(number, piped.pane, piped.pane_pid);
            streams.push(piped.stream);
        }
        if let Some(stream) = streams.get_mut(1) {
            // Somebody takes this one, and has a pipe of their own in the third pane, which runs another process than noted.
            for pane in ["%1", "%2"] {
                server.tmux(["pipe-pane", "-t", pane, "exec cat >/dev/null"]);
            }
            assert_eq!(timeout(DEADLINE, stream.read(&mut [0])).await.unwrap().unwrap(), 0);
            notes.ends(1);
        }
        notes.begins(9, PaneId(2), pid(PaneId(2)) + 1);
        if is_dismissed {
            queue.remove(DEADLINE).await.unwrap();
            janitor.dismiss().await;
            assert!(!is_piped("%0"));
        } else {
            drop(janitor);
            wait_until("the pipe is free", || !is_piped("%0"));
        }
        assert!(is_piped("%1") && is_piped("%2"));
        others = 1;
    }
}

/// With a control client connected, this command line crashes a server up to 3.6, at least.
#[tokio::test]
async fn the_server_survives_a_session_that_comes_and_goes_at_once() {
    let server = Server::start("exec sleep 1000");
    let (_queue, mut reader, _janitor) = install(&server).await;
    for _ in 0..20 {
        let session =
            ["new-session", "-d", "-s", "z", "exec sleep 1000", ";", "new-window", "-t", "z:", "exec sleep 1000"];
        server.tmux(session.into_iter().chain([";", "kill-session", "-t", "z"]));
        collect(&mut reader, HookKind::Structure, 1).await;
    }
    assert_eq!(server.session_names(), ["work"]);
}
