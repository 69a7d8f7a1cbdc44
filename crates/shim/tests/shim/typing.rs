//! A person who types while messages come: not a byte of either is lost, and neither is in the other's way (I3).

use std::thread;
use std::time::Duration;

use agtmux_shim::protocol::{Answer, Inject};

use crate::common::{Wrapped, inject};

/// How many messages are sent to each of the typists.
fn messages() -> usize {
    std::env::var("AGTMUX_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(10)
}

#[test]
fn lines_and_messages_never_mix() {
    let mut wrapped = Wrapped::recorder();
    let socket = wrapped.socket();
    let messages = messages();
    let sender = thread::spawn(move || {
        let mut busy = 0;
        for number in 0..messages {
            let request = Inject { delay_ms: 30, ..inject(&number.to_string()) };
            let body = format!("message {number}: hello;\nwith a second line");
            // Each asks anew until it is its turn, on a connection of its own.
            loop {
                let mut visitor = crate::common::Visitor::new(&socket);
                match visitor.inject(&request, body.as_bytes()) {
                    Answer::Accepted { .. } => {
                        assert!(matches!(visitor.answer(), Some(Answer::Submitted { .. })));
                        break;
                    }
                    Answer::Busy { .. } => busy += 1,
                    other => panic!("{other:?}"),
                }
                thread::sleep(Duration::from_millis(3));
            }
        }
        busy
    });
    let mut typed = Vec::new();
    let mut lines = 0;
    while !sender.is_finished() {
        // Whole characters and sequences, some cut in the middle.
        for piece in [&b"ihid "[..], "日".as_bytes(), &[0xc3], &[0xbc], b"\x1b[", b"D", b"x", b"\x1b[I", b"\r"] {
            wrapped.keys(piece);
            typed.extend_from_slice(piece);
            thread::sleep(Duration::from_millis(2));
        }
        lines += 1;
        thread::sleep(Duration::from_millis(20));
    }
    let busy = sender.join().unwrap();
    let bodies: usize =
        (0..messages).map(|number| format!("message {number}: hello;\nwith a second line").len() + 13).sum();
    let log = wrapped.wait_log(typed.len() + bodies);
    let (left, seen) = without_messages(&log);
    assert_eq!(seen, (0..messages).collect::<Vec<_>>());
    assert!(left == typed, "{} bytes of {} were typed", left.len(), typed.len());
    assert!(busy > 0 && lines > 0, "nobody was in anybody's way: {busy} {lines}");
}

/// Takes the messages out of what a program read. Each is whole, and begins where a line of the person's ended.
fn without_messages(log: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut left, mut seen) = (Vec::new(), Vec::new());
    let mut rest = log;
    while let Some(at) = rest.windows(6).position(|window| window == b"\x1b[200~") {
        left.extend_from_slice(&rest[..at]);
        assert!(
            left.is_empty() || left.ends_with(b"\r") || left.ends_with(b"\x1b[I"),
            "{:?}",
            String::from_utf8_lossy(&left)
        );
        let end = rest.windows(7).position(|window| window == b"\x1b[201~\r").unwrap();
        let body = std::str::from_utf8(&rest[at + 6..end]).unwrap();
        let number = body.strip_prefix("message ").unwrap().split(':').next().unwrap().parse().unwrap();
        assert_eq!(body, format!("message {number}: hello;\nwith a second line"));
        seen.push(number);
        rest = &rest[end + 7..];
    }
    left.extend_from_slice(rest);
    (left, seen)
}
