//! Streams as agents and others write them: whole things in a random order, and sometimes only a part of one.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Text, among it everything a marker is made of.
const TEXT: &[&str] = &[
    "hello",
    "x",
    " ",
    "  ",
    "-",
    "--",
    "--<[",
    "<",
    "[",
    "schmux",
    "<[schmux:",
    "]>--",
    ">",
    "completed:",
    "error:",
    "<[schmux:idle:",
    "idle",
    ";",
    ":",
    "●",
    "│",
    "• ",
    "é",
    "漢",
    "❯ ",
    "\u{a0}",
    "12",
    "~",
];

/// Controls, sequences and strings: moves of all kinds, colours, and what says something.
const CONTROLS: &[&str] = &[
    "\r\n",
    "\n",
    "\r",
    "\t",
    "\x08",
    "\x07",
    "\x0b",
    "\x00",
    "\x18",
    "\x1a",
    "\x7f",
    "\x1b",
    "\x1b\x1b",
    "\x1b[",
    "\x1b[m",
    "\x1b[1;38;5;231m",
    "\x1b[C",
    "\x1b[3C",
    "\x1b[0C",
    "\x1b[B",
    "\x1b[2A",
    "\x1b[G",
    "\x1b[7G",
    "\x1b[30G",
    "\x1b[H",
    "\x1b[5;1H",
    "\x1b[5;4H",
    "\x1b[5;30H",
    "\x1b[6;2H",
    "\x1b[;9f",
    "\x1b[2D",
    "\x1b[4d",
    "\x1b[K",
    "\x1b[2J",
    "\x1b[u",
    "\x1b[?25h",
    "\x1b[>1u",
    "\x1b[<u",
    "\x1b[1:2H",
    "\x1b[1 q",
    "\x1b[1?2H",
    "\x1b[3\n1m",
    "\x1b(B",
    "\x1b#8",
    "\x1b8",
    "\x1bM",
    "\x1bD",
    "\x1b=",
    "\x1b\n]0;odd\x07",
    "\x1b]",
    "\x1b]0;work\x07",
    "\x1b]0;\u{2807} work\x07",
    "\x1b]2;other\x1b\\",
    "\x1b]0;\x1b\\",
    "\x1b]9;come here\x07",
    "\x1b]9;left open",
    "\x1b\u{e9}",
    "\x1b]9;4;3;\x07",
    "\x1b]9;4;1;50\x07",
    "\x1b]99;i=1:p=body;text\x1b\\",
    "\x1b]133;A\x07",
    "\x1b]133;D;2\x07",
    "\x1b]777;notify;completed;all; really\x07",
    "\x1b]777;notify;Somebody;else\x07",
    "\x1b]7501;state=blocked:app=codex:kind=permission\x1b\\",
    "\x1b]7501;?\x07",
    "\x1b]8;;http://x\x1b\\",
    "\x1bP",
    "\x1bPtmux;\x1b\x1b]9;through\x07\x1b\\",
    "\x1bPq#0\x07~\x1b\\",
    "\x1b_Ga=1;AAAA\x1b\\",
    "\x1b^",
    "\x1bX\x07",
    "\x1b\\",
];

/// What may stand between two characters of a marker without changing it.
const INVISIBLE: &[&str] = &["", "", "", "\x1b[1m", "\x1b[0;38;5;12m", "\x1b[?25l", "\x1b]0;t\x07", "\x1b(B", "\x00"];

/// A stream of a few hundred bytes.
pub(crate) fn stream() -> impl Strategy<Value = Vec<u8>> {
    let invalid = select(vec![&b"\xff"[..], b"\xe2", b"\xc3", b"\xf0\x9f"]);
    let part = prop_oneof![
        6 => select(TEXT).prop_map(|text| text.as_bytes().to_vec()),
        6 => select(CONTROLS).prop_map(|text| text.as_bytes().to_vec()),
        1 => invalid.prop_map(<[u8]>::to_vec),
        2 => marker(),
        1 => "[a-z<\\- ]{60,200}".prop_map(String::into_bytes),
    ];
    // The oracle's parser takes a byte 9C for the end of a device control string, though it may be part of a character.
    vec(part, 0..60)
        .prop_map(|parts| parts.concat().into_iter().map(|byte| if byte == 0x9c { 0x9d } else { byte }).collect())
}

/// A marker on a line of its own, coloured here and there.
fn marker() -> impl Strategy<Value = Vec<u8>> {
    let state = select(vec!["completed", "working", "needs_input", "error", "nonsense"]);
    let message = select(vec!["", "done", "all done", "a: b", "漢 x"]);
    let before = select(vec!["\r\n", "\x1b[5;1H", "\r\x1b[2B", "\x1b[5;1H●\x1b[5;3H", "text"]);
    let after = select(vec!["\r\n", "\x1b[6;1H", " │\r\n", "\x1b[81G\x1b[K\r\x1b[1B", " more\n", ""]);
    (before, state, message, vec(select(INVISIBLE), 60), after).prop_map(|(before, state, message, between, after)| {
        let text = format!("--<[schmux:{state}:{message}]>--");
        let coloured: String =
            text.chars().zip(between.iter().cycle()).map(|(char, between)| format!("{between}{char}")).collect();
        format!("{before}{coloured}{after}").into_bytes()
    })
}
