//! The decoder on real control streams: what it says, that it says the same however the bytes arrive, and that
//! damaged streams neither break it nor depend on how they arrive.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write;
use std::path::PathBuf;

use agtmux_tmux::protocol::{Decoder, Item, Limits};
use proptest::prelude::*;

fn recordings() -> Vec<(String, Vec<u8>)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let mut recordings: Vec<_> = directory
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "bin"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap()))
        .collect();
    recordings.sort();
    recordings
}

fn decode<'a>(limits: Limits, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut decoder = Decoder::with_limits(limits);
    let mut items = Vec::new();
    for piece in pieces {
        decoder.feed(piece);
        items.extend(std::iter::from_fn(|| decoder.next()));
    }
    items
}

#[test]
fn recordings_say_what_they_said() {
    for (name, bytes) in recordings() {
        let mut text = String::new();
        for item in decode(Limits::default(), [bytes.as_slice()]) {
            render(&item, &mut text);
        }
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn where_the_stream_is_cut_makes_no_difference() {
    for (name, bytes) in recordings() {
        let whole = decode(Limits::default(), [bytes.as_slice()]);
        assert!(!whole.iter().any(|item| matches!(item, Item::Malformed(_))), "{name}");
        assert_eq!(decode(Limits::default(), bytes.chunks(1)), whole, "{name} byte by byte");
        for at in 0..bytes.len() {
            let (head, tail) = bytes.split_at(at);
            assert!(decode(Limits::default(), [head, tail]) == whole, "{name} cut at {at}");
        }
    }
}

/// What happens to a recording on its way.
#[derive(Debug, Clone)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Remove(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    let guards =
        prop::sample::select(vec!["%begin 7 7 1\n", "%end 7 7 1\n", "%error", "\n", "%exit\n", "%output %1 \\0"]);
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Flip(at, byte)),
        (any::<prop::sample::Index>(), 1..64usize).prop_map(|(at, count)| Damage::Remove(at, count)),
        (any::<prop::sample::Index>(), guards).prop_map(|(at, text)| Damage::Insert(at, text.as_bytes().to_vec())),
        (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..32))
            .prop_map(|(at, text)| Damage::Insert(at, text)),
    ]
}

fn apply(bytes: &mut Vec<u8>, damage: &Damage) {
    match damage {
        Damage::Flip(at, byte) if !bytes.is_empty() => {
            let at = at.index(bytes.len());
            bytes[at] = *byte;
        }
        Damage::Remove(at, count) => {
            let at = at.index(bytes.len() + 1);
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        Damage::Insert(at, text) => {
            let at = at.index(bytes.len() + 1);
            bytes.splice(at..at, text.iter().copied());
        }
        Damage::Flip(..) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_streams_are_decoded_alike_however_they_are_cut(
        recording in prop::sample::select(recordings()),
        damages in prop::collection::vec(damage(), 0..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        line in prop_oneof![1..200usize, Just(1 << 20)],
        block in prop_oneof![1..2_000usize, Just(64 << 20)],
    ) {
        let mut bytes = recording.1;
        damages.iter().for_each(|damage| apply(&mut bytes, damage));
        let limits = Limits { line, block };
        let whole = decode(limits, [bytes.as_slice()]);
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| &bytes[ends[0]..ends[1]]);
        prop_assert!(decode(limits, pieces) == whole);
        for item in &whole {
            if let Item::Reply(reply) = item {
                let size: usize = reply.lines.iter().map(|line| line.len() + 1).sum();
                prop_assert!(size <= block && reply.lines.iter().all(|text| text.len() <= line));
            }
        }
    }
}

fn render(item: &Item, text: &mut String) {
    match item {
        Item::Reply(reply) => {
            let whose = if reply.is_own() { "own" } else { "foreign" };
            let outcome = if reply.ok { "ok" } else { "error" };
            writeln!(text, "reply {} {whose} {outcome}", reply.number).unwrap();
            for line in &reply.lines {
                writeln!(text, "  | {}", line.escape_ascii()).unwrap();
            }
        }
        Item::Notification(notification) => writeln!(text, "{}", readable(notification)).unwrap(),
        Item::Exit { reason } => writeln!(text, "exit {:?}", String::from_utf8_lossy(reason)).unwrap(),
        Item::Malformed(line) => writeln!(text, "malformed {}", line.escape_ascii()).unwrap(),
    }
}

/// The debug text of a notification, with its byte strings as text.
fn readable(notification: &agtmux_tmux::Notification) -> String {
    let debug = format!("{notification:?}");
    let mut text = String::new();
    let mut rest = debug.as_str();
    while let Some(open) = rest.find('[') {
        let close = open + rest[open..].find(']').unwrap();
        let bytes: Vec<u8> = rest[open + 1..close].split(", ").filter_map(|byte| byte.parse().ok()).collect();
        write!(text, "{}\"{}\"", &rest[..open], bytes.escape_ascii()).unwrap();
        rest = &rest[close + 1..];
    }
    text + rest
}
