//! Ways to put a message into an agent's input and submit it.

mod atomic;
mod naive;
mod shim;

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use fastrand::Rng;

pub use self::shim::Shim;
use crate::stage::Tmux;

/// A way to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Look at the screen; if the input is empty, send the keys, then Enter: what most tools do
    Naive,
    /// The same in one command inside tmux, if the cursor stands where it stands in an empty input
    Atomic,
    /// Through the wrapper, `agtmux wrap`, which holds the keys of the person meanwhile; Enter comes after a pause
    Shim,
    /// The same, and Enter comes when the composer shows the text, as `agtmux send` does it
    Seen,
}

impl Way {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Atomic => "atomic",
            Self::Shim => "shim",
            Self::Seen => "seen",
        }
    }

    /// What the agent's command begins with, for this way to work.
    #[must_use]
    pub fn wrapper(self, agtmux: &Path) -> Vec<OsString> {
        match self {
            Self::Naive | Self::Atomic => Vec::new(),
            Self::Shim | Self::Seen => vec![agtmux.into(), "wrap".into(), "--".into()],
        }
    }

    /// An injector for a pane.
    pub fn to(self, tmux: &Tmux, pane: &str, random: Rng) -> Result<Box<dyn Injector>> {
        let (tmux, pane) = (tmux.clone(), pane.to_owned());
        Ok(match self {
            Self::Naive => Box::new(naive::Naive { tmux, pane }),
            Self::Atomic => Box::new(atomic::Atomic { tmux, pane }),
            Self::Shim => Box::new(Shim::new(tmux.shim(&pane)?, random)),
            Self::Seen => Box::new(Shim::new(tmux.shim(&pane)?, random).looking_at(tmux, pane)),
        })
    }
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// The message was put in and submitted, as far as the injector knows.
    Sent,
    /// Not now: somebody is typing.
    Busy,
}

/// Sends messages to one pane.
pub trait Injector: Send {
    /// Tries once. The id is the same for every attempt of a message, and no other message of the run has it.
    fn attempt(&mut self, id: &str, text: &str) -> Result<Attempt>;
}
