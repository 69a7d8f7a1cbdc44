//! How a person's text is put aside in the composer of an agent, so that something else can be sent, and comes back.

use serde::Deserialize;

use crate::key::Key;
use crate::screen::{Pattern, Screen};
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
    /// Whether this text can be put aside now without anything of it being lost.
    pub fn can_take(&self, draft: &str, screen: &Screen, send: &SendRules) -> bool {
        match self {
            Self::Stash { stashed, .. } => !screen.rows().iter().any(|row| stashed.matches(row.text())),
            // Of two lines nobody can say whether the agent broke them or the person, and a fold hides what it stands for.
            Self::Clear { .. } => !draft.contains('\n') && !send.may_fold(draft),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_back_as_it_was_is_put_aside() {
        let send = SendRules::default();
        let empty = Screen::parse(b"");
        let clear: AsideRules = toml::from_str("clear = [\"C-e\", \"C-u\"]").unwrap();
        assert!(clear.can_take("half a thought", &empty, &send));
        assert!(!clear.can_take("half a\nthought", &empty, &send));
        assert!(!clear.can_take("see [Pasted Content 1129 chars]", &empty, &send));
        let stash: AsideRules = toml::from_str("stash = \"C-s\"\nstashed = '› stashed$'").unwrap();
        assert!(stash.can_take("half a\nthought [Pasted text #1]", &empty, &send));
        assert!(!stash.can_take("half a thought", &Screen::parse("                › stashed".as_bytes()), &send));
    }
}
