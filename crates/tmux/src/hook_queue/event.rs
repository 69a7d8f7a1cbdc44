//! What hooks tell of, and how it is written in the queue.

use crate::id::{PaneId, SessionId, WindowId};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookKind {
    /// A pane has a new title.
    TitleChanged,
    /// A pane rang the bell; tmux names only its window.
    Bell,
    /// A window was split; the pane is the new one.
    Split,
    /// The process of a pane ended and the pane closed.
    PaneExited,
    /// The process of a pane ended and the pane remains.
    PaneDied,
    /// Panes of a window were added, removed, moved or resized.
    LayoutChanged,
    /// A session or window came, went, was renamed or chosen, or a client came, went or moved.
    Structure,
}

impl HookKind {
    const ALL: [Self; 7] = [
        Self::TitleChanged,
        Self::Bell,
        Self::Split,
        Self::PaneExited,
        Self::PaneDied,
        Self::LayoutChanged,
        Self::Structure,
    ];

    /// A record of it, as a format that the hook expands.
    pub(super) fn record(self) -> String {
        format!("{} {}|", self.code(), self.ids())
    }

    fn code(self) -> &'static str {
        match self {
            Self::TitleChanged => "ti",
            Self::Bell => "be",
            Self::Split => "sp",
            Self::PaneExited => "ex",
            Self::PaneDied => "di",
            Self::LayoutChanged => "la",
            Self::Structure => "st",
        }
    }

    /// The formats for pane, window and session. Only those that are right for this hook: in a hook about a window
    /// `pane_id` is merely the active pane, and in one about a pane that has gone `window_id` may be any window.
    fn ids(self) -> &'static str {
        match self {
            Self::TitleChanged | Self::PaneDied => "#{hook_pane} #{window_id} #{session_id}",
            Self::Bell => "- #{hook_window} #{hook_session}",
            Self::Split => "#{pane_id} #{window_id} #{session_id}",
            Self::PaneExited => "#{hook_pane} - -",
            Self::LayoutChanged => "- #{hook_window} -",
            Self::Structure => "- - -",
        }
    }

    fn from_code(code: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code().as_bytes() == code)
    }
}

/// One event of a hook. Ids that the hook does not know are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookEvent {
    /// What happened.
    pub kind: HookKind,
    /// The pane it happened to.
    pub pane: Option<PaneId>,
    /// The window it happened in.
    pub window: Option<WindowId>,
    /// The session it happened in; one of several if the window is linked.
    pub session: Option<SessionId>,
}

/// Reads a record as [`HookKind::record`] expands.
pub(super) fn parse_record(record: &[u8]) -> Option<HookEvent> {
    let mut words = record.split(|byte| *byte == b' ');
    let kind = HookKind::from_code(words.next()?)?;
    let (pane, window, session) = (words.next()?, words.next()?, words.next()?);
    Some(HookEvent {
        kind,
        pane: PaneId::parse(pane),
        window: WindowId::parse(window),
        session: SessionId::parse(session),
    })
}
