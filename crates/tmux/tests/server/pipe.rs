//! Passed pipes: raw, complete, never stolen from others, gone with their holder.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use agtmux_tmux::PaneId;
use agtmux_tmux::pipe::{ArmError, Freed, PipeReceiver};
use sha2::{Digest, Sha256};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::support::{DEADLINE, Server, example, wait_until};

const PANE: PaneId = PaneId(0);

fn helper() -> Vec<OsString> {
    vec![example("observe").into(), "--pass".into()]
}

fn pane_pid(server: &Server) -> u32 {
    server.format("%0", "#{pane_pid}").parse().unwrap()
}

#[tokio::test]
async fn every_byte_arrives_unchanged_until_the_pipe_is_taken() {
    // A megabyte with every byte value. The terminal is raw, so that the line discipline changes nothing.
    let directory = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..1_u32 << 20).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let file = directory.path().join("data");
    std::fs::write(&file, &data).unwrap();
    let server = Server::start(&format!("stty raw -echo; read x; cat '{}'; exec sleep 1000", file.display()));
    let (session, _notifications) = server.open().await;
    // Characters that mean something to a shell and to a format, in the path that both get to see.
    let receiver = PipeReceiver::bind(&server.directory().join("it's #{pid} %Y/pipes"), Freed::ByTmux).unwrap();
    let token = receiver.arm(session.control(), PANE, pane_pid(&server), &helper(), DEADLINE).await.unwrap();
    let mut piped = timeout(DEADLINE, receiver.receive()).await.unwrap().unwrap();
    assert_eq!((&piped.token, piped.pane), (&token, PANE));

    wait_until("the pane reads", || {
        server.tmux(["send-keys", "-t", "%0", "C-j"]);
        server.format("%0", "#{history_size}") != "0"
    });
    let mut received = vec![0; data.len()];
    timeout(DEADLINE, piped.stream.read_exact(&mut received)).await.unwrap().unwrap();
    assert_eq!(Sha256::digest(&received), Sha256::digest(&data));

    let again = receiver.arm(session.control(), PANE, pane_pid(&server), &helper(), DEADLINE).await;
    assert!(matches!(again, Err(ArmError::Taken)));
    assert_eq!(server.format("%0", "#{pane_pipe}"), "1");
    server.tmux(["pipe-pane", "-t", "%0", "exec cat >/dev/null"]);
    let count = timeout(DEADLINE, piped.stream.read(&mut received)).await.unwrap().unwrap();
    assert_eq!(count, 0, "the stream ends when somebody else takes the pipe");
}

#[tokio::test]
async fn a_pipe_in_use_another_process_and_a_missing_pane_are_left_alone() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let receiver = PipeReceiver::bind(&server.directory().join("pipes"), Freed::ByTmux).unwrap();
    let pid = pane_pid(&server);
    let arm = |pane, pid| {
        let (receiver, control) = (&receiver, session.control());
        async move { receiver.arm(control, pane, pid, &helper(), DEADLINE).await }
    };
    assert!(matches!(arm(PANE, pid + 1).await, Err(ArmError::Changed)));
    assert!(matches!(arm(PaneId(99), pid).await, Err(ArmError::Changed)));
    let mark = server.directory().join("mine");
    server.tmux(["pipe-pane", "-t", "%0", &format!("echo > '{}'; exec sleep 1000", mark.display())]);
    wait_until("the user's pipe runs", || mark.exists());
    assert!(matches!(arm(PANE, pid).await, Err(ArmError::Taken)));
    assert_eq!(server.format("%0", "#{pane_pipe}"), "1");
}

#[tokio::test]
async fn strangers_at_the_socket_are_ignored() {
    let server = Server::start("exec sleep 1000");
    let (session, _notifications) = server.open().await;
    let path = server.directory().join("run/pipes");
    let receiver = PipeReceiver::bind(&path, Freed::ByTmux).unwrap();
    let mode = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));

    let pass = |token: &str| {
        Command::new(example("observe")).arg("--pass").arg(&path).arg(token).stdin(Stdio::null()).spawn().unwrap()
    };
    let strangers = [pass("nobody asked for this"), pass(""), pass(&"x".repeat(500))];
    drop(std::os::unix::net::UnixStream::connect(&path).unwrap());
    for mut stranger in strangers {
        stranger.wait().unwrap();
    }
    let token = receiver.arm(session.control(), PANE, pane_pid(&server), &helper(), DEADLINE).await.unwrap();
    let piped = timeout(DEADLINE, receiver.receive()).await.unwrap().unwrap();
    assert_eq!(piped.token, token);
    drop(piped);
    wait_until("the pipe is free again", || server.format("%0", "#{pane_pipe}") == "0");
    drop(receiver);
    assert!(!path.exists());
}

#[test]
fn a_pane_goes_on_when_its_observer_is_killed_in_a_flood() {
    let counter = "i=0; while :; do i=$((i+1)); echo line $i of a flood that never ends; echo $i > count; done";
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start_in(directory.path(), counter);
    let count = || -> u64 {
        let text = std::fs::read_to_string(directory.path().join("count")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    };
    let mut grows_beyond = 0;
    let mut wait_for_growth = |what: &str| {
        grows_beyond = grows_beyond.max(count()) + 500;
        wait_until(what, || count() > grows_beyond);
    };
    wait_for_growth("the pane writes");
    for round in 0..5 {
        let mut observer = server.observer(Some(&server.directory().join("pipes")));
        wait_until("the pane is piped", || server.format("%0", "#{pane_pipe}") == "1");
        wait_for_growth("the pane writes while it is observed");
        observer.kill();
        wait_until("the pipe is free", || server.format("%0", "#{pane_pipe}") == "0");
        wait_until("the session is gone", || server.session_names() == ["work"]);
        wait_for_growth(&format!("the pane writes after kill {round}"));
    }
    report_plain_client(&server, &count);
}

/// Shows what the design avoids: the same kill with a plain control client. It is a race, so nothing is asserted.
fn report_plain_client(server: &Server, count: &dyn Fn() -> u64) {
    let mut holder = Command::new("tmux")
        .args(["-C", "-S"])
        .arg(server.socket())
        .args(["attach-session", "-t", "work"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the plain client is attached", || server.format("%0", "#{session_attached}") != "0");
    let mut still = 0;
    let mut last = count();
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(50));
        still += u32::from(count() == last);
        last = count();
    }
    println!("a plain control client that nobody reads: pane frozen in {still} of 20 samples");
    holder.kill().unwrap();
    holder.wait().unwrap();
}
