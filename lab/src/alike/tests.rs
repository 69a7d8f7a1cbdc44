//! The comparison can fail. What a real agent wrote is written to panes again, as it was and as a bad relay would pass it on.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use regex::Regex;

use super::difference;
use super::picture::{asked_for, look};
use super::rules::Rules;
use crate::terminal::Terminal;

/// All that Claude Code wrote from its start to its first answer, which is in markdown.
const WRITTEN: &[u8] = include_bytes!("../../tests/alike/claude.written");

/// Tells that tmux has read everything before it; only `pane_path` shows it.
const END: &[u8] = b"\x1b]7;file:///end\x07";

/// Everything that is compared of a pane to which this was written.
async fn picture(written: &[u8]) -> String {
    let root = tempfile::Builder::new().prefix("al").rand_bytes(5).tempdir_in("/tmp").unwrap();
    let file = root.path().join("written");
    fs::write(&file, [written, END].concat()).unwrap();
    let variables = ["PATH", "HOME"].map(|name| (name.to_owned(), std::env::var(name).unwrap_or_default()));
    let variables = variables.into_iter().chain([("LANG".to_owned(), "C.UTF-8".to_owned())]).collect();
    let terminal = Terminal::start(root.path().join("t"), root.path(), (100, 30), variables).await.unwrap();
    // Nobody reads what the terminal answers, and no shell changes anything afterwards.
    terminal.type_text("stty -echo; clear; exec sh -c 'cat written; exec sleep 1000'").await.unwrap();
    terminal.keys(&["Enter"]).await.unwrap();
    let started = std::time::Instant::now();
    while !terminal.picture(&["pane_path"]).await.unwrap().starts_with("file:///end") {
        assert!(started.elapsed() < Duration::from_secs(20), "not everything was read");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let seen = look(&terminal).await.unwrap();
    terminal.end().await.unwrap();
    let rules = Rules::for_run(root.path()).unwrap();
    rules.applied(&format!("{}{seen}", asked_for(written)), &mut BTreeSet::new())
}

/// What was written, with every occurrence of something replaced.
fn replaced(what: &str, with: &str) -> Vec<u8> {
    let pattern = regex::bytes::Regex::new(&format!("(?-u){}", bytes_of(what))).unwrap();
    assert!(pattern.is_match(WRITTEN), "{what:?} was never written");
    pattern.replace_all(WRITTEN, regex::bytes::NoExpand(with.as_bytes())).into_owned()
}

fn bytes_of(text: &str) -> String {
    text.bytes().map(|byte| format!(r"\x{byte:02x}")).collect()
}

#[tokio::test]
async fn the_same_is_the_same() {
    let (one, other) = (picture(WRITTEN).await, picture(WRITTEN).await);
    assert!(Regex::new("mode 2004 h(?s:.)*alternate_on 1(?s:.)*The end").unwrap().is_match(&one), "{one}");
    assert_eq!(difference(&one, &other, "again"), None);
    let later = replaced("Cooked for 0s · done 11:05 PM", "Pondered for 12s · done 1:17 AM");
    assert_eq!(difference(&one, &picture(&later).await, "later"), None);
}

#[tokio::test]
async fn what_a_bad_relay_does_is_seen() {
    let honest = picture(WRITTEN).await;
    for (what, with) in [
        // One byte is missing: of a word, of a character of two bytes, of a colour, of where the cursor goes.
        ("Gend.", "Gnd."),
        ("é", "\u{0}"),
        ("\u{1b}[33mmain", "\u{1b}[3mmain"),
        ("\u{1b}[28;3H", "\u{1b}[2;3H"),
        // One mode is kept from the terminal.
        ("\u{1b}[?1049h", ""),
        ("\u{1b}[?2004h", ""),
        ("\u{1b}[?1004h", ""),
        ("\u{1b}[?1003h", ""),
        ("\u{1b}[?1006h", ""),
        ("\u{1b}[?25l", ""),
        ("\u{1b}[>4;2m", ""),
        ("\u{1b}]0;✳ Claude Code\u{7}", ""),
        ("\u{1b}]7501;?\u{7}", ""),
        // What comes with time and chance is left out, and nothing beside it.
        ("Cooked for 0s · done 11:05 PM", "Cooked for 0s · done"),
        ("✻\u{1b}[3GCooked", "x\u{1b}[3GCooked"),
    ] {
        let other = picture(&replaced(what, with)).await;
        assert!(difference(&honest, &other, "relayed").is_some(), "nobody notices {with:?} instead of {what:?}");
    }
}
