//! The words with which this program starts itself as a helper.

use std::ffi::OsString;
use std::path::Path;

/// Hands its standard input, a pane's pipe, to the daemon: `PIPE SOCKET TOKEN`.
pub const PIPE: &str = "__pipe";

/// Tidies up in tmux when the daemon is gone.
pub const JANITOR: &str = "__janitor";

/// The command line of a helper.
pub fn command_line(program: &Path, word: &str) -> Vec<OsString> {
    vec![program.into(), word.into()]
}
