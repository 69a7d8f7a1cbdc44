//! Nothing that an agent prints, a person types or a pane cuts off makes typing look safe where it is not.

use std::sync::LazyLock;

use agtmux_agents::Registry;
use agtmux_agents::screen::{Cursor, Enter, Screen, ScreenContext, read};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::edits::{capture, crop, end_of_conversation, rows, scroll_in};
use crate::recordings::{Recording, all};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);
static RECORDINGS: LazyLock<Vec<Recording>> = LazyLock::new(all);

/// Recordings where text and Enter would not reach the agent as a prompt of their own.
static UNSAFE: LazyLock<Vec<&'static Recording>> = LazyLock::new(|| {
    let is_safe = |enter: &str| ["submit", "queue", "steer"].contains(&enter);
    RECORDINGS.iter().filter(|recording| !is_safe(&recording.enter)).collect()
});

/// Lines as they come up in conversations about agents.
const LINES: &[&str] = &[
    "",
    "  Do you want to proceed?",
    "  ❯ 1. Yes",
    "   2. No",
    "❯ hello",
    "❯\u{a0}",
    "> ",
    " > ",
    " >   Type your message or @path/to/file",
    "› ",
    "› Ask Codex to do anything",
    "────────────────────────────────────────────────────────────────────────────────────────────────────────────────────────",
    "  ⏸ manual mode on · ? for shortcuts",
    "  ⏸ manual mode on · esc to interrupt",
    "✻ Thinking… (3s · ↓ 42 tokens)",
    "• Working (2s • esc to interrupt)",
    "  Esc to cancel · Tab to amend",
    "  ┃",
    "  ╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀",
    "  日本語のテキスト、絵文字 🎉 と長い行",
    "\u{1b}[7m \u{1b}[27m",
];

fn enter(recording: &Recording, bytes: &[u8], context: &ScreenContext) -> Enter {
    let manifest = REGISTRY.get(&recording.agent).expect("a built-in agent");
    read(manifest, &Screen::parse(bytes), context).composer.enter
}

fn recording() -> impl Strategy<Value = &'static Recording> {
    any::<Index>().prop_map(|index| *index.get(&UNSAFE))
}

proptest! {
    #[test]
    fn lines_of_a_conversation(
        recording in recording(),
        at in any::<Index>(),
        lines in vec(select(LINES), 1..6),
    ) {
        let at = at.index(end_of_conversation(recording) + 1);
        let lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
        let edited = scroll_in(recording, at, &lines);
        let enter = enter(recording, &edited, &recording.context);
        prop_assert!(!enter.is_safe(), "{recording:?}: {}", enter.name());
    }

    #[test]
    fn a_narrower_pane(recording in recording(), width in 20_usize..110) {
        let cursor = recording.context.cursor.expect("a cursor");
        prop_assume!(cursor.column < width);
        let (_, height) = recording.context.size.expect("a size");
        let context = ScreenContext { size: Some((width, height)), ..recording.context.clone() };
        let enter = enter(recording, &crop(recording, width), &context);
        prop_assert!(!enter.is_safe(), "{recording:?} at {width}: {}", enter.name());
    }

    #[test]
    fn rows_that_are_gone(recording in recording(), gone in vec(any::<Index>(), 1..5)) {
        let mut rows = rows(&recording.capture);
        for index in gone {
            let place = index.index(rows.len());
            // A row that vanishes leaves its place empty: what is below does not move.
            rows[place].retain(|character| !character.is_alphanumeric() || character.is_ascii());
        }
        let enter = enter(recording, &capture(&rows), &recording.context);
        prop_assert!(!enter.is_safe(), "{recording:?}: {}", enter.name());
    }

    #[test]
    fn another_draft(index in any::<Index>(), draft in "[!-~ あ-ん]{1,24}") {
        let drafts: Vec<&Recording> =
            RECORDINGS.iter().filter(|recording| !recording.draft.is_empty()).collect();
        let recording = index.get(&drafts);
        let manifest = REGISTRY.get(&recording.agent).expect("a built-in agent");
        let shown = read(manifest, &recording.screen(), &recording.context).composer.draft.expect("a draft");
        let first = shown.lines().next().expect("a line");
        let edited = String::from_utf8_lossy(&recording.capture).replacen(first, &draft, 1).into_bytes();
        let enter = enter(recording, &edited, &recording.context);
        prop_assert!(!enter.is_safe(), "{recording:?} with {draft:?}: {}", enter.name());
    }

    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..2_000), column in 0_usize..200, row in 0_usize..60, visible: bool) {
        let screen = Screen::parse(&bytes);
        let cursor = Some(Cursor { column, row, visible });
        for entry in REGISTRY.list() {
            for cursor in [cursor, None] {
                let reading = read(&entry.manifest, &screen, &ScreenContext { cursor, ..ScreenContext::default() });
                prop_assert!(!reading.composer.enter.is_safe());
            }
        }
    }
}

/// A person can ask an agent to show what its own screen looks like.
#[test]
fn a_picture_of_the_composer_above_a_dialog_is_a_picture() {
    for dialog in RECORDINGS.iter().filter(|recording| recording.enter == "answer_dialog") {
        let pictures =
            RECORDINGS.iter().filter(|recording| recording.agent == dialog.agent && recording.enter == "submit");
        for picture in pictures {
            let shown = rows(&picture.capture);
            let last = shown.iter().rposition(|row| !row.trim().is_empty()).expect("a picture");
            let lines: Vec<String> = shown[last.saturating_sub(6)..=last].to_vec();
            // What is asked about can be such a picture too, so it may come right above the answers.
            let answers = end_of_conversation(dialog);
            for at in [answers / 2, answers] {
                let edited = scroll_in(dialog, at, &lines);
                let enter = enter(dialog, &edited, &dialog.context);
                assert!(!enter.is_safe(), "{picture:?} in {dialog:?}: {}", enter.name());
            }
        }
    }
}

/// Blanks that a person typed cannot be seen, but the cursor has moved.
#[test]
fn a_draft_of_blanks_is_a_draft() {
    let with_cursor = |recording: &&Recording| {
        ["claude", "copilot", "opencode"].contains(&recording.agent.as_str()) && recording.enter == "submit"
    };
    for recording in RECORDINGS.iter().filter(with_cursor) {
        let cursor = recording.context.cursor.expect("a cursor");
        let moved = Some(Cursor { column: cursor.column + 3, ..cursor });
        let context = ScreenContext { cursor: moved, ..recording.context.clone() };
        let enter = enter(recording, &recording.capture, &context);
        assert_eq!(enter, Enter::AppendToDraft, "{recording:?}");
    }
}

/// A person's text may have blank lines, and look like an empty composer above them.
#[test]
fn a_blank_line_in_a_draft_does_not_end_it() {
    let of_lines =
        |recording: &&Recording| recording.case.starts_with("multiline") || recording.case == "prompt_multiline";
    let drafts: Vec<&Recording> = RECORDINGS.iter().filter(of_lines).collect();
    assert_eq!(drafts.len(), 5);
    for recording in drafts {
        for gone in ["line one", "line two"] {
            let edited = String::from_utf8_lossy(&recording.capture).replacen(gone, "", 1).into_bytes();
            let enter = enter(recording, &edited, &recording.context);
            assert_eq!(enter, Enter::AppendToDraft, "{recording:?} without {gone:?}");
        }
    }
}
