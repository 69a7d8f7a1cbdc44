//! What is typed arrives once, whole, and not in the middle of anything.

use std::thread::sleep;
use std::time::Duration;

use agtmux_shim::keyboard::PASTE_MS;
use agtmux_shim::protocol::{Answer, BODY_LIMIT, Busy, Inject, Paste, Progress, Refusal, Request};

use rustix::process::{Pid, Signal, kill_process};

use crate::common::{Wrapped, inject, wait_for};

fn pasted(body: &[u8]) -> Vec<u8> {
    [b"\x1b[200~", body, b"\x1b[201~\r"].concat()
}

/// I4: byte for byte, from one byte to the largest, marked as a paste because the program asked for it.
#[test]
fn bodies_arrive_exactly() {
    let wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    let mut expected = Vec::new();
    for (number, length) in [1, 10, 4_095, 4_096, 4_097, 65_536, BODY_LIMIT].into_iter().enumerate() {
        let body: Vec<u8> = (0..length).map(|at| b' ' + u8::try_from((at * 7 + number) % 90).unwrap()).collect();
        visitor.inject_to_the_end(&inject(&number.to_string()), &body);
        expected.extend(pasted(&body));
    }
    let lines = "lines\nand\ttabs and ünïcödé 日本 🦀\n\n".as_bytes();
    visitor.inject_to_the_end(&inject("lines"), lines);
    expected.extend(pasted(lines));
    assert!(wrapped.wait_log(expected.len()) == expected);
    assert_eq!(visitor.status().injections, 8);
}

/// A program that did not ask to be told of pastes gets the text alone, and so does one for which that is asked.
#[test]
fn pastes_are_marked_only_for_those_who_asked() {
    let plain = Wrapped::start("stty raw -echo; printf 'ready\\033[?2004h\\033[?2004l'; exec cat >$LOG");
    plain.wait_screen("2004l");
    plain.visitor().inject_to_the_end(&inject("a"), b"text");
    assert_eq!(plain.wait_log(5), b"text\r");
    let marked = Wrapped::recorder();
    marked.visitor().inject_to_the_end(&Inject { paste: Paste::Plain, ..inject("a") }, b"text");
    assert_eq!(marked.wait_log(5), b"text\r");
}

