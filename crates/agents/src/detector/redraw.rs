//! Whether a marker was said, or only drawn again.
//!
//! A terminal program draws its screen again when it likes, and the markers on it with it; they must not count twice
//! (F4). An agent may also say the same thing again, which must count. The stream looks the same in both cases, but for
//! one thing: a redraw goes through the markers that are on the screen and ends with the newest.
//!
//! - A marker that was not seen lately is news, at once.
//! - The one that was said last is a redraw, as far as the stream tells.
//! - One from before it may be either. If another marker follows, it was a redraw. If none does, it is the newest on
//!   the screen, and so was said again.

use super::sighting::Statement;

/// As many as one expects on a screen.
const REMEMBERED: usize = 8;

/// What was said lately.
#[derive(Debug, Default)]
pub(super) struct Redraws {
    /// Oldest first, none twice.
    said: Vec<Statement>,
    /// One of them that was seen again.
    undecided: Option<Statement>,
}

impl Redraws {
    /// Whether a marker that was just seen is news.
    pub(super) fn is_news(&mut self, marker: &Statement) -> bool {
        let known = self.said.contains(marker);
        self.undecided = (known && self.said.last() != Some(marker)).then(|| marker.clone());
        if !known {
            self.remember(marker.clone());
        }
        !known
    }

    /// Whether a marker is the one that was said last.
    pub(super) fn is_last(&self, marker: &Statement) -> bool {
        self.said.last() == Some(marker)
    }

    /// Whether time will make something news.
    pub(super) fn undecided(&self) -> bool {
        self.undecided.is_some()
    }

    /// No marker followed: the one that was seen again was said again.
    pub(super) fn settle(&mut self) -> Option<Statement> {
        let marker = self.undecided.take()?;
        self.remember(marker.clone());
        Some(marker)
    }

    /// Notes what was said last.
    pub(super) fn remember(&mut self, marker: Statement) {
        self.said.retain(|said| *said != marker);
        if self.said.len() == REMEMBERED {
            self.said.remove(0);
        }
        self.said.push(marker);
    }
}
