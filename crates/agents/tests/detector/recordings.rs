//! The real agents' streams.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use agtmux_agents::Sighting;

use super::{oracle, seen};

/// The stream of each recording.
fn recordings() -> Vec<(PathBuf, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings");
    let below = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let states = below(&root).into_iter().filter(|path| path.is_dir()).flat_map(|agent| below(&agent));
    let mut all: Vec<_> =
        states.map(|state| (state.clone(), fs::read(state.join("raw.bin")).unwrap_or_default())).collect();
    all.sort();
    assert!(all.iter().filter(|(_, bytes)| !bytes.is_empty()).count() > 100, "where are the recordings?");
    all
}

/// Places to cut at: all of them in a short stream, as many as there is time for in a long one.
fn cuts(length: usize) -> impl Iterator<Item = usize> {
    let most = if length <= 2_000 { length } else { 200 };
    // A step that has no divisor in common with most lengths visits the whole stream.
    iter::successors(Some(0), move |cut| Some((cut + 7_919) % length.max(1))).take(most)
}

#[test]
fn a_cut_makes_no_difference_wherever_it_is() {
    for (path, bytes) in recordings() {
        let whole = seen([bytes.as_slice()]);
        for cut in cuts(bytes.len()) {
            let (before, after) = bytes.split_at(cut);
            assert_eq!(seen([before, after]), whole, "{} cut at {cut}", path.display());
        }
        assert_eq!(seen(bytes.chunks(1)), whole, "{} byte by byte", path.display());
    }
}

/// F2, F3: whether a marker is alone on its line depends on what stands there, also when that came in an earlier piece
/// of which nothing was worth a closer look.
#[test]
fn what_came_before_the_cut_is_not_forgotten() {
    let markers: [&[u8]; 3] =
        [b"--<[schmux:error:x]>--\r\n", b"<[schmux:error:x]>--\r\n", b"\x1b[9;3H--<[schmux:error:x]>--\n"];
    let mut alone = 0;
    for (path, bytes) in recordings() {
        for cut in cuts(bytes.len()).take(8) {
            let before = &bytes[cut.saturating_sub(5_000)..cut];
            for marker in markers {
                let bytewise: Vec<_> = before.chunks(1).chain([marker]).collect();
                let expected = seen(bytewise);
                for piece in [300, 4_096] {
                    let pieces = before.chunks(piece).chain([marker]);
                    assert_eq!(seen(pieces), expected, "{} cut at {cut}, pieces of {piece}", path.display());
                }
                alone += usize::from(matches!(expected.last(), Some(Sighting::Marker(_))));
            }
        }
    }
    assert!(alone > 300, "{alone} of the markers were markers");
}

#[test]
fn another_parser_sees_the_same() {
    for (path, bytes) in recordings() {
        if let Some(expected) = oracle::sightings(&bytes) {
            assert_eq!(oracle::raw(&bytes), expected, "{}", path.display());
        }
    }
}

/// What a stream says, in a line each.
fn told(recording: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/recordings").join(recording).join("raw.bin");
    let told = seen([fs::read(path).unwrap().as_slice()]).into_iter().map(|sighting| match sighting {
        Sighting::Title(title) => format!("title {}", title.trim()),
        Sighting::Program { state, kind, .. } => format!("program {state} {}", kind.unwrap_or_default()),
        Sighting::Notify { title, body } => format!("notify {}{}", title.unwrap_or_default(), body.unwrap_or_default()),
        other => format!("{other:?}"),
    });
    told.collect()
}

#[test]
fn codex_asks_for_permission() {
    let told = told("codex/approval");
    assert!(told.iter().any(|line| line == "program blocked permission"), "{told:#?}");
    assert!(told.iter().any(|line| line.starts_with("title [ ! ] Action Required")), "{told:#?}");
    // It comes wrapped for tmux to pass through.
    assert!(told.iter().any(|line| line.starts_with("notify Approval requested: /bin/bash")), "{told:#?}");
}

#[test]
fn gemini_is_done() {
    let told = told("gemini/finished");
    assert!(told.iter().any(|line| line.starts_with("title ◇  Ready")), "{told:#?}");
    assert!(told.iter().any(|line| line.starts_with("notify Gemini CLI session complete")), "{told:#?}");
}