/// I2: once for the life of the agent, whoever asks and how often.
#[test]
fn an_id_is_done_once() {
    let wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    visitor.send(&Request::State { id: "a".to_owned() }, b"");
    assert_eq!(visitor.answer(), Some(Answer::Unseen { id: "a".to_owned() }));
    // The one who asked is gone before it is done.
    wrapped.visitor().send(&Request::Inject(Inject { length: 4, ..inject("a") }), b"text");
    wait_for("the injection to be done", || {
        visitor.send(&Request::State { id: "a".to_owned() }, b"");
        match visitor.answer() {
            Some(Answer::Duplicate { state: Progress::Submitted, .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    });
    for _ in 0..3 {
        let answer = wrapped.visitor().inject(&inject("a"), b"text");
        assert_eq!(answer, Answer::Duplicate { id: "a".to_owned(), state: Progress::Submitted });
    }
    visitor.inject_to_the_end(&inject("b"), b"end");
    assert_eq!(wrapped.wait_log(33), [pasted(b"text"), pasted(b"end")].concat());
}

/// I2: a wrapper that could not listen for a while hears a long text to its end before it says to anybody that it never saw it.
#[test]
fn who_comes_later_is_answered_after_who_came_before() {
    let wrapped = Wrapped::recorder();
    let pid = Pid::from_raw(wrapped.pid().cast_signed()).unwrap();
    let body = vec![b'x'; 100_000];
    kill_process(pid, Signal::STOP).unwrap();
    let mut before = wrapped.visitor();
    before.send(&Request::Inject(Inject { length: body.len(), ..inject("a") }), &body);
    drop(before);
    let mut later = wrapped.visitor();
    later.send(&Request::State { id: "a".to_owned() }, b"");
    kill_process(pid, Signal::CONT).unwrap();
    let answer = later.answer();
    assert!(matches!(answer, Some(Answer::Duplicate { .. })), "{answer:?}");
    assert_eq!(wrapped.wait_log(pasted(&body).len()), pasted(&body));
}

#[test]
fn a_draft_is_left_alone_until_it_is_sent() {
    let mut wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    wrapped.keys(b"half a sen");
    wrapped.wait_log(10);
    assert!(visitor.status().draft);
    assert_eq!(visitor.inject(&inject("a"), b"text"), Answer::Busy { reason: Busy::Draft });
    wrapped.keys(b"tence");
    wrapped.keys(b"\r");
    wrapped.wait_log(16);
    wait_for("no draft", || if visitor.status().draft { Err("a draft") } else { Ok(()) });
    visitor.inject_to_the_end(&inject("a"), b"text");
    assert_eq!(wrapped.wait_log(33), [b"half a sentence\r".as_slice(), &pasted(b"text")].concat());
}

/// Some programs take an Enter that follows a paste too soon for a part of it. It may have sent the draft or not.
#[test]
fn an_enter_right_after_a_paste_sends_nothing_for_sure() {
    let mut wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    wrapped.keys(b"\x1b[200~abc\x1b[201~\r");
    wrapped.wait_log(16);
    assert!(visitor.status().draft);
    assert_eq!(visitor.inject(&inject("a"), b"text"), Answer::Busy { reason: Busy::Draft });
    sleep(Duration::from_millis(PASTE_MS + 200));
    wrapped.keys(b"\r");
    wrapped.wait_log(17);
    assert!(!visitor.status().draft);
}

/// The same when the Enter is pressed later, but the program reads it together with the paste.
#[test]
fn a_paste_that_is_not_read_is_not_over() {
    let line = "stty raw -echo; printf ready; while [ ! -e $LOG.go ]; do sleep 0.01; done; exec cat >$LOG";
    let mut wrapped = Wrapped::start(line);
    wrapped.wait_screen("ready");
    let mut visitor = wrapped.visitor();
    wrapped.keys(b"\x1b[200~abc\x1b[201~");
    sleep(Duration::from_millis(PASTE_MS * 2));
    wrapped.keys(b"\r");
    let status = wait_for("the key", || match visitor.status() {
        status if status.input == 16 => Ok(status),
        status => Err(status.input),
    });
    assert!(status.draft);
    std::fs::write(wrapped.dir.path().join("log.go"), b"").unwrap();
    wrapped.wait_log(16);
    sleep(Duration::from_millis(PASTE_MS + 200));
    wrapped.keys(b"\r");
    wrapped.wait_log(17);
    assert!(!visitor.status().draft);
}

/// What a terminal says by itself is no draft; and what somebody has seen to be empty is not either, until the next key.
#[test]
fn what_is_no_draft_does_not_hinder() {
    let mut wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    wrapped.keys(b"\x1b[I\x1b[<0;3;4M\x1b]11;rgb:0/0/0\x07");
    wrapped.wait_log(27);
    visitor.inject_to_the_end(&inject("a"), b"text");
    wrapped.keys(b"1");
    wrapped.wait_log(45);
    let status = visitor.status();
    assert_eq!((status.draft, status.input), (true, 1));
    let seen = Inject { empty_at: Some(0), ..inject("b") };
    assert_eq!(visitor.inject(&seen, b"text"), Answer::Busy { reason: Busy::Draft });
    visitor.inject_to_the_end(&Inject { empty_at: Some(1), ..seen }, b"text");
}

#[test]
fn a_screen_that_has_changed_is_not_typed_at() {
    let mut wrapped = Wrapped::start("stty raw; printf '\\033[?2004hready'; exec cat >$LOG");
    wrapped.wait_screen("ready");
    let mut visitor = wrapped.visitor();
    let judged = Inject { if_output: Some(visitor.status().output), empty_at: Some(1), ..inject("a") };
    // The terminal echoes it.
    wrapped.keys(b"x");
    wrapped.wait_screen("x");
    assert_eq!(visitor.inject(&judged, b"text"), Answer::Busy { reason: Busy::Modal });
    let output = visitor.status().output;
    visitor.inject_to_the_end(&Inject { if_output: Some(output), ..judged }, b"text");
}

#[test]
fn what_can_never_be_typed_is_refused() {
    let wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    let refused = |reason| Answer::Refused { reason };
    assert_eq!(visitor.inject(&inject("a"), b"x\x1b[201~rm -rf"), refused(Refusal::EndsPaste));
    let long = Inject { before_ms: 1_990, ..inject("b") };
    assert_eq!(visitor.inject(&long, b"text"), refused(Refusal::TooLong));
    let nothing = Inject { submit: String::new(), ..inject("c") };
    assert_eq!(visitor.inject(&nothing, b""), refused(Refusal::Empty));
    // A refusal is not an attempt: the id is free.
    visitor.inject_to_the_end(&inject("a"), b"text");
    assert_eq!(wrapped.wait_log(17), pasted(b"text"));
}

/// I24: Escape first, then the message, in one hold. The person's keys follow, whole and in order.
#[test]
fn an_interruption_does_not_cost_a_key() {
    let mut wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    let urgent = Inject { before: "\x1b".to_owned(), before_ms: 300, delay_ms: 200, ..inject("a") };
    assert!(matches!(visitor.inject(&urgent, b"stop"), Answer::Accepted { .. }));
    for key in b"typed meanwhile" {
        wrapped.keys(&[*key]);
    }
    assert_eq!(visitor.inject(&inject("b"), b"text"), Answer::Busy { reason: Busy::Hold });
    assert_eq!(visitor.answer(), Some(Answer::Submitted { id: "a".to_owned() }));
    let expected = [b"\x1b".as_slice(), &pasted(b"stop"), b"typed meanwhile"].concat();
    assert_eq!(wrapped.wait_log(expected.len()), expected);
}

/// The hold ends after two seconds, also when the program reads nothing: then the keys follow as soon as it reads.
#[test]
fn a_program_that_does_not_read_loses_nothing() {
    let mut wrapped = Wrapped::start("stty raw -echo; printf '\\033[?2004hready'; sleep 3; exec cat >$LOG");
    wrapped.wait_screen("ready");
    let mut visitor = wrapped.visitor();
    let body = vec![b'x'; BODY_LIMIT];
    assert!(matches!(visitor.inject(&inject("a"), &body), Answer::Accepted { .. }));
    wrapped.keys(b"later");
    let expected = [pasted(&body).as_slice(), b"later"].concat();
    assert!(wrapped.wait_log(expected.len()) == expected);
    assert_eq!(visitor.answer(), Some(Answer::Submitted { id: "a".to_owned() }));
}

/// Whoever asked dies before they said whether it may be submitted: what the person types meanwhile is not added to it.
#[test]
fn what_is_abandoned_is_submitted_before_the_keys() {
    let mut wrapped = Wrapped::recorder();
    let mut asks = wrapped.visitor();
    let answer = asks.inject(&Inject { waits: true, hold_ms: 400, ..inject("a") }, b"text");
    assert_eq!(answer, Answer::Accepted { id: "a".to_owned() });
    drop(asks);
    wrapped.keys(b"mine");
    let expected = b"\x1b[200~text\x1b[201~\rmine";
    assert_eq!(wrapped.wait_log(expected.len()), expected);
}

/// What waits to be allowed is submitted when it is, with the keys of the person held until then; and what is not allowed stays.
#[test]
fn what_waits_is_submitted_when_it_may_be() {
    let mut wrapped = Wrapped::recorder();
    let (mut asks, mut allows) = (wrapped.visitor(), wrapped.visitor());
    let mut submit = |id: &str| {
        allows.send(&Request::Submit { id: id.to_owned() }, b"");
        allows.answer().unwrap()
    };
    let id = "a".to_owned();
    assert_eq!(submit("a"), Answer::Unseen { id: id.clone() });
    assert_eq!(asks.inject(&Inject { waits: true, ..inject("a") }, b"text"), Answer::Accepted { id: id.clone() });
    let body = b"\x1b[200~text\x1b[201~";
    assert_eq!(wrapped.wait_log(body.len()), body);
    wrapped.keys(b"mine");
    wait_for("it to wait", || match submit("a") {
        Answer::Accepted { .. } => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(asks.answer(), Some(Answer::Submitted { id: id.clone() }));
    let expected = [&body[..], b"\rmine"].concat();
    assert_eq!(wrapped.wait_log(expected.len()), expected);
    assert_eq!(submit("a"), Answer::Duplicate { id, state: Progress::Submitted });
    // The draft is sent, so that another may be asked for.
    wrapped.keys(b"\r");
    let id = "b".to_owned();
    wait_for("another one", || match asks.inject(&Inject { waits: true, hold_ms: 300, ..inject("b") }, b"more") {
        Answer::Accepted { .. } => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(asks.answer(), Some(Answer::Left { id: id.clone() }));
    assert_eq!(submit("b"), Answer::Duplicate { id: id.clone(), state: Progress::Pasted });
    let expected = [&expected[..], b"\r\x1b[200~more\x1b[201~"].concat();
    assert_eq!(wrapped.wait_log(expected.len()), expected);
    // It stands there: nothing is put behind it, until its own Enter has been pressed.
    wait_for("the hold to end", || if asks.status().hold { Err("hold") } else { Ok(()) });
    assert_eq!((asks.status().draft, asks.status().stands), (true, Some(id.clone())));
    assert_eq!(asks.inject(&inject("c"), b"another"), Answer::Busy { reason: Busy::Draft });
    asks.inject_to_the_end(&Inject { if_stands: Some(id), ..inject("enter") }, b"");
    asks.inject_to_the_end(&inject("c"), b"another");
    let expected = [&expected[..], b"\r", &pasted(b"another")].concat();
    assert_eq!(wrapped.wait_log(expected.len()), expected);
}

/// What was sent since somebody looked is not taken away and typed again. `empty_at` does not mind an Enter: nothing is a draft behind it.
#[test]
fn a_text_that_was_sent_meanwhile_is_not_typed_again() {
    let mut wrapped = Wrapped::recorder();
    let mut visitor = wrapped.visitor();
    wrapped.keys(b"mine");
    wrapped.wait_log(4);
    let judged = visitor.status().input;
    let again = "\r\x1b[200~mine\x1b[201~".to_owned();
    let aside = Inject {
        before: "\x05\x15".to_owned(),
        submit: again.clone(),
        even_if_draft: true,
        if_input: Some(judged),
        ..inject("a")
    };
    wrapped.keys(b"\r");
    wrapped.wait_log(5);
    assert!(!visitor.status().draft);
    assert_eq!(visitor.inject(&aside, b"text"), Answer::Busy { reason: Busy::Draft });
    // As long as it was not sent it goes, and is a draft as before.
    wrapped.keys(b"more");
    wrapped.wait_log(9);
    let judged = visitor.status().input;
    visitor.inject_to_the_end(&Inject { if_input: Some(judged), ..aside }, b"text");
    let expected = ["mine\rmore\x05\x15\x1b[200~text\x1b[201~", &again].concat();
    assert_eq!(wrapped.wait_log(expected.len()), expected.as_bytes());
    assert!(visitor.status().draft);
}
