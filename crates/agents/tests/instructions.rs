//! The block in instruction files, on files as people have them; `AGTMUX_BLESS=1` writes what comes out.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may fail, and reads its cases from files")]

use std::fs;
use std::path::Path;

use agtmux_agents::instructions::{Change, ensure, has_instructions, is_ours_alone, remove};
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
        ("goes-on-behind-the-end", Some(format!("# Mine\n\n{BEGIN}\nold words\n{END} # After\n"))),
        ("moved-to-the-top", Some(format!("{}# After\n", block("old words\n")))),
        ("indented", Some(format!("- Mine\n\n  {BEGIN}\n  old words\n  {END}\n"))),
        ("byte-order-mark", Some(format!("\u{feff}{}", block("old words\n")))),
        ("crlf-block-in-another-file", Some(format!("# Mine\n\n{}", block("old words\n").replace('\n', "\r\n")))),
        ("end-in-a-line-of-text", Some(format!("# Mine\n{BEGIN}\nold words {END}\n"))),
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
            "older-block"
            | "older-block-between"
            | "empty-block"
            | "goes-on-behind-the-end"
            | "moved-to-the-top"
            | "indented"
            | "byte-order-mark"
            | "crlf-block-in-another-file" => Change::Updated,
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

/// What a person wrote around the block, and how they moved it, stays when the block goes.
#[test]
fn removing_joins_no_lines_and_takes_no_text() {
    let block = format!("{BEGIN}\nold\n{END}");
    let cases = [
        (format!("# Mine\n{block}\n# After\n"), Some("# Mine\n# After\n")),
        (format!("# Mine\n\n{block}\n\n# After\n"), Some("# Mine\n\n# After\n")),
        (format!("# Mine\n\n{block} # After\n"), Some("# Mine\n # After\n")),
        (format!("# Mine\n{block}"), Some("# Mine\n")),
        (format!("{block}\n# After\n"), Some("# After\n")),
        (format!("  {block}\n# After\n"), Some("# After\n")),
        (format!("# Mine\r\n{block}\r\n# After\r\n"), Some("# Mine\r\n# After\r\n")),
        (format!("\u{feff}{block}\r\n# After\r\n"), Some("\u{feff}# After\r\n")),
    ];
    for (text, left) in cases {
        assert_eq!(remove(text.as_bytes()).unwrap(), left.map(|left| left.as_bytes().to_vec()), "{text:?}");
    }
    // A file that was made for the block goes only if nobody wrote into it.
    let (made, _) = ensure(None).unwrap();
    let made = String::from_utf8(made).unwrap();
    for (around, left) in [
        (made.clone(), None),
        (made.replace('\n', "\r\n"), None),
        (format!("\u{feff}{made}"), None),
        (format!("{made}\n# After\n"), Some("\n# After\n")),
        (format!("# Before\n\n{made}"), Some("# Before\n")),
    ] {
        assert_eq!(is_ours_alone(around.as_bytes()), left.is_none(), "{around:?}");
        assert_eq!(remove(around.as_bytes()).unwrap(), left.map(|left| left.as_bytes().to_vec()), "{around:?}");
    }
    assert!(!is_ours_alone(block.as_bytes()));
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

    /// A person puts text directly above and below the block, in lines of its own. None of it goes with the block.
    #[test]
    fn text_around_the_block_outlives_it(above in markdown(), below in markdown()) {
        let (block, _) = ensure(None).unwrap();
        let block = String::from_utf8(block).unwrap();
        let above = if above.is_empty() || above.ends_with('\n') { above } else { above + "\n" };
        let left = remove(format!("{above}{block}{below}").as_bytes()).unwrap().unwrap_or_default();
        let left = String::from_utf8(left).unwrap();
        let written = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect::<Vec<_>>();
        let mut expected = written(&above);
        expected.extend(written(&below));
        prop_assert_eq!(written(&left), expected);
        prop_assert!(left.ends_with(&below) || left.is_empty());
    }

    #[test]
    fn nonsense_does_not_panic(bytes in vec(any::<u8>(), 0..100)) {
        let _either = ensure(Some(&bytes));
        let _either = remove(&bytes);
    }
}
