//! Commands whose arguments reach tmux exactly, whatever bytes they hold.
//!
//! tmux reads a control line with the grammar of its configuration file, in which `$X`, `~`, `{`, `;`, `%if`, `#` and
//! quotes are alive. [`Command`] quotes every argument, so that any byte string but one with a NUL arrives as one
//! argument and can never begin a second command. Formats are a second language inside arguments: text that is not
//! meant as a format must go through [`escape_format`] wherever tmux expands one.

/// Commands that run other commands, each of which answers with a reply of its own.
const ANSWER_MANY_TIMES: &[&str] = &["command-prompt", "confirm-before", "if-shell", "run-shell", "source-file"];

/// Why a command cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// tmux ends every argument at its first NUL.
    #[error("an argument of {command} contains a NUL byte")]
    Nul {
        /// The name of the command.
        command: &'static str,
    },
    /// A script without a command would be an empty line, and an empty line detaches the client.
    #[error("the script has no commands")]
    Empty,
}

/// One tmux command with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    name: &'static str,
    line: Vec<u8>,
    options_ended: bool,
    error: Option<CommandError>,
}

impl Command {
    /// Begins a command, by its full name.
    pub fn new(name: &'static str) -> Self {
        Self { name, line: name.as_bytes().to_vec(), options_ended: false, error: None }
    }

    /// Adds an option without a value, such as `-a`.
    #[must_use]
    pub fn flag(mut self, flag: &'static str) -> Self {
        self.line.push(b' ');
        self.line.extend_from_slice(flag.as_bytes());
        self
    }

    /// Adds an option with its value.
    #[must_use]
    pub fn opt(self, flag: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.flag(flag).quoted(value.as_ref())
    }

    /// Adds `-t` with an id. Names are never targets: tmux matches them by prefix and pattern.
    #[must_use]
    pub fn target(self, id: impl std::fmt::Display) -> Self {
        self.opt("-t", id.to_string())
    }

    /// Adds a positional argument. Options must come before the first one.
    #[must_use]
    pub fn arg(mut self, value: impl AsRef<[u8]>) -> Self {
        if !self.options_ended {
            self.options_ended = true;
            self.line.extend_from_slice(b" --");
        }
        self.quoted(value.as_ref())
    }

    /// Adds a positional argument that is itself a list of commands, as `if-shell` and `set-hook` take.
    #[must_use]
    pub fn commands(mut self, script: &Script) -> Self {
        match script.line() {
            Ok(line) => self.arg(line),
            Err(error) => {
                self.error.get_or_insert(error);
                self
            }
        }
    }

    /// The command as a control line, without the line end.
    pub fn line(&self) -> Result<&[u8], CommandError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None => Ok(&self.line),
        }
    }

    /// Whether exactly one reply answers this command.
    pub fn answers_once(&self) -> bool {
        !ANSWER_MANY_TIMES.contains(&self.name)
    }

    fn quoted(mut self, value: &[u8]) -> Self {
        if value.contains(&0) {
            self.error.get_or_insert(CommandError::Nul { command: self.name });
        }
        self.line.push(b' ');
        quote(value, &mut self.line);
        self
    }
}

/// Commands that tmux runs one after the other from one line, with nothing of anybody else in between.
///
/// A command that fails drops the rest of the line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    line: Vec<u8>,
    error: Option<CommandError>,
}

impl Script {
    /// Makes a script without commands.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a command.
    #[must_use]
    pub fn then(mut self, command: &Command) -> Self {
        match command.line() {
            Ok(line) => {
                if !self.line.is_empty() {
                    self.line.extend_from_slice(b" ; ");
                }
                self.line.extend_from_slice(line);
            }
            Err(error) => {
                self.error.get_or_insert(error);
            }
        }
        self
    }

