//! Files that were made for a block, kept out of `git status` by a block of their own in `.git/info/exclude`.
//!
//! A repository has one such file for all its worktrees, so that a pattern stays while any of them has such a file.

use std::collections::BTreeSet;

use super::block::Marks;
use crate::setup::Refusal;

const MARKS: Marks = Marks {
    begin: "# agtmux:BEGIN files that `agtmux provision` made",
    end: "# agtmux:END",
    made: "# this file was made for the block below",
};

/// The pattern for a path below the root of a worktree; `None` if no pattern can name it.
pub fn pattern(path: &str) -> Option<String> {
    let plain = !path.is_empty() && !path.contains(['\n', '\r', '\0']) && !path.ends_with(' ');
    let escape = |c: char| if matches!(c, '\\' | '*' | '?' | '[' | ']') { vec!['\\', c] } else { vec![c] };
    plain.then(|| std::iter::once('/').chain(path.chars().flat_map(escape)).collect())
}

/// The paths that our patterns in a file name.
///
/// # Errors
/// Refuses a file in which the marks do not pair up, and one that is not UTF-8.
pub fn excluded(bytes: &[u8]) -> Result<BTreeSet<String>, Refusal> {
    let body = MARKS.body(bytes)?.unwrap_or_default();
    Ok(body.lines().filter_map(path).collect())
}

/// The file with patterns for exactly these paths; `None` if it should not exist.
///
/// # Errors
/// As [`excluded`].
pub fn exclude(before: Option<&[u8]>, paths: &BTreeSet<String>) -> Result<Option<Vec<u8>>, Refusal> {
    let body: String = paths.iter().filter_map(|path| Some(pattern(path)? + "\n")).collect();
    match before {
        _ if !body.is_empty() => MARKS.ensure(before, &body).map(|(after, _)| Some(after)),
        None => Ok(None),
        Some(before) => MARKS.remove(before),
    }
}

/// The path that a pattern of ours names.
fn path(pattern: &str) -> Option<String> {
    let mut escaped = false;
    let is_mark = |c: &char| {
        escaped = *c == '\\' && !escaped;
        !escaped
    };
    Some(pattern.strip_prefix('/')?.chars().filter(is_mark).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(paths: &[&str]) -> BTreeSet<String> {
        paths.iter().map(|path| (*path).to_owned()).collect()
    }

    #[test]
    fn patterns_come_and_go_to_the_byte() {
        for before in [None, Some(""), Some("# git ls-files\n*.log\n"), Some("*.log"), Some("*.log\r\n")] {
            let before = before.map(str::as_bytes);
            let two = paths(&["AGENTS.md", "sub/a [x]\\*.md"]);
            let after = exclude(before, &two).unwrap().unwrap();
            assert_eq!(excluded(&after).unwrap(), two);
            let one = exclude(Some(&after), &paths(&["AGENTS.md"])).unwrap().unwrap();
            assert_eq!(excluded(&one).unwrap(), paths(&["AGENTS.md"]));
            assert_eq!(exclude(Some(&one), &paths(&[])).unwrap().as_deref(), before);
        }
        assert_eq!(exclude(None, &paths(&[])).unwrap(), None);
        assert_eq!(exclude(Some(b"x"), &paths(&[])).unwrap().as_deref(), Some(&b"x"[..]));
    }

    #[test]
    fn a_path_is_named_as_git_reads_it() {
        let cases = [("AGENTS.md", "/AGENTS.md"), ("#a", "/#a"), ("!a", "/!a"), ("a*b?[c]\\", "/a\\*b\\?\\[c\\]\\\\")];
        for (given, expected) in cases {
            let pattern = pattern(given).unwrap();
            assert_eq!((pattern.as_str(), path(&pattern).as_deref()), (expected, Some(given)));
        }
        for odd in ["", "a\nb", "a "] {
            assert_eq!(pattern(odd), None, "{odd:?}");
        }
    }
}
