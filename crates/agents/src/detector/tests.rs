//! The rules of the detector, each by example.

use super::*;

fn sightings(stream: &str) -> Vec<Sighting> {
    let mut out = Vec::new();
    SignalDetector::new().feed(stream.as_bytes(), &mut out);
    out
}

fn said(state: &str, message: &str) -> Statement {
    Statement::new(state, message).unwrap()
}

fn marker(state: &str, message: &str) -> Sighting {
    Sighting::Marker(said(state, message))
}

fn near_miss(stream: &str) -> Miss {
    match sightings(stream).as_slice() {
        [Sighting::NearMiss { why, .. }] => *why,
        other => panic!("{stream:?} gave {other:?}"),
    }
}

#[test]
fn a_marker_is_a_line_of_its_own() {
    assert_eq!(sightings("hi\r\n--<[schmux:completed:all done]>--\r\n"), [marker("completed", "all done")]);
    assert_eq!(sightings("--<[schmux:working:]>--\n"), [marker("working", "")]);
    assert_eq!(sightings("--<[schmux:error:a: b]>--\n"), [marker("error", "a: b")]);
    assert_eq!(near_miss("say --<[schmux:completed:done]>--\n"), Miss::NotAlone);
    assert_eq!(near_miss("--<[schmux:completed:done]>-- to end\n"), Miss::NotAlone);
    assert_eq!(near_miss("❯ --<[schmux:completed:done]>--\n"), Miss::NotAlone);
    assert_eq!(near_miss("--<[schmux:error:a]>----<[schmux:error:b]>--\n"), Miss::NotAlone);
}

#[test]
fn a_near_miss_tells_the_cleaned_line() {
    let stream = "--<[schmux:\x1b[1mcomplete:\x1b[0mwhat\x1b[2Cnow]>-- \r\n";
    let line = "--<[schmux:complete:what  now]>--".to_owned();
    assert_eq!(sightings(stream), [Sighting::NearMiss { line, why: Miss::UnknownState }]);
    assert_eq!(near_miss("--<[schmux:completed:a message that the pane wra\r\nps]>--\r\n"), Miss::NotClosed);
    let wrapped = "● --<[schmux:completed:one\r\n  two  \r\n  three\r\n\r\n";
    let line = "--<[schmux:completed:one two three".to_owned();
    assert_eq!(sightings(wrapped), [Sighting::NearMiss { line, why: Miss::NotClosed }]);
    // The name alone is nobody's mistake.
    assert_eq!(sightings("~/src/schmux: on main\r\n"), []);
}

/// F3: what is drawn by cursor moves is read as it stands on the screen.
#[test]
fn lines_are_those_of_the_screen() {
    let completed = [marker("completed", "all is done")];
    for drawn in [
        // Claude: absolute columns between words, a bullet, then down.
        "\x1b[H\r\x1b[8B\x1b[38;5;231m●\x1b[3G\x1b[39m--<[schmux:completed:all\x1b[28Gis\x1b[31Gdone]>--\x1b[K\r\x1b[2Bmore",
        // Codex: a row and column before each word.
        "\x1b[34;1H•\x1b[34;3H--<[schmux:completed:all\x1b[34;28His\x1b[34;31Hdone]>--\x1b[35;1Hmore",
        // opencode: a row and column before each run of cells, without a gap.
        "\x1b[5;3H--<[sch\x1b[5;10H\x1b[1mmux:completed:all \x1b[5;28Hi\x1b[5;29Hs done]>--\x1b[6;3Hmore",
        // Gemini: its line is erased and written again.
        "old text\x1b[2K\x1b[1A\x1b[2K\x1b[G✦ --<[schmux:completed:all is done]>--\r\n",
        // Copilot: a scroll bar at the right.
        " \x1b[34m●\x1b[m --<[schmux:completed:all is done]>--\x1b[97C┃\r\r\n",
        // A line that is written over.
        "working...\r--<[schmux:completed:all\x1b[Cis\x1b[Cdone]>--\x1b[Bmore",
    ] {
        assert_eq!(sightings(drawn), completed, "{drawn:?}");
    }
}