    /// Adds the commands of another script.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.error = self.error.or_else(|| other.error.clone());
        if !self.line.is_empty() && !other.line.is_empty() {
            self.line.extend_from_slice(b" ; ");
        }
        self.line.extend_from_slice(&other.line);
        self
    }

    /// The script as a control line, without the line end.
    pub fn line(&self) -> Result<&[u8], CommandError> {
        match &self.error {
            Some(error) => Err(error.clone()),
            None if self.line.is_empty() => Err(CommandError::Empty),
            None => Ok(&self.line),
        }
    }
}

impl From<&Command> for Script {
    fn from(command: &Command) -> Self {
        Self::new().then(command)
    }
}

/// Writes an argument so that tmux reads exactly these bytes. The bytes must not contain NUL.
///
/// Single quotes keep almost everything and are easy to read in a log; what cannot stand in them goes in double
/// quotes, with an escape for every byte that means something there. The byte 0xff is such a one: where `char` is
/// signed tmux takes it for the end of the line.
pub fn quote(value: &[u8], line: &mut Vec<u8>) {
    if value.iter().all(|byte| !matches!(byte, b'\'' | 0x7f | 0xff | ..b' ')) {
        line.push(b'\'');
        line.extend_from_slice(value);
        line.push(b'\'');
        return;
    }
    line.push(b'"');
    for byte in value {
        match byte {
            b'"' | b'\\' | b'$' => line.extend_from_slice(&[b'\\', *byte]),
            // A tilde is a home directory even in double quotes.
            b'~' | 0x7f | 0xff | ..b' ' => line.extend_from_slice(format!("\\{byte:03o}").as_bytes()),
            _ => line.push(*byte),
        }
    }
    line.push(b'"');
}

/// Writes text so that a format expands to exactly this text: `#(…)` would run a command otherwise.
pub fn escape_format(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('#') {
        let (before, hashes) = rest.split_at(at);
        rest = hashes.trim_start_matches('#');
        let hashes = &hashes[..hashes.len() - rest.len()];
        escaped.push_str(before);
        escaped.push_str(hashes);
        // Hashes before a bracket are left alone by tmux, however many, since `#[` begins a style.
        if !rest.starts_with('[') {
            escaped.push_str(hashes);
        }
    }
    escaped + rest
}

/// As [`escape_format`], for the places where tmux also expands `strftime` conversions, such as `pipe-pane`.
pub fn escape_time_format(text: &str) -> String {
    escape_format(text).replace('%', "%%")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_read_like_tmux_in_a_log() {
        let list = Command::new("list-panes").flag("-a").opt("-F", "#{pane_id} it's");
        let send = Command::new("send-keys").flag("-l").target(crate::PaneId(3)).arg("-x").arg("a\nb;");
        let script = Script::new().then(&list).then(&send);
        let guard = Command::new("if-shell").flag("-F").arg("1").commands(&script);
        insta::assert_snapshot!(String::from_utf8_lossy(guard.line().unwrap()), @r##"if-shell -F -- '1' "list-panes -a -F \"#{pane_id} it's\" ; send-keys -l -t '%3' -- '-x' \"a\\012b;\""  "##);
    }

    #[test]
    fn a_nul_is_refused_at_every_depth() {
        let nul = Command::new("set-buffer").arg(b"a\0b");
        let error = CommandError::Nul { command: "set-buffer" };
        assert_eq!(nul.line(), Err(error.clone()));
        assert_eq!(Script::from(&nul).line(), Err(error.clone()));
        assert_eq!(Command::new("if-shell").arg("1").commands(&Script::from(&nul)).line(), Err(error));
        assert_eq!(Script::new().line(), Err(CommandError::Empty));
    }

    #[test]
    fn a_line_never_holds_a_line_end() {
        for byte in 1..=u8::MAX {
            let command = Command::new("set-buffer").arg([byte, byte]);
            assert!(!command.line().unwrap().contains(&b'\n'));
            assert!(!command.line().unwrap().contains(&b'\r'));
        }
    }
}
