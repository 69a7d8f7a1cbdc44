//! What is said over the socket of a shim: one line of JSON per request, followed by the body if there is one, and one line of
//! JSON per answer.
//!
//! A shim lives as long as its agent, so an old shim meets a newer daemon. A field that it does not know may be a condition, and
//! a condition that is passed over is a message in the wrong place: such a request is malformed. Answers may grow. So a field that
//! came later is left out unless it is wanted, and whoever wants it looks first whether this shim knows it ([`Status::protocol`]).

use serde::{Deserialize, Serialize};

/// What this shim understands. 1: [`Inject::if_input`] and [`Inject::if_stands`]. 2: [`Request::Typed`], and rows of keys as long as
/// [`KEYS_LIMIT`].
pub const PROTOCOL: u32 = 2;
/// The longest line of a request, without the body.
pub const LINE_LIMIT: usize = 256 * 1_024;
/// The longest body.
pub const BODY_LIMIT: usize = 256 * 1_024;
/// The longest id.
pub const ID_LIMIT: usize = 128;
/// The longest that a person's keys are held.
pub const HOLD_LIMIT_MS: u64 = 2_000;
/// The longest row of keys in one request.
pub const KEYS_LIMIT: usize = 32 * 1_024;
/// The same for a shim that understands less than 2.
pub const OLD_KEYS_LIMIT: usize = 256;

/// What can be asked of a shim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// How the agent's terminal stands.
    Status,
    /// What the person has typed since their composer was empty.
    Typed,
    /// What became of an id.
    State {
        /// The id.
        id: String,
    },
    /// Type something, once.
    Inject(Inject),
    /// Submit what [waits](Inject::waits) for that.
    Submit {
        /// The id.
        id: String,
    },
}

/// Something to type: keys, then a body, then keys, with pauses between and the person's keys held throughout. All parts may be
/// left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Inject {
    /// Done once for the life of the agent, whoever asks and how often.
    pub id: String,
    /// How many bytes of body follow the line.
    pub length: usize,
    /// Keys to press first, such as Escape.
    pub before: String,
    /// The pause after them.
    pub before_ms: u64,
    /// Whether the body is pasted or typed.
    pub paste: Paste,
    /// The pause between the body and the keys that submit it. Some programs take an Enter that follows a paste at once for a
    /// part of it.
    pub delay_ms: u64,
    /// The keys that submit, by default Enter.
    pub submit: String,
    /// Whether the keys that submit wait for [`Request::Submit`], while the person's keys are held: whoever asks wants to see the
    /// body where it belongs first. If they do not say so as long as keys may be held, it is not submitted. If they hang up before they
    /// said anything, they have died, and it is submitted then: the person's keys would be added to it.
    pub waits: bool,
    /// The longest that a person's keys may be held. After that nothing is waited for any more.
    pub hold_ms: u64,
    /// Type also into what somebody may be writing.
    pub even_if_draft: bool,
    /// The composer was seen to be empty when [`Status::input`] was this: what was typed up to then is no draft. That a text is gone
    /// which [stands](Status::stands) needs [`Self::if_output`] too: the agent has to have written since.
    pub empty_at: Option<u64>,
    /// Only if the agent has written no more than this many bytes, by [`Status::output`]: the screen is the one that was
    /// judged.
    pub if_output: Option<u64>,
    /// Only if the person has typed no more than this many bytes, by [`Status::input`], not even an Enter: what was in the composer
    /// then was not sent since. [`Self::empty_at`] only excuses what was typed before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_input: Option<u64>,
    /// Only while the text of this injection [stands](Status::stands): it is that which Enter is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_stands: Option<String>,
}

impl Default for Inject {
    fn default() -> Self {
        Self {
            id: String::new(),
            length: 0,
            before: String::new(),
            before_ms: 0,
            paste: Paste::Auto,
            delay_ms: 150,
            submit: "\r".to_owned(),
            waits: false,
            hold_ms: HOLD_LIMIT_MS,
            even_if_draft: false,
            empty_at: None,
            if_output: None,
            if_input: None,
            if_stands: None,
        }
    }
}