/// Agents wrap long lines and indent what goes on below.
#[test]
fn a_marker_goes_on_in_indented_rows() {
    let question = [marker("needs_input", "Which of the two ports is to be used, 8080 or 9090?")];
    for drawn in [
        "--<[schmux:needs_input:Which of the two ports\n  is to be used, 8080 or 9090?]>--\n",
        "● --<[schmux:needs_input:Which of the two\r\n  ports is to be used,\r\n  8080 or 9090?]>--\r\n",
        "● --<[schmux:needs_input:Which of the two ports\r\x1b[1B\x1b[3Gis to be used,\x1b[C8080 or 9090?]>--\r\x1b[2Bmore",
        "\x1b[34;1H•\x1b[34;3H--<[schmux:needs_input:Which of the two ports\x1b[35;3His to be used, 8080 or 9090?]>--\x1b[37;1Hmore",
        "│ --<[schmux:needs_input:Which of the two ports   │\r\n│ is to be used, 8080 or 9090?]>--   │\r\n",
        "  --<[schmux:needs_input:Which of the two ports is to be used, 8080 or 9090?]\n  >--\n",
    ] {
        assert_eq!(sightings(drawn), question, "{drawn:?}");
        let mut detector = SignalDetector::new();
        let mut out = Vec::new();
        for byte in drawn.as_bytes() {
            detector.feed(std::slice::from_ref(byte), &mut out);
        }
        assert_eq!(out, question, "{drawn:?} byte by byte");
    }
}

#[test]
fn what_stands_below_is_not_always_the_rest_of_a_marker() {
    for other in [
        "--<[schmux:needs_input:a\r\n\r\n  b]>--\r\n",
        "--<[schmux:needs_input:a\r\nb]>--\r\n",
        "--<[schmux:needs_input:a\r\x1b[2B  b]>--\r\n",
        "--<[schmux:needs_input:a\x1b[A  b]>--\r\n",
        "--<[schmux:needs_input:a\r  b]>--\r\n",
        "say --<[schmux:needs_input:a\r\n  b]>--\r\n",
    ] {
        assert!(matches!(near_miss(other), Miss::NotClosed | Miss::NotAlone), "{other:?}");
    }
    let two = sightings("--<[schmux:needs_input:a\r\n  --<[schmux:completed:b]>--\r\n");
    let line = "--<[schmux:needs_input:a".to_owned();
    assert_eq!(two, [Sighting::NearMiss { line, why: Miss::NotClosed }, marker("completed", "b")]);
}

/// F2: reads end anywhere.
#[test]
fn a_marker_may_come_in_pieces() {
    let stream = "text\r\n\x1b[2m●\x1b[0m --<[sch\x1b[1mmux:needs_input:which\x1b[1Cone?]>\x1b[m--\r\n\x1b]0;t\x07\x1b]9;n\x1b\\\x07";
    let whole = sightings(stream);
    assert_eq!(whole.len(), 4);
    for first in 0..stream.len() {
        for second in first..stream.len() {
            let mut detector = SignalDetector::new();
            let mut out = Vec::new();
            for piece in [0..first, first..second, second..stream.len()] {
                detector.feed(&stream.as_bytes()[piece], &mut out);
            }
            assert_eq!(out, whole, "cut at {first} and {second}");
        }
    }
}

/// The line ends in the midst of a sequence, and the sequence goes on: what is left of it is no text.
#[test]
fn a_marker_may_follow_a_sequence_with_the_end_of_a_line_in_it() {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    let before = format!("{}\x1b[3\r\n1m", "text ".repeat(100));
    detector.feed(before.as_bytes(), &mut out);
    detector.feed(b"--<[schmux:completed:]>--\r\n", &mut out);
    assert_eq!(out, [marker("completed", "")]);
}

#[test]
fn a_line_without_an_end_counts_after_a_while() {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed(b"--<[schmux:completed:half of", &mut out);
    assert!(!detector.pending(), "an agent may write slowly");
    detector.flush(&mut out);
    detector.feed(b" it]>--", &mut out);
    assert!(detector.pending() && out.is_empty());
    detector.flush(&mut out);
    assert_eq!(out, [marker("completed", "half of it")]);
    detector.feed(b"\r\n", &mut out);
    assert!(!detector.pending() && out.len() == 1, "its end is no second marker");
}

/// F4: a nudge must not come back because the screen is drawn again.
#[test]
fn a_redraw_is_no_news() {
    let question = "--<[schmux:needs_input:a?]>--\r\n";
    let working = "--<[schmux:working:]>--\r\n";
    let done = "--<[schmux:completed:b]>--\r\n";
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed([question, working, done].concat().as_bytes(), &mut out);
    assert_eq!(out.len(), 3);
    detector.feed(format!("{done}\x1b[H\x1b[2J{question}text\r\n{working}{done}").as_bytes(), &mut out);
    assert!(!detector.pending());
    assert_eq!(out.len(), 3, "the same screen says the same");
}

