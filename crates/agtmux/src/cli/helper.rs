//! What this program does for the daemon and not for people: it is not on the command line they see.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use agtmux_tmux::{janitor, pipe};

use crate::target::helper::{JANITOR, PIPE};

/// Serves as a helper, if that is what the arguments say.
pub fn serve(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let outcome = match arguments.next()?.to_str()? {
        PIPE => hand_over(arguments.next(), arguments.next()),
        JANITOR => janitor::serve(io::stdin().lock()),
        _ => return None,
    };
    Some(if outcome.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn hand_over(socket: Option<OsString>, token: Option<OsString>) -> io::Result<()> {
    let missing = || io::Error::from(io::ErrorKind::InvalidInput);
    let (socket, token) = (socket.ok_or_else(missing)?, token.ok_or_else(missing)?);
    pipe::helper::send_stdin(Path::new(&socket), token.to_str().ok_or_else(missing)?)
}