/// How a body is put in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Paste {
    /// As a paste if the program has asked to be told of pastes, else typed.
    #[default]
    Auto,
    /// Typed.
    Plain,
}

/// What a shim answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// It is being typed; [`Answer::Submitted`] follows when it is done.
    Accepted {
        /// The id.
        id: String,
    },
    /// All of it has been handed to the terminal.
    Submitted {
        /// The id.
        id: String,
    },
    /// The body has been handed to the terminal, and nobody said in time that it may be submitted.
    Left {
        /// The id.
        id: String,
    },
    /// It was asked before, and is not done again.
    Duplicate {
        /// The id.
        id: String,
        /// How far it is.
        state: Progress,
    },
    /// Not now, nothing was typed.
    Busy {
        /// Why not.
        reason: Busy,
    },
    /// Never, nothing was typed.
    Refused {
        /// Why not.
        reason: Refusal,
    },
    /// The id was never accepted. As the shim lives as long as the agent, this is proof.
    Unseen {
        /// The id.
        id: String,
    },
    /// How the agent's terminal stands.
    Status(Status),
    /// What the person has typed since their composer was empty.
    Typed {
        /// The exact text; none if that is not certain.
        text: Option<String>,
        /// [`Status::input`] at that moment.
        input: u64,
    },
}

/// How far an injection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Accepted, and not all of the body is in the terminal.
    Pasting,
    /// The body is in the terminal, the keys that submit it are not.
    Pasted,
    /// All of it is.
    Submitted,
}

/// Why something cannot be typed now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Busy {
    /// A person may be in the middle of a text, or has typed since the composer was judged, or a text stands there.
    Draft,
    /// The agent has written to the screen since it was judged; there may be a dialog.
    Modal,
    /// Something else is being typed.
    Hold,
}

/// Why something is never typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The body would end its own paste, and the rest of it would be keys.
    EndsPaste,
    /// The pauses are longer than keys may be held.
    TooLong,
    /// There is nothing to type.
    Empty,
    /// There is no memory for it.
    Memory,
}

/// How the agent's terminal stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// The version of the shim.
    pub version: String,
    /// What it understands, as [`PROTOCOL`] counts. Those that do not say so are older.
    pub protocol: u32,
    /// The process that was started, which is the agent or what became it.
    pub child: u32,
    /// The name that was asked for.
    pub name: Option<String>,
    /// Whether a person may be in the middle of a text, or a text stands there that they did not type.
    pub draft: bool,
    /// The injection whose text was typed and not submitted, as long as no key has come since and nobody has seen that the composer is
    /// empty.
    pub stands: Option<String>,
    /// Whether something is being typed.
    pub hold: bool,
    /// Whether the program has asked to be told of pastes.
    pub paste_mode: bool,
    /// How many bytes of keys came from the person.
    pub input: u64,
    /// How long ago the last one came, in milliseconds; none if none came.
    pub input_age_ms: Option<u64>,
    /// How many bytes the agent has written.
    pub output: u64,
    /// How many injections were accepted.
    pub injections: u64,
    /// How many ids were forgotten since, oldest first.
    pub forgotten: u64,
}

impl Status {
    /// The longest row of keys that it takes in one request.
    pub fn keys_limit(&self) -> usize {
        if self.knows_what_is_typed() { KEYS_LIMIT } else { OLD_KEYS_LIMIT }
    }

    /// Whether it can be asked what the person has typed.
    pub fn knows_what_is_typed(&self) -> bool {
        self.protocol >= 2
    }

    /// Whether the shim minds what was typed since, and knows what it has typed and not submitted itself.
    pub fn knows_what_stands(&self) -> bool {
        self.protocol >= 1
    }
}