#[test]
fn the_same_said_again_is_news_once_it_is_clear_that_nothing_follows() {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed(b"--<[schmux:completed:done]>--\r\n--<[schmux:working:]>--\r\n", &mut out);
    detector.feed(b"--<[schmux:completed:done]>--\r\nsome text\r\n", &mut out);
    assert!(detector.pending() && out.len() == 2);
    detector.flush(&mut out);
    assert_eq!(out.pop(), Some(marker("completed", "done")));
    assert!(!detector.pending());
}

#[test]
fn osc_sequences() {
    let notify = |title: Option<&str>, body: Option<&str>| Sighting::Notify {
        title: title.map(str::to_owned),
        body: body.map(str::to_owned),
    };
    let program = |state: &str, kind: Option<&str>| Sighting::Program {
        state: state.to_owned(),
        kind: kind.map(str::to_owned),
        app: (state != "clear").then(|| "codex".to_owned()),
    };
    for (payload, expected) in [
        ("0;✦  Working", Some(Sighting::Title("✦  Working".to_owned()))),
        ("2;", Some(Sighting::Title(String::new()))),
        ("9;Approval requested: ls; rm", Some(notify(None, Some("Approval requested: ls; rm")))),
        ("9;4;1;40", Some(Sighting::Progress { state: 1, percent: Some(40) })),
        ("9;4;3;", Some(Sighting::Progress { state: 3, percent: None })),
        ("9;9;/tmp", None),
        ("99;;hello", Some(notify(Some("hello"), None))),
        ("99;i=1:d=1:p=body;world", Some(notify(None, Some("world")))),
        ("99;e=1;aGVsbG8=", Some(notify(None, None))),
        ("99;i=1:p=close;", None),
        ("133;A", Some(Sighting::Prompt(PromptMark::PromptStart))),
        ("133;B", Some(Sighting::Prompt(PromptMark::InputStart))),
        ("133;C;cmdline=x", Some(Sighting::Prompt(PromptMark::OutputStart))),
        ("133;D;130", Some(Sighting::Prompt(PromptMark::CommandEnd { exit: Some(130) }))),
        ("133;D", Some(Sighting::Prompt(PromptMark::CommandEnd { exit: None }))),
        ("777;notify;completed;done; really", Some(Sighting::Osc777(said("completed", "done; really")))),
        ("777;notify;needs_testing;", Some(Sighting::Osc777(said("needs_testing", "")))),
        ("777;notify;Build;failed", Some(notify(Some("Build"), Some("failed")))),
        ("7501;state=blocked:app=codex:kind=permission", Some(program("blocked", Some("permission")))),
        ("7501;state=clear", Some(program("clear", None))),
        ("7501;?", None),
        ("8;;http://example.com", None),
        ("52;c;aGVsbG8=", None),
    ] {
        let expected: Vec<_> = expected.into_iter().collect();
        assert_eq!(sightings(&format!("a\x1b]{payload}\x07b")), expected, "{payload} BEL");
        assert_eq!(sightings(&format!("a\x1b]{payload}\x1b\\b")), expected, "{payload} ST");
        assert_eq!(sightings(&format!("\x1bPtmux;\x1b\x1b]{payload}\x07\x1b\\")), expected, "{payload} passed through");
    }
}

#[test]
fn a_bell_is_one_that_ends_nothing() {
    assert_eq!(sightings("\x07"), [Sighting::Bell]);
    assert_eq!(sightings("a\x07b\x1b[1\x07m"), [Sighting::Bell, Sighting::Bell]);
    assert_eq!(sightings("\x1b]112\x07\x1bPq\x07\x1b\\\x1b_G\x07\x1b\\"), []);
}

/// A string may be ended by the ESC of the next one, of which only the beginning is here.
#[test]
fn a_string_is_told_once() {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed(b"\x1b]9;a\x1b]9;b", &mut out);
    assert_eq!(out.len(), 1);
    detector.feed(b"\x1b\xff\xff_\x07\x1b\\", &mut out);
    assert_eq!(out.len(), 2);
}

#[test]
fn a_title_is_told_when_it_changes() {
    let titles = sightings("\x1b]0;a\x07\x1b]2;a\x07\x1b]0;b\x07\x1b]0;\x07\x1b]0;\x07\x1b]0;a\x07");
    let expected = ["a", "b", "", "a"].map(|title| Sighting::Title(title.to_owned()));
    assert_eq!(titles, expected);
}

