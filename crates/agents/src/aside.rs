//! How a person's text is put aside in the composer of an agent, so that something else can be sent, and comes back.

use serde::Deserialize;

use crate::key::Key;
use crate::screen::{Cursor, Pattern, Screen};
use crate::send::SendRules;

/// The `[aside]` table of a manifest. Without it nobody touches what a person writes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum AsideRules {
    /// The agent keeps it itself and brings it back after the next prompt, whatever it is.
    Stash {
        /// The key. Pressed in an empty composer it brings the text back.
        stash: Key,
        /// How the screen shows that something is kept already: there is room for one.
        stashed: Pattern,
    },
    /// It is read off the screen, cleared and later typed again. That works for what the screen shows exactly.
    Clear {
        /// The keys that clear a composer of one line, wherever the cursor is in it.
        clear: Vec<Key>,
    },
}

impl AsideRules {
    /// Whether this text can be put aside now without anything of it being lost. The cursor is given where it proves something.
    pub fn can_take(&self, draft: &str, screen: &Screen, cursor: Option<Cursor>, send: &SendRules) -> bool {
        match self {
            Self::Stash { stashed, .. } => !screen.rows().iter().any(|row| stashed.matches(row.text())),
            // Of two lines nobody can say whether the agent broke them or the person, and a fold hides what it stands for.
            Self::Clear { .. } => {
                let is_at_its_end = cursor.is_none_or(|cursor| ends_at(draft, screen, cursor));
                !draft.contains('\n') && !send.may_fold(draft) && is_at_its_end
            }
        }
    }
}

/// Whether the cursor stands right behind a text. If not, blanks that nobody sees are at its end, or somebody is about to write in the
/// middle of it; it would come back without the one, and with the cursor elsewhere.
fn ends_at(draft: &str, screen: &Screen, cursor: Cursor) -> bool {
    let Some(row) = screen.rows().get(cursor.row) else { return false };
    let (before, behind): (Vec<_>, Vec<_>) = row.cells().partition(|(_, cell)| cell.column < cursor.column);
    // Of a row without a frame blanks at the end are not told at all; then the cursor is beyond the last cell.
    let ends = behind.first().map_or(row.width(), |(_, cell)| cell.column);
    ends == cursor.column && before.into_iter().map(|(text, _)| text).collect::<String>().ends_with(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_back_as_it_was_is_put_aside() {
        let send = SendRules::default();
        let empty = Screen::parse(b"");
        let clear: AsideRules = toml::from_str("clear = [\"C-e\", \"C-u\"]").unwrap();
        assert!(clear.can_take("half a thought", &empty, None, &send));
        assert!(!clear.can_take("half a\nthought", &empty, None, &send));
        assert!(!clear.can_take("see [Pasted Content 1129 chars]", &empty, None, &send));
        let stash: AsideRules = toml::from_str("stash = \"C-s\"\nstashed = '› stashed$'").unwrap();
        assert!(stash.can_take("half a\nthought [Pasted text #1]", &empty, None, &send));
        assert!(!stash.can_take("half a thought", &Screen::parse("                › stashed".as_bytes()), None, &send));
    }

    #[test]
    fn what_goes_on_where_the_cursor_is_not_is_left_alone() {
        let send = SendRules::default();
        let clear: AsideRules = toml::from_str("clear = [\"C-e\", \"C-u\"]").unwrap();
        let screen = Screen::parse("title\n│ › 한 thought         │".as_bytes());
        let takes = |column| {
            let cursor = Cursor { column, row: 1, visible: true };
            clear.can_take("한 thought", &screen, Some(cursor), &send)
        };
        // A wide character takes two columns.
        assert!(takes(14));
        assert!(!takes(15), "a blank at its end is not seen");
        assert!(!takes(13), "somebody is about to write before its end");
        assert!(!clear.can_take("한 thought", &screen, Some(Cursor { column: 5, row: 0, visible: true }), &send));
        // Without a frame the row ends with the text.
        let screen = Screen::parse("title\n› 한 thought".as_bytes());
        let takes = |column| {
            let cursor = Cursor { column, row: 1, visible: true };
            clear.can_take("한 thought", &screen, Some(cursor), &send)
        };
        assert!(takes(12));
        assert!(!takes(13), "a blank at its end is not told");
        assert!(!takes(11));
    }
}
