//! What of a page that is looked at again and again is new: the lines that were added, once they stand still.
//!
//! A program writes below what it wrote before, and may go on changing its last lines: a bar that grows, a spinner, a prompt that
//! is drawn anew. So a line counts once two looks have seen it in its place, and is told once.

/// Follows one page.
#[derive(Clone, Debug, Default)]
pub struct Following {
    /// The page as it was seen last.
    seen: Vec<String>,
    /// So many of its first lines were told.
    told: usize,
}

impl Following {
    /// Begins with a page of which every line is told.
    pub fn after(page: Vec<String>) -> Self {
        Self { told: page.len(), seen: page }
    }

    /// The lines that are to be told now.
    pub fn next(&mut self, page: Vec<String>) -> Vec<String> {
        let (gone, same) = overlap(&self.seen, &page);
        // What was told and has changed since is told again.
        let told = self.told.saturating_sub(gone).min(same);
        let new = page[told..same].to_vec();
        (self.told, self.seen) = (same.max(told), page);
        new
    }

    /// The lines that have not been told, still or not: nothing more comes.
    pub fn rest(self) -> Vec<String> {
        let mut seen = self.seen;
        seen.split_off(self.told.min(seen.len()))
    }
}

/// How many lines have left the page at its top, and how many of the next ones are still the same: the most that can be.
fn overlap(before: &[String], now: &[String]) -> (usize, usize) {
    let same = |gone: usize| before[gone..].iter().zip(now).take_while(|(before, now)| before == now).count();
    let best = (0..before.len()).map(|gone| (gone, same(gone))).max_by_key(|(gone, same)| (*same, before.len() - gone));
    best.filter(|(_, same)| *same > 0).unwrap_or((before.len(), 0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Following;

    fn page(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_line_is_told_once_and_when_it_stands_still() {
        let mut following = Following::after(page("a b"));
        for (look, told) in [
            ("a b", ""),
            ("a b 10%", ""),
            ("a b 90%", ""),
            ("a b done c", ""),
            ("a b done c", "done c"),
            ("a b done c", ""),
            // The page is full, and moves up.
            ("b done c d", ""),
            ("c d e f", "d"),
            ("c d e f", "e f"),
            // Cleared, and begun anew.
            ("x y", ""),
            ("x y", "x y"),
            // A line of before was changed.
            ("x z y", ""),
            ("x z y", "z y"),
        ] {
            assert_eq!(following.next(page(look)), page(told), "{look}");
        }
        following.next(page("x z y w"));
        assert_eq!(following.rest(), page("w"));
    }

    proptest! {
        /// Whatever a program adds, in pages of whatever height, is told whole and in order.
        #[test]
        fn nothing_that_is_added_is_lost(added in proptest::collection::vec(0_usize..6, 1..20), height in 8_usize..40) {
            let mut all: Vec<String> = Vec::new();
            let mut following = Following::default();
            let mut told = Vec::new();
            for count in added {
                all.extend((all.len()..all.len() + count).map(|line| format!("line {line}")));
                let look = || all[all.len().saturating_sub(height)..].to_vec();
                told.extend(following.next(look()));
                told.extend(following.next(look()));
            }
            prop_assert_eq!(told, all);
        }
    }
}