#[test]
fn strings_of_others_say_nothing() {
    for string in ["\x1bP+q544e\x1b\\", "\x1b_Gi=1;AAAA\x1b\\", "\x1b^private\x1b\\", "\x1bXstart\x1b\\"] {
        assert_eq!(sightings(string), [], "{string:?}");
        let inside = string.replace("\x1b\\", "\n--<[schmux:error:x]>--\n\x1b\\");
        assert_eq!(sightings(&inside), [], "{inside:?}");
    }
}

#[test]
fn text_is_made_safe() {
    let mut out = Vec::new();
    SignalDetector::new()
        .feed(b"--<[schmux:error:a\xff\xc2\x9b31m\x01b\xe2]>--\n\x1b]0;t\xc2\x9d\xe2\x82\x07", &mut out);
    assert_eq!(out, [marker("error", "a\u{fffd}31mb\u{fffd}"), Sighting::Title("t\u{fffd}".to_owned())]);
}

#[test]
fn nothing_is_kept_without_bound() {
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    detector.feed(b"\x1b]0;", &mut out);
    for _ in 0..100 {
        detector.feed(&[b'x'; 1000], &mut out);
    }
    detector.feed(b"\x07--<[schmux:error:", &mut out);
    for _ in 0..100 {
        detector.feed(&[b'y'; 1000], &mut out);
    }
    detector.feed(b"]>--\n", &mut out);
    match out.as_slice() {
        [Sighting::Title(title), Sighting::NearMiss { line, why: Miss::TooLong }] => {
            assert_eq!(title.len(), BOUND - "0;".len());
            assert_eq!(line.len(), BOUND + "--<[schmux:".len());
        }
        other => panic!("{} sightings", other.len()),
    }
}

#[test]
fn a_quiet_pane_costs_little() {
    assert!(size_of::<SignalDetector>() <= 300, "{}", size_of::<SignalDetector>());
}

/// F6, F7: what was said while nobody listened is found, and drawing it again is no news.
#[test]
fn the_markers_of_the_scrollback() {
    let scrollback = b"--<[schmux:working:]>--\n\n  --<[schmux:needs_input:go\n  on?]>--\n--<[schmux:nonsense:]>--\n$ ";
    let found = markers(scrollback);
    assert_eq!(found, [said("working", ""), said("needs_input", "go on?")]);
    assert_eq!(
        markers("--<[schmux:working:]>--\n● --<[schmux:error:x]>--".as_bytes()).last(),
        Some(&said("error", "x"))
    );
    assert_eq!(markers(b"nothing"), []);
    for (line, expected) in [
        ("--<[schmux:working:on it]>--", true),
        ("  ● --<[schmux:completed:]>--  ", true),
        ("it prints --<[schmux:working:on it]>-- when it works", false),
        ("--<[schmux:dancing:on it]>--", false),
        ("--<[schmux:working", false),
    ] {
        assert_eq!(is_marker(line), expected, "{line}");
    }
    let mut detector = SignalDetector::new();
    let mut out = Vec::new();
    for marker in &found {
        detector.remember(marker);
    }
    detector.feed(b"\x1b[H--<[schmux:needs_input:go on?]>--\r\n", &mut out);
    assert_eq!(out, []);
}

/// Another agent may have run in the pane before.
#[test]
fn what_stands_above_the_start_of_an_agent_is_not_its_own() {
    let text = "--<[schmux:error:old]>--\nme@host:~$ claude --model x\n--<[schmux:working:]>--\n";
    let argv = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    for started in [&["claude", "--model", "x"][..], &["node", "/usr/bin/claude", "--model", "x"]] {
        assert_eq!(markers(own_part(text.as_bytes(), &argv(started))), [said("working", "")], "{started:?}");
    }
    for other in [&["codex"][..], &["claude"], &[]] {
        assert_eq!(markers(own_part(text.as_bytes(), &argv(other))).len(), 2, "{other:?}");
    }
}

#[test]
fn statements_mean_what_their_state_means() {
    use agtmux_core::signal::{Outcome, Signal};
    let reading = marker("completed", "done").reading().unwrap();
    assert_eq!(reading.signal, Signal::TurnEnded { outcome: Outcome::Done });
    assert_eq!(reading.message.as_deref(), Some("done"));
    assert_eq!(Sighting::Bell.reading(), None);
}
