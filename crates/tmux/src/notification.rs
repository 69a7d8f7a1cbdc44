//! What tmux says of its own accord between replies.

use crate::id::{PaneId, SessionId, WindowId, decimal};

/// A notification of control mode.
///
/// Names and texts are bytes: tmux passes invalid UTF-8 through, and splits characters over `%output` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notification {
    /// A session was created or destroyed.
    SessionsChanged,
    /// This client is attached to another session.
    SessionChanged {
        /// The session it shows.
        session: SessionId,
        /// Its name.
        name: Vec<u8>,
    },
    /// A session has a new name.
    SessionRenamed {
        /// The session.
        session: SessionId,
        /// Its new name.
        name: Vec<u8>,
    },
    /// The current window of a session changed.
    SessionWindowChanged {
        /// The session.
        session: SessionId,
        /// Its current window.
        window: WindowId,
    },
    /// Another client moved to a session.
    ClientSessionChanged {
        /// The name of the client.
        client: Vec<u8>,
        /// The session it shows.
        session: SessionId,
        /// The name of that session.
        name: Vec<u8>,
    },
    /// A client went away.
    ClientDetached {
        /// The name of the client.
        client: Vec<u8>,
    },
    /// A window was linked to this client's session.
    WindowAdd(WindowId),
    /// A window of this client's session was closed.
    WindowClose(WindowId),
    /// A window of this client's session has a new name.
    WindowRenamed {
        /// The window.
        window: WindowId,
        /// Its new name.
        name: Vec<u8>,
    },
    /// A window appeared in another session.
    UnlinkedWindowAdd(WindowId),
    /// A window of another session was closed.
    UnlinkedWindowClose(WindowId),
    /// A window of another session has a new name.
    UnlinkedWindowRenamed {
        /// The window.
        window: WindowId,
        /// Its new name, absent on versions that do not say it.
        name: Option<Vec<u8>>,
    },
    /// The active pane of a window changed.
    WindowPaneChanged {
        /// The window.
        window: WindowId,
        /// Its active pane.
        pane: PaneId,
    },
    /// A pane entered or left a mode such as copy mode.
    PaneModeChanged(PaneId),
    /// The layout of a window of this client's session changed.
    LayoutChange {
        /// The window.
        window: WindowId,
        /// The layout, the visible layout and the window's flags, as written.
        layout: Vec<u8>,
    },
    /// A pane wrote something.
    Output {
        /// The pane.
        pane: PaneId,
        /// The bytes it wrote, with tmux's octal escapes undone.
        data: Vec<u8>,
    },
    /// A pane wrote something, for clients with `pause-after`.
    ExtendedOutput {
        /// The pane.
        pane: PaneId,
        /// How long the bytes have waited in the server.
        age_ms: u64,
        /// The bytes it wrote, with tmux's octal escapes undone.
        data: Vec<u8>,
    },
    /// Output of a pane is withheld because this client fell behind.
    Pause(PaneId),
    /// Output of a pane flows again.
    Continue(PaneId),
    /// A message for this client's status line.
    Message(Vec<u8>),
    /// An error in a configuration file.
    ConfigError(Vec<u8>),
    /// A paste buffer was set.
    PasteBufferChanged(Vec<u8>),
    /// A paste buffer was deleted.
    PasteBufferDeleted(Vec<u8>),
    /// The value of a subscribed format changed.
    SubscriptionChanged {
        /// The name given to the subscription.
        name: Vec<u8>,
        /// The session, if the subscription is about one.
        session: Option<SessionId>,
        /// The window, if the subscription is about one.
        window: Option<WindowId>,
        /// The pane, if the subscription is about one.
        pane: Option<PaneId>,
        /// The new value.
        value: Vec<u8>,
    },
    /// A notification this crate has no name for, as written.
    Other(Vec<u8>),
    /// Notifications were dropped because the receiver did not keep up: look at the server anew.
    ///
    /// Made by [`Client`](crate::Client), never by tmux.
    Missed,
}

impl Notification {
    /// Reads a line that begins with `%` and is not part of a reply.
    ///
    /// A line of a known name whose arguments do not fit becomes [`Notification::Other`].
    pub(crate) fn parse(line: &[u8]) -> Self {
        Self::parse_known(line).unwrap_or_else(|| Self::Other(line.to_vec()))
    }

