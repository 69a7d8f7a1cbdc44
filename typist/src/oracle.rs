//! What became of every line and every message, read from what was submitted.
//!
//! A submission that is exactly an expected text speaks for that text. Any other is the trace of something that went wrong:
//! whatever ids are in it did not arrive as they should.

use std::collections::HashMap;

use crate::body;

/// What became of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fate {
    /// Submitted once, by itself, byte for byte, in its turn.
    Intact,
    /// Submitted byte for byte, but after one that was sent later.
    Reordered,
    /// Submitted more than once.
    Duplicated,
    /// Submitted whole, but together with something else.
    Merged,
    /// Its beginning or its end was submitted, but not the whole of it.
    Mangled,
    /// No trace of it.
    Lost,
}

/// All fates, best first.
pub const FATES: [Fate; 6] = [Fate::Intact, Fate::Reordered, Fate::Duplicated, Fate::Merged, Fate::Mangled, Fate::Lost];

impl Fate {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Intact => "intact",
            Self::Reordered => "reordered",
            Self::Duplicated => "duplicated",
            Self::Merged => "merged",
            Self::Mangled => "mangled",
            Self::Lost => "lost",
        }
    }
}

/// The verdict on one pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Of every line, in the order in which they were typed.
    pub lines: Vec<Fate>,
    /// Of every message, in the order in which they were sent.
    pub messages: Vec<Fate>,
    /// Submissions that are none of the expected texts.
    pub strays: Vec<String>,
}

/// Compares what was typed and sent with what was submitted.
#[must_use]
pub fn judge(lines: &[String], messages: &[String], submissions: &[&str]) -> Verdict {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (place, text) in submissions.iter().enumerate() {
        places.entry(text).or_default().push(place);
    }
    let expected: HashMap<&str, ()> = lines.iter().chain(messages).map(|text| (text.as_str(), ())).collect();
    let strays: Vec<&str> = submissions.iter().copied().filter(|text| !expected.contains_key(text)).collect();
    let fates = |texts: &[String]| {
        let mut wanted: HashMap<&str, usize> = HashMap::new();
        for text in texts {
            *wanted.entry(text).or_default() += 1;
        }
        let mut met: HashMap<&str, usize> = HashMap::new();
        let mut latest = None;
        let mut fates = Vec::with_capacity(texts.len());
        for text in texts {
            let found = places.get(text.as_str()).map_or(&[][..], Vec::as_slice);
            let turn = met.entry(text).or_default();
            let place = found.get(*turn).copied();
            *turn += 1;
            fates.push(match place {
                None => trace(text, &strays),
                Some(_) if found.len() > wanted[text.as_str()] => Fate::Duplicated,
                Some(place) if latest.is_some_and(|latest| place < latest) => Fate::Reordered,
                Some(place) => {
                    latest = Some(place);
                    Fate::Intact
                }
            });
        }
        fates
    };
    Verdict {
        lines: fates(lines),
        messages: fates(messages),
        strays: strays.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// Takes apart what an agent put together itself: texts that waited in its queue, handed to the model at once. Only whole texts
/// with line breaks between them are taken apart; what mixed in the input is not.
#[must_use]
pub fn apart<'a>(texts: &[String], submission: &'a str) -> Vec<&'a str> {
    let mut parts = Vec::new();
    let mut rest = submission;
    while !rest.is_empty() {
        let whole = texts.iter().filter(|text| rest.starts_with(text.as_str())).max_by_key(|text| text.len());
        let Some((part, after)) = whole.map(|text| rest.split_at(text.len())) else { return vec![submission] };
        parts.push(part);
        rest = after.trim_start_matches('\n');
        if !rest.is_empty() && rest.len() == after.len() {
            return vec![submission];
        }
    }
    parts
}

/// Of a text that was not submitted by itself.
fn trace(text: &str, strays: &[&str]) -> Fate {
    let Some(id) = body::id(text) else { return Fate::Lost };
    if strays.iter().any(|stray| stray.contains(text)) {
        Fate::Merged
    } else if strays.iter().any(|stray| stray.contains(id) || body::seal(text).is_some_and(|seal| stray.contains(seal)))
    {
        Fate::Mangled
    } else {
        Fate::Lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(lines: &[&str], messages: &[&str], submissions: &[&str]) -> Verdict {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        judge(&owned(lines), &owned(messages), submissions)
    }

    #[test]
    fn everything_in_its_turn_is_intact() {
        let verdict =
            judged(&["U00001 a", "U00002 b"], &["x", "M00001 c", "x"], &["x", "U00001 a", "M00001 c", "U00002 b", "x"]);
        assert!(verdict.lines.iter().chain(&verdict.messages).all(|fate| *fate == Fate::Intact));
        assert!(verdict.strays.is_empty());
    }

    #[test]
    fn each_way_to_go_wrong_has_its_name() {
        let verdict = judged(&["U00001 abc", "U00002 b"], &["M00001 m"], &["U00001 aM00001 m", "bc", "U00002 b"]);
        assert_eq!(verdict.lines, [Fate::Mangled, Fate::Intact]);
        assert_eq!(verdict.messages, [Fate::Merged]);
        assert_eq!(verdict.strays, ["U00001 aM00001 m", "bc"]);
        let verdict =
            judged(&["U00001 a", "U00002 b"], &["M00001 m", "y"], &["U00002 b", "U00001 a", "M00001 m", "M00001 m"]);
        assert_eq!(verdict.lines, [Fate::Intact, Fate::Reordered]);
        assert_eq!(verdict.messages, [Fate::Duplicated, Fate::Lost]);
    }

    #[test]
    fn only_whole_texts_are_taken_apart() {
        let texts = ["U00001 a\nb", "M00001 c"].map(str::to_owned);
        assert_eq!(apart(&texts, "U00001 a\nb\nM00001 c"), ["U00001 a\nb", "M00001 c"]);
        assert_eq!(apart(&texts, "U00001 a\nbM00001 c"), ["U00001 a\nbM00001 c"]);
        assert_eq!(apart(&texts, "U00001 a\nb\nM00001"), ["U00001 a\nb\nM00001"]);
    }

    #[test]
    fn a_repeat_of_a_short_message_that_was_not_sent_twice_is_a_duplicate() {
        assert_eq!(judged(&[], &["x"], &["x", "x"]).messages, [Fate::Duplicated]);
    }
}
