//! The block in instruction files, on files as people have them; `AGTMUX_BLESS=1` writes what comes out.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads its cases from files")]

use std::fs;
use std::path::Path;

use agtmux_agents::instructions::{Change, ensure, has_instructions, remove};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const BEGIN: &str = "<!-- SCHMUX:BEGIN -->";
const END: &str = "<!-- SCHMUX:END -->";

/// Cases by name, each with its text.
fn cases() -> Vec<(&'static str, Option<String>)> {
    let block = |text: &str| format!("{BEGIN}\n{text}{END}\n");
    vec![
        ("missing", None),
        ("empty", Some(String::new())),
        ("blank", Some("\n\n".into())),
        ("mine", Some("# My rules\n\nBe brief.\n".into())),
        ("no-line-end", Some("Be brief.".into())),
        ("blank-lines-at-the-end", Some("Be brief.\n\n\n".into())),
        ("crlf", Some("# Rules\r\n\r\nBe brief.\r\n".into())),
        ("crlf-no-line-end", Some("# Rules\r\n\r\nBe brief.".into())),
        ("unicode", Some("# Regeln für Zoë 🧪\n".into())),
        ("speaks-of-the-marks", Some(format!("Never touch `{BEGIN}` or\n  {END} yourself.\n"))),
        ("older-block", Some(format!("# Mine\n\n{}", block("## Schmux Status Signaling\nold words\n")))),
        ("older-block-between", Some(format!("# Mine\n\n{}\n# After\n", block("old words\n")))),
        ("empty-block", Some(block(""))),
        ("begins-only", Some(format!("# Mine\n{BEGIN}\n"))),
        ("ends-only", Some(format!("# Mine\n\n{END}\n"))),
        ("two-blocks", Some(format!("{}{}", block("a\n"), block("b\n")))),
        ("begins-twice", Some(format!("{BEGIN}\n{}", block("a\n")))),
    ]
}

#[test]
fn golden_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/instructions");
    for (name, before) in cases() {
        let file = root.join(format!("{name}.md"));
        let before = before.as_deref().map(str::as_bytes);
        let outcome = ensure(before);
        let text = match &outcome {
            Ok((after, _)) => after.clone(),
            Err(refusal) => format!("refused: {refusal}\n").into_bytes(),
        };
        if std::env::var_os("AGTMUX_BLESS").is_some() {
            fs::create_dir_all(&root).unwrap();
            fs::write(&file, &text).unwrap();
        }
        assert_eq!(
            String::from_utf8_lossy(&text),
            String::from_utf8_lossy(&fs::read(&file).unwrap_or_default()),
            "{name}"
        );
        let Ok((after, change)) = outcome else {
            continue;
        };
        let expected = match name {
            "missing" => Change::Created,
            "older-block" | "older-block-between" | "empty-block" => Change::Updated,
            _ => Change::Appended,
        };
        assert_eq!(change, expected, "{name}");
        assert!(has_instructions(&after), "{name}");
        assert_eq!(ensure(Some(&after)).unwrap(), (after.clone(), Change::Unchanged), "{name}");
        if change != Change::Updated {
            assert_eq!(remove(&after).unwrap().as_deref(), before, "{name}");
        }
    }
    assert!(!has_instructions(b"# Mine\n"));
    let removed = remove(b"# Mine\n\n<!-- SCHMUX:BEGIN -->\nold\n<!-- SCHMUX:END -->\n\n# After\n").unwrap();
    assert_eq!(removed.as_deref(), Some(&b"# Mine\n\n# After\n"[..]));
}

fn markdown() -> impl Strategy<Value = String> {
    let lines =
        select(vec!["", "# Rules", "- be brief ", "\t", "é🧪", "`<!-- SCHMUX:BEGIN -->`", "> <!-- SCHMUX:END -->"]);
    (vec(lines, 0..8), select(vec!["\n", "\r\n"]), any::<bool>()).prop_map(|(lines, newline, ends)| {
        let text = lines.join(newline);
        if ends { text + newline } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_file_comes_back_to_the_byte(before in markdown()) {
        let (after, change) = ensure(Some(before.as_bytes())).unwrap();
        prop_assert_eq!(change, Change::Appended);
        prop_assert!(after.starts_with(before.as_bytes()));
        prop_assert_eq!(ensure(Some(&after)).unwrap(), (after.clone(), Change::Unchanged));
        prop_assert_eq!(remove(&after).unwrap(), Some(before.into_bytes()));
    }

    /// What is written around the block later is not touched when the block is brought up to date.
    #[test]
    fn only_the_block_changes(above in markdown(), old in markdown(), below in markdown()) {
        let text = format!("{above}\n{BEGIN}\n{old}\n{END}\n{below}");
        let (after, _) = ensure(Some(text.as_bytes())).unwrap();
        let after = String::from_utf8(after).unwrap();
        prop_assert!(after.starts_with(&format!("{above}\n{BEGIN}")), "{after}");
        let ending = format!("{END}\n{below}");
        prop_assert!(after.ends_with(&ending), "{after}");
    }

    #[test]
    fn nonsense_does_not_panic(bytes in vec(any::<u8>(), 0..100)) {
        let _either = ensure(Some(&bytes));
        let _either = remove(&bytes);
    }
}
