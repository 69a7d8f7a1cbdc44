//! What can be seen in a stream.

use agtmux_core::signal::{STATE_NAMES, Signal, from_state_name};

use crate::reading::Reading;

/// Something in a pane's stream that an agent, or a program beside it, wanted somebody to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// `--<[schmux:STATE:MESSAGE]>--` alone on its line.
    Marker(Statement),
    /// `OSC 777 ; notify ; STATE ; MESSAGE` with a state that is known.
    Osc777(Statement),
    /// A line with the opening of a marker that is none. Changes nothing; told so that somebody can find out why.
    NearMiss {
        /// The cleaned line, from the opening on, with the rows below into which it was wrapped.
        line: String,
        /// Why it is no marker.
        why: Miss,
    },
    /// `OSC 0` or `OSC 2`: the title, if it changed. Agents clear it on exit, so it can be empty.
    Title(String),
    /// `OSC 9`, `OSC 99`, or an `OSC 777` of somebody else: a notification for the desktop.
    Notify {
        /// Its heading.
        title: Option<String>,
        /// Its text.
        body: Option<String>,
    },
    /// `OSC 9 ; 4`: a progress bar.
    Progress {
        /// 0 none, 1 running, 2 error, 3 running without an end in sight, 4 paused.
        state: u8,
        /// How far it got, if it says.
        percent: Option<u8>,
    },
    /// `OSC 7501`: the program says in what state it is, in its own words.
    Program {
        /// `idle`, `working`, `blocked`, `done`, `error`, `clear`, …
        state: String,
        /// What it is blocked on: `permission`, `question`, …
        kind: Option<String>,
        /// The program's name for itself.
        app: Option<String>,
    },
    /// `OSC 133`: a shell says where its prompt and its commands begin and end.
    Prompt(PromptMark),
    /// A `BEL` that ends no control string.
    Bell,
}

impl Sighting {
    /// What it means, if that is the same for every agent: markers and `OSC 777`.
    pub fn reading(&self) -> Option<Reading> {
        match self {
            Self::Marker(statement) | Self::Osc777(statement) => Some(statement.reading()),
            _ => None,
        }
    }
}

/// A state that was named outright, by marker or `OSC 777`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// One of [`STATE_NAMES`].
    pub state: &'static str,
    /// The text that came with it.
    pub message: Option<String>,
}

impl Statement {
    /// The statement, if the state is one that is known.
    pub fn new(state: &str, message: &str) -> Option<Self> {
        let state = STATE_NAMES.into_iter().find(|name| *name == state)?;
        Some(Self { state, message: filled(message) })
    }

    /// What it means.
    pub fn reading(&self) -> Reading {
        let signal = from_state_name(self.state).unwrap_or(Signal::Unsupported { what: self.state.to_owned() });
        Reading::new(signal).with_message(self.message.as_deref().unwrap_or_default())
    }
}

/// Why a line with the opening of a marker is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Miss {
    /// The marker is whole, and its state is not one that is known.
    UnknownState,
    /// There is other text on its line, or a second marker.
    NotAlone,
    /// The line ends before the marker does, and does not go on below: it is being drawn bit by bit, or was wrapped by the
    /// pane.
    NotClosed,
    /// The line goes on beyond [`BOUND`](super::BOUND).
    TooLong,
}

/// Where a shell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptMark {
    /// `A`: the prompt begins.
    PromptStart,
    /// `B`: the prompt ends; a person may type.
    InputStart,
    /// `C`: a command runs; its output begins.
    OutputStart,
    /// `D`: the command is over.
    CommandEnd {
        /// Its exit code, if the shell says.
        exit: Option<i32>,
    },
}

/// A text, unless there is nothing in it.
pub(super) fn filled(text: &str) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
