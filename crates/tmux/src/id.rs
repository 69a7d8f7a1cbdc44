//! The ids tmux gives to sessions, windows and panes.
//!
//! An id is unique only within one life of one server: after a restart numbering begins again at zero. Keep it
//! together with a [`ServerIdentity`](crate::server::ServerIdentity).

use std::fmt;
use std::str::FromStr;

/// A text that is not an id of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a tmux {kind} id: {text:?}")]
pub struct InvalidId {
    kind: &'static str,
    text: String,
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $sigil:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Reads the id from the bytes tmux wrote, sigil included.
            pub fn parse(text: &[u8]) -> Option<Self> {
                let digits = text.strip_prefix(&[$sigil])?;
                decimal(digits).map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", char::from($sigil), self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::parse(text.as_bytes()).ok_or_else(|| InvalidId { kind: $kind, text: text.to_owned() })
            }
        }
    };
}

id!(
    /// A session, written `$3`.
    SessionId, b'$', "session"
);
id!(
    /// A window, written `@3`.
    WindowId, b'@', "window"
);
id!(
    /// A pane, written `%3`.
    PaneId, b'%', "pane"
);

/// Reads an unsigned decimal number that fills the whole slice.
pub(crate) fn decimal<T: FromStr>(digits: &[u8]) -> Option<T> {
    // `u32::from_str` takes a leading plus sign, which tmux never writes.
    if !digits.first()?.is_ascii_digit() && digits.first() != Some(&b'-') {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_whole_or_not_at_all() {
        assert_eq!(PaneId::parse(b"%17"), Some(PaneId(17)));
        assert_eq!("$0".parse(), Ok(SessionId(0)));
        for wrong in ["", "%", "17", "@17", "%1 ", "%+1", "%-1", "%99999999999"] {
            assert_eq!(PaneId::parse(wrong.as_bytes()), None, "{wrong:?}");
        }
        assert_eq!(WindowId(4).to_string(), "@4");
    }
}