    fn parse_known(line: &[u8]) -> Option<Self> {
        let (name, rest) = word(line);
        Some(match name {
            b"%sessions-changed" => Self::SessionsChanged,
            b"%session-changed" => {
                let (session, name) = word(rest);
                Self::SessionChanged { session: SessionId::parse(session)?, name: name.to_vec() }
            }
            b"%session-renamed" => {
                let (session, name) = word(rest);
                Self::SessionRenamed { session: SessionId::parse(session)?, name: name.to_vec() }
            }
            b"%session-window-changed" => {
                let (session, window) = word(rest);
                Self::SessionWindowChanged { session: SessionId::parse(session)?, window: WindowId::parse(window)? }
            }
            b"%client-session-changed" => {
                let (client, rest) = word(rest);
                let (session, name) = word(rest);
                Self::ClientSessionChanged {
                    client: client.to_vec(),
                    session: SessionId::parse(session)?,
                    name: name.to_vec(),
                }
            }
            b"%client-detached" => Self::ClientDetached { client: rest.to_vec() },
            b"%window-add" => Self::WindowAdd(WindowId::parse(rest)?),
            b"%window-close" => Self::WindowClose(WindowId::parse(rest)?),
            b"%window-renamed" => {
                let (window, name) = word(rest);
                Self::WindowRenamed { window: WindowId::parse(window)?, name: name.to_vec() }
            }
            b"%unlinked-window-add" => Self::UnlinkedWindowAdd(WindowId::parse(rest)?),
            b"%unlinked-window-close" => Self::UnlinkedWindowClose(WindowId::parse(rest)?),
            b"%unlinked-window-renamed" => {
                let (window, name) = word(rest);
                let has_name = rest.len() > window.len();
                Self::UnlinkedWindowRenamed { window: WindowId::parse(window)?, name: has_name.then(|| name.to_vec()) }
            }
            b"%window-pane-changed" => {
                let (window, pane) = word(rest);
                Self::WindowPaneChanged { window: WindowId::parse(window)?, pane: PaneId::parse(pane)? }
            }
            b"%pane-mode-changed" => Self::PaneModeChanged(PaneId::parse(rest)?),
            b"%layout-change" => {
                let (window, layout) = word(rest);
                Self::LayoutChange { window: WindowId::parse(window)?, layout: layout.to_vec() }
            }
            b"%output" => {
                let (pane, data) = word(rest);
                Self::Output { pane: PaneId::parse(pane)?, data: undo_octal(data) }
            }
            b"%extended-output" => {
                let (pane, rest) = word(rest);
                let (age, _) = word(rest);
                Self::ExtendedOutput {
                    pane: PaneId::parse(pane)?,
                    age_ms: decimal(age)?,
                    data: undo_octal(after_colon(rest)?),
                }
            }
            b"%pause" => Self::Pause(PaneId::parse(rest)?),
            b"%continue" => Self::Continue(PaneId::parse(rest)?),
            b"%message" => Self::Message(rest.to_vec()),
            b"%config-error" => Self::ConfigError(rest.to_vec()),
            b"%paste-buffer-changed" => Self::PasteBufferChanged(rest.to_vec()),
            b"%paste-buffer-deleted" => Self::PasteBufferDeleted(rest.to_vec()),
            b"%subscription-changed" => {
                let (name, rest) = word(rest);
                let (session, rest_of_ids) = word(rest);
                let (window, rest_of_ids) = word(rest_of_ids);
                let (_window_index, rest_of_ids) = word(rest_of_ids);
                let (pane, _) = word(rest_of_ids);
                Self::SubscriptionChanged {
                    name: name.to_vec(),
                    session: SessionId::parse(session),
                    window: WindowId::parse(window),
                    pane: PaneId::parse(pane),
                    value: after_colon(rest)?.to_vec(),
                }
            }
            _ => return None,
        })
    }
}

/// Splits at the first space; the rest keeps every further space.
pub(crate) fn word(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b' ', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

/// Returns what follows the ` : ` that ends a list of arguments which may grow in later versions.
fn after_colon(text: &[u8]) -> Option<&[u8]> {
    memchr::memmem::find(text, b" : ").map(|at| &text[at + 3..])
}

/// Undoes the `\ooo` escapes of `%output`; anything else, a lone backslash included, stays as it is.
fn undo_octal(text: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        data.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        match rest {
            [_, a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..] => {
                data.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
                rest = tail;
            }
            _ => {
                data.push(b'\\');
                rest = &rest[1..];
            }
        }
    }
    data.extend_from_slice(rest);
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_escapes_are_undone_and_raw_bytes_kept() {
        assert_eq!(undo_octal(b"a\\033[1m\\134\\015\\012\xff\\9\\"), b"a\x1b[1m\\\r\n\xff\\9\\");
    }

    #[test]
    fn a_known_name_with_strange_arguments_is_kept_as_other() {
        let line = b"%window-add nonsense";
        assert_eq!(Notification::parse(line), Notification::Other(line.to_vec()));
    }
}
