//! Nothing that is said to the socket, or happens to it, is felt by the program (I23).

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::thread;

use agtmux_shim::protocol::{Inject, Request};

use crate::common::{Visitor, Wrapped, inject, shim, wait_for};

/// Whether the program still gets keys and shows what it writes.
#[track_caller]
fn still_passes(wrapped: &mut Wrapped, word: &str) {
    wrapped.keys(word.as_bytes());
    wrapped.wait_screen(word);
    assert!(wrapped.runs());
}

fn echo() -> Wrapped {
    let wrapped = Wrapped::start("stty raw -echo; printf ready; exec cat");
    wrapped.wait_screen("ready");
    wrapped
}

#[test]
fn nonsense_ends_one_connection_and_nothing_else() {
    let mut wrapped = echo();
    let socket = wrapped.socket();
    let large = vec![b'x'; 1 << 20];
    let half = serde_json::to_vec(&Request::Inject(Inject { length: 1_000, ..inject("half") })).unwrap();
    let nested = format!("{{\"do\":{}\n", "[".repeat(4_000));
    let nonsense: Vec<Vec<u8>> = vec![
        b"\n".to_vec(),
        b"\0\0\0\0\n".to_vec(),
        b"{\"do\":\"inject\"}\n".to_vec(),
        b"{\"do\":\"exit\",\"id\":\"x\"}\n".to_vec(),
        vec![0xff; 5_000],
        nested.into_bytes(),
        large,
    ];
    for (round, bytes) in nonsense.iter().cycle().take(70).enumerate() {
        let mut visitor = Visitor::new(&socket);
        visitor.send_raw(bytes);
        assert_eq!(visitor.answer(), None, "{round}");
    }
    // Those who leave in the middle of a request leave nothing behind.
    for round in 0..100 {
        let mut visitor = Visitor::new(&socket);
        visitor.send_raw(&half[..half.len() * (round % 10 + 1) / 10]);
        visitor.send_raw(if round % 10 == 9 { b"\nhalf of it" } else { b"" });
    }
    still_passes(&mut wrapped, "after nonsense");
    wait_for("an answer", || UnixStream::connect(&socket).map(drop));
    assert_eq!(Visitor::new(&socket).status().injections, 0);
}

/// Two hundred who connect and say nothing are put out in time, and keys pass meanwhile.
#[test]
fn a_crowd_is_waited_out() {
    let mut wrapped = echo();
    let socket = wrapped.socket();
    let crowd: Vec<_> = (0..200)
        .map(|_| {
            let socket = socket.clone();
            thread::spawn(move || UnixStream::connect(socket))
        })
        .collect();
    for round in 0..50 {
        still_passes(&mut wrapped, &format!("key {round}."));
    }
    // Whoever comes after them is heard once they are gone, or at the latest when their time is over.
    drop(crowd.into_iter().map(|one| one.join()).take(100).collect::<Vec<_>>());
    assert!(Visitor::new(&socket).status().child > 0);
}

#[test]
fn the_socket_is_private_and_goes_with_the_shim() {
    let mut wrapped = Wrapped::recorder();
    let socket = wrapped.socket();
    wrapped.visitor().status();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(wrapped.sockets()), mode(socket.clone())), (0o700, 0o600));
    // What a killed one left behind is swept away by the next.
    let stale = wrapped.sockets().join("4194303.sock");
    fs::write(&stale, "").unwrap();
    let dir = wrapped.sockets();
    let mut next = Wrapped::start_as(&[shim().to_str().unwrap(), "true"], |command| {
        command.env("AGTMUX_SHIM_DIR", dir);
    });
    next.end();
    assert!(!stale.exists() && socket.exists());
    wrapped.keys(b"x");
    drop(wrapped.wait_log(1));
}

/// Without a place for the socket, with one that others may write, and with a name that is too long: the program runs.
#[test]
fn without_a_socket_the_program_runs_all_the_same() {
    let root = tempfile::tempdir().unwrap();
    let open = root.path().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o777)).unwrap();
    let long = root.path().join("x".repeat(120));
    for dir in ["/proc/nowhere".into(), open.clone(), long] {
        let mut wrapped = Wrapped::start_as(
            &[shim().to_str().unwrap(), "sh", "-c", "stty raw -echo; printf ready; exec cat"],
            |command| {
                command.env("AGTMUX_SHIM_DIR", &dir);
            },
        );
        wrapped.wait_screen("ready");
        still_passes(&mut wrapped, "as ever");
    }
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}

/// A directory that vanishes, and no descriptor left for another connection.
#[test]
fn losses_are_not_felt() {
    let mut wrapped = echo();
    let socket = wrapped.socket();
    let pid = rustix::process::Pid::from_raw(i32::try_from(wrapped.pid()).unwrap());
    let open = fs::read_dir(format!("/proc/{}/fd", wrapped.pid())).unwrap().count() as u64;
    let none = rustix::process::Rlimit { current: Some(open), maximum: Some(1_024) };
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, none).unwrap();
    let mut waiting = UnixStream::connect(&socket).unwrap();
    still_passes(&mut wrapped, "no descriptors");
    let enough = rustix::process::Rlimit { current: Some(1_024), maximum: Some(1_024) };
    rustix::process::prlimit(pid, rustix::process::Resource::Nofile, enough).unwrap();
    waiting.write_all(b"{\"do\":\"status\"}\n").unwrap();
    let mut visitor = Visitor::new(&socket);
    assert!(visitor.status().child > 0);
    fs::remove_dir_all(wrapped.sockets()).unwrap();
    still_passes(&mut wrapped, "no directory");
}
