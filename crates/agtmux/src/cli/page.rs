//! A list as lines, which can be cut to the height of a terminal.

/// Headings, rows and what stands below them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The headings.
    pub head: Vec<String>,
    /// A line for each row, the one that matters most first.
    pub rows: Vec<String>,
    /// Sums and errors.
    pub foot: Vec<String>,
}

impl Page {
    /// A page of text whose first line is the heading.
    pub fn from_text(text: &str) -> Self {
        let mut lines = text.lines().map(str::to_owned);
        Self { head: lines.next().into_iter().collect(), rows: lines.collect(), foot: Vec::new() }
    }

    /// Everything, as text.
    pub fn text(&self) -> String {
        self.lines().map(|line| format!("{line}\n")).collect()
    }

    /// As many lines as fit. Rows that do not fit are counted.
    pub fn fit(&self, height: usize) -> Vec<String> {
        let all = self.head.len() + self.rows.len() + self.foot.len();
        if all <= height {
            return self.lines().cloned().collect();
        }
        let foot = if self.head.len() + self.foot.len() + 2 <= height { self.foot.as_slice() } else { &[] };
        let room = height.saturating_sub(self.head.len() + foot.len() + 1);
        let (shown, left) = self.rows.split_at(room.min(self.rows.len()));
        let more = (!left.is_empty()).then(|| format!("… {} more", left.len()));
        let mut lines: Vec<_> =
            self.head.iter().chain(shown).cloned().chain(more).chain(foot.iter().cloned()).collect();
        lines.truncate(height);
        lines
    }

    fn lines(&self) -> impl Iterator<Item = &String> {
        self.head.iter().chain(&self.rows).chain(&self.foot)
    }
}

#[cfg(test)]
mod tests {
    use super::Page;

    fn page(rows: usize, foot: usize) -> Page {
        Page {
            head: vec!["HEAD".to_owned()],
            rows: (0..rows).map(|row| format!("row {row}")).collect(),
            foot: (0..foot).map(|line| format!("foot {line}")).collect(),
        }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        assert_eq!(page(3, 2).fit(6), ["HEAD", "row 0", "row 1", "row 2", "foot 0", "foot 1"]);
        assert_eq!(page(100, 2).fit(6), ["HEAD", "row 0", "row 1", "… 98 more", "foot 0", "foot 1"]);
        assert_eq!(page(100, 2).fit(4), ["HEAD", "row 0", "row 1", "… 98 more"]);
        assert_eq!(page(100, 0).fit(2), ["HEAD", "… 100 more"]);
        assert_eq!(page(100, 2).fit(1), ["HEAD"]);
        assert_eq!(page(0, 3).fit(2), ["HEAD"]);
        for height in 0..12 {
            for (rows, foot) in [(0, 0), (3, 2), (5, 0), (50, 4)] {
                assert!(page(rows, foot).fit(height).len() <= height, "{rows} rows, {foot} below, in {height}");
            }
        }
        assert_eq!(page(1, 1).text(), "HEAD\nrow 0\nfoot 0\n");
    }
}
