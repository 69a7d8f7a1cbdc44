//! The hidden session appears, is shared, and vanishes.

use std::path::Path;
use std::time::Duration;

use agtmux_tmux::client::ClientError;
use agtmux_tmux::command::Command;
use agtmux_tmux::server;
use agtmux_tmux::session::{HiddenSession, SessionError};

use crate::support::{DEADLINE, Server, wait_until};

#[tokio::test]
async fn nothing_ever_starts_a_server() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("none");
    let opened = HiddenSession::open(Path::new("tmux"), &socket, DEADLINE).await;
    assert!(matches!(opened, Err(SessionError::NoServer(_))));
    assert!(!socket.exists());
    // A socket file that nobody listens on, as a killed server leaves it.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(!server::is_alive(&socket));
    let opened = HiddenSession::open(Path::new("tmux"), &socket, DEADLINE).await;
    assert!(matches!(opened, Err(SessionError::NoServer(_))));
    assert!(!server::is_alive(&socket));
}

#[tokio::test]
async fn a_server_that_dies_just_before_is_not_started_again() {
    // Something listens when it is asked, and is gone when the tmux client comes.
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("s");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let closing = std::thread::spawn(move || drop(listener.accept()));
    let opened = HiddenSession::open(Path::new("tmux"), &socket, DEADLINE).await;
    closing.join().unwrap();
    assert!(matches!(opened, Err(SessionError::NoServer(_))), "{opened:?}");
    assert!(!server::is_alive(&socket));
}

#[tokio::test]
async fn observers_take_one_slot_each_and_leave_nothing() {
    let server = Server::start("exec sleep 1000");
    // A leftover that nobody is attached to is replaced, and does not cost a slot.
    server.tmux(["new-session", "-d", "-s", "_agtmux", "exec sleep 1000"]);
    let (first, _first_notifications) = server.open().await;
    let (second, _second_notifications) = server.open().await;
    assert_eq!(server.session_names(), ["_agtmux", "_agtmux-1", "work"]);
    assert_eq!((first.slot().number(), second.slot().number()), (0, 1));
    assert_eq!(server.format("_agtmux", "#{session_attached}"), "2");

    first.close(DEADLINE).await;
    assert_eq!(server.session_names(), ["_agtmux-1", "work"]);
    let (third, _third_notifications) = server.open().await;
    assert_eq!(third.slot().number(), 0);
    drop((second, third));
    wait_until("the sessions are gone", || server.session_names() == ["work"]);
    assert_eq!(server.tmux(["list-clients"]), "");
}

/// A client that still has something to write when its reader dies would hang in tmux 3.3a, and its session with it.
#[test]
fn who_dies_in_the_middle_of_an_answer_leaves_nothing() {
    let server = Server::start("exec sleep 1000");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (session, _notifications) = runtime.block_on(server.open());
    let clients = server.tmux(["list-clients", "-F", "#{client_pid}"]);
    server.signal("STOP");
    let unanswered = runtime.block_on(session.control().run(&Command::new("list-keys"), Duration::from_millis(100)));
    assert!(matches!(unanswered, Err(ClientError::Timeout)), "{unanswered:?}");
    // As a process that is killed: every descriptor is closed, and nobody ends the clients.
    std::mem::forget(session);
    drop(runtime);
    server.signal("CONT");
    wait_until("the session is gone", || server.session_names() == ["work"]);
    wait_until("the clients have ended", || clients.lines().all(|pid| !is_running(pid)));
}

#[tokio::test]
async fn hostile_global_options_neither_remove_nor_move_the_clients() {
    let server = Server::start("exec sleep 1000");
    let _terminal = server.attach_terminal("work");
    server.tmux(["set-option", "-g", "destroy-unattached", "on"]);
    server.tmux(["set-option", "-g", "detach-on-destroy", "off"]);
    server.tmux(["set-option", "-g", "default-command", "exit 1"]);
    let (session, _notifications) = server.open().await;
    assert_eq!(server.session_names(), ["_agtmux", "work"]);
    // When our session is killed its clients must go, not turn up in the session of the user.
    server.tmux(["kill-session", "-t", "=_agtmux"]);
    session.control().closed().await;
    session.waiter().closed().await;
    wait_until("only the terminal is left", || server.format("=work:", "#{session_attached}") == "1");
}

#[tokio::test]
async fn the_server_exits_when_we_close_after_the_last_user_session() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    server.tmux(["kill-session", "-t", "=work"]);
    let names = server.session_names();
    assert!(agtmux_tmux::session::only_hidden(names.iter().map(|name| name.as_bytes())));
    session.close(DEADLINE).await;
    wait_until("the server has exited", || !server::is_alive(&server.socket()));
}

#[test]
fn live_sockets_are_discovered_and_dead_ones_are_not() {
    let server = Server::start("exec sleep 1000");
    std::fs::write(server.directory().join("file"), "").unwrap();
    drop(std::os::unix::net::UnixListener::bind(server.directory().join("dead")).unwrap());
    assert_eq!(server::discover(server.directory()).unwrap(), [server.socket()]);
    assert_eq!(server::discover(Path::new("/nonexistent")).unwrap(), Vec::<std::path::PathBuf>::new());
    // A stopped server is there, and asking does not hang.
    server.signal("STOP");
    for _ in 0..300 {
        assert!(server::is_alive(&server.socket()));
    }
}

fn is_running(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
}
