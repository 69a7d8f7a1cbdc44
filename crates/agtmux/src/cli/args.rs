//! Kinds of argument that several verbs take.

use std::io::IsTerminal;
use std::str::FromStr;

use clap::ValueEnum;
use jiff::SignedDuration;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl ColorChoice {
    /// Whether that means colour here and now.
    pub fn enabled(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
            }
        }
    }
}

/// A length of time as people write it: `500ms`, `2s`, `1h 30m`.
#[derive(Clone, Copy, Debug)]
pub struct DurationArg(pub std::time::Duration);

impl FromStr for DurationArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let signed: SignedDuration =
            text.parse().map_err(|_unparsed| format!("{text:?} is not a duration such as 500ms, 2s or 1h30m"))?;
        signed.try_into().map(Self).map_err(|_negative| format!("{text:?} is negative"))
    }
}
