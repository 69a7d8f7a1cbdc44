//! Kinds of argument that several verbs take.

use std::ffi::OsString;
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
    /// What `--color` says on a command line that may not parse otherwise. The last one counts.
    pub fn on_command_line(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut choice = Self::default();
        let mut arguments = arguments.into_iter().take_while(|argument| argument != "--");
        while let Some(argument) = arguments.next() {
            let value = match argument.to_str() {
                Some("--color") => arguments.next(),
                Some(text) => text.strip_prefix("--color=").map(OsString::from),
                None => None,
            };
            let known = value.and_then(|value| <Self as ValueEnum>::from_str(value.to_str()?, false).ok());
            choice = known.unwrap_or(choice);
        }
        choice
    }

    /// Whether that means colour on a stream, here and now.
    pub fn enabled_on(self, stream: &impl IsTerminal) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                stream.is_terminal()
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

#[cfg(test)]
mod tests {
    use super::ColorChoice;

    #[test]
    fn the_choice_is_found_on_a_command_line_that_does_not_parse() {
        let cases: [(&[&str], _); 7] = [
            (&[], ColorChoice::Auto),
            (&["nosuch", "--color", "never"], ColorChoice::Never),
            (&["--color=always", "list", "--bad"], ColorChoice::Always),
            (&["--color", "never", "--color=always"], ColorChoice::Always),
            (&["--color=pink"], ColorChoice::Auto),
            (&["--color"], ColorChoice::Auto),
            (&["send", "--", "--color=never"], ColorChoice::Auto),
        ];
        for (arguments, expected) in cases {
            assert_eq!(ColorChoice::on_command_line(arguments.iter().map(Into::into)), expected, "{arguments:?}");
        }
    }
}
